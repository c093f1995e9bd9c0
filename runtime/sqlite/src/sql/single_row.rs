//! Plans with at most one row.

use convoke_store::table::IndexDef;
use convoke_store::{Plan, Value};

/// Returns the unique index of which a plan has all keys, so that it has at most one row.
pub(crate) fn unique_index(plan: &Plan) -> Option<&'static IndexDef> {
    let Plan { table: _, index, eq, any, range, reverse: _, limit, keys_only, after } = plan;
    let index = index.filter(|index| index.unique && index.when.is_none() && index.keys.len() == eq.len())?;
    let is_plain = any.is_none() && range.is_none() && after.is_none() && !keys_only && *limit != Some(0);
    (is_plain && !eq.contains(&Value::Null)).then_some(index)
}
