//! Deleting insights.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{Insight, User};

use crate::{access, audit};

/// Arguments of [`delete_insight`].
#[args]
pub struct DeleteInsight {
    /// Insights of the caller.
    pub insight_id: Id<Insight>,
}

/// Deletes the caller's insights of a meeting. The next generation for the meeting creates new ones.
///
/// # Errors
/// `NOT_FOUND`: the caller has no such insights.
#[mutation(rights = own_insight(args.insight_id))]
pub fn delete_insight(ctx: &mut MutationCtx, own: InsightOfCaller, _: DeleteInsight) -> Result<()> {
    ctx.db_mut().delete(own.insight.id())?;
    audit::by_key(ctx, &own.reader)
}

/// Insights of the caller.
pub struct InsightOfCaller {
    /// The caller.
    pub reader: Doc<User>,
    /// The row of the insights.
    pub insight: Doc<Insight>,
}

fn own_insight(ctx: &impl Read, id: Id<Insight>) -> Result<InsightOfCaller> {
    let reader = access::user(ctx)?;
    let insight = ctx.db().get(id)?.filter(|insight| insight.user_id == reader.id());
    Ok(InsightOfCaller { insight: insight.ok_or_else(|| Error::not_found("Insight not found"))?, reader })
}
