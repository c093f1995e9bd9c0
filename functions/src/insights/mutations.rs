//! Doing without insights.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{Insight, User};

use crate::{access, audit};

/// What [`delete_insight`] takes.
#[args]
pub struct DeleteInsight {
    /// One of the caller's own.
    pub insight_id: Id<Insight>,
}

/// Deletes the caller's insights of a meeting. Anyone who has the meeting's insights made again gets them new ones.
///
/// # Errors
/// `NOT_FOUND`: the caller has no such insights.
#[mutation(rights = own_insight(args.insight_id))]
pub fn delete_insight(ctx: &mut MutationCtx, own: InsightOfCaller, _: DeleteInsight) -> Result<()> {
    ctx.db_mut().delete(own.insight.id())?;
    audit::by_key(ctx, &own.reader)
}

/// Insights of the caller's.
pub struct InsightOfCaller {
    /// The caller.
    pub reader: Doc<User>,
    /// The row.
    pub insight: Doc<Insight>,
}

fn own_insight(ctx: &impl Read, id: Id<Insight>) -> Result<InsightOfCaller> {
    let reader = access::user(ctx)?;
    let insight = ctx.db().get(id)?.filter(|insight| insight.user_id == reader.id());
    Ok(InsightOfCaller { insight: insight.ok_or_else(|| Error::not_found("Insight not found"))?, reader })
}
