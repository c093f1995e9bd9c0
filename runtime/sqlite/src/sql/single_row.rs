//! Plans that have one row at most.

use convoke_store::table::IndexDef;
use convoke_store::{Plan, Value};

/// The unique index of which a plan asks for all keys, so that it has one row at most.
pub(crate) fn unique_index(plan: &Plan) -> Option<&'static IndexDef> {
    let Plan { table: _, index, eq, any, range, reverse: _, limit, keys_only, after } = plan;
    let index = index.filter(|index| index.unique && index.when.is_none() && index.keys.len() == eq.len())?;
    let is_plain = any.is_none() && range.is_none() && after.is_none() && !keys_only && *limit != Some(0);
    (is_plain && !eq.contains(&Value::Null)).then_some(index)
}
