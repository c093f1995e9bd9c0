//! User accounts: who a token means, onboarding, and what an account's end takes with it.
//!
//! The row of a user comes from verified claims only (`claims`); what users say of themselves is their profile's.

use convoke::prelude::*;
use convoke::{When, mutation};

use leaving::LeaveMeetings;

pub mod claims;
pub mod migrations;
pub mod onboarding;
pub mod leaving;
pub mod accounts;
pub mod mutations;
pub mod queries;

/// Goes on leaving the meetings of a closed account. One that was opened again stays where it is.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn leave_meetings(ctx: &mut MutationCtx, args: LeaveMeetings) -> Result<()> {
    let user = ctx.db().get(args.user_id)?;
    if user.is_none_or(|user| user.is_active) {
        return Ok(());
    }
    if let Some(rest) = leaving::leave_next(ctx, args.user_id, Some(args.before))? {
        ctx.schedule::<leave_meetings>(When::now(), rest)?;
    }
    Ok(())
}

/// Keeps the row of a user in step with the verified claims of their newest token, and turns invitations to their verified
/// e-mail address into places in meetings. Runs before the call that brought the token, and stays whatever happens to
/// that call.
///
/// # Errors
/// A failure of the store.
#[mutation(internal, identity_hook)]
pub fn identity(ctx: &mut MutationCtx) -> Result<()> {
    let identity = ctx.identity().cloned().ok_or_else(|| Error::internal("the hook runs for an identity"))?;
    claims::admit(ctx, &identity)
}
