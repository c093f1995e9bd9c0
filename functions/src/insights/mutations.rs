//! Doing without insights.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::Insight;

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
#[mutation]
pub fn delete_insight(ctx: &mut MutationCtx, args: DeleteInsight) -> Result<()> {
    let user = access::user(ctx)?;
    let insight = ctx.db().get(args.insight_id)?.filter(|insight| insight.user_id == user.id());
    let insight = insight.ok_or_else(|| Error::not_found("Insight not found"))?;
    ctx.db_mut().delete(insight.id())?;
    audit::by_key(ctx, &user)
}
