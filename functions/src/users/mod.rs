//! User accounts: identities, onboarding, and deactivation.
//!
//! The row of a user contains only verified claims (`claims`); the profile contains what the user enters.

use convoke::mutation;
use convoke::prelude::*;
use schema::Meeting;

use leaving::LeaveMeetings;

pub mod claims;
pub mod migrations;
pub mod onboarding;
pub mod leaving;
pub mod accounts;
pub mod calendar;
pub mod mutations;
pub mod queries;

/// Leaves the meetings of a deactivated account that did not fit into the transaction of its deactivation, one part per
/// step.
///
/// # Errors
/// A failure of the store.
#[workflow]
pub async fn leave_remaining_meetings(ctx: &WorkflowCtx, args: LeaveMeetings) -> Result<()> {
    let LeaveMeetings { user_id, mut before } = args;
    while let Some(oldest) = ctx.run::<leave_meetings>(LeaveMeetings { user_id, before }).await? {
        before = oldest;
    }
    Ok(())
}

/// Leaves the next meetings of a deactivated account. A reactivated account does not leave more. Returns the oldest of
/// them, if there may be more.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn leave_meetings(ctx: &mut MutationCtx, args: LeaveMeetings) -> Result<Option<Id<Meeting>>> {
    let user = ctx.db().get(args.user_id)?;
    if user.is_none_or(|user| user.is_active) {
        return Ok(None);
    }
    leaving::leave_next(ctx, args.user_id, Some(args.before))
}

/// Updates the row of a user from the verified claims of the user's newest token, and accepts invitations to the
/// verified e-mail address. Runs before the call with the token, and is committed independently of that call.
///
/// # Errors
/// A failure of the store.
#[mutation(internal, identity_hook)]
pub fn identity(ctx: &mut MutationCtx) -> Result<()> {
    let identity = ctx.identity().cloned().ok_or_else(|| Error::internal("the hook runs for an identity"))?;
    claims::admit(ctx, &identity)
}
