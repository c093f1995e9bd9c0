//! Plans with at most one row, which may be cached.

use convoke_store::Plan;
use convoke_store::table::IndexDef;

/// Returns the unique index of which a plan has all keys, if it contains every row and the plan reads whole rows.
pub(crate) fn unique_index(plan: &Plan) -> Option<&'static IndexDef> {
    plan.unique_index().filter(|index| index.when.is_none() && !plan.keys_only)
}
