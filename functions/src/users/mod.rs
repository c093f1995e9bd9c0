//! User accounts: who a token means, onboarding, and what an account's end takes with it.
//!
//! The row of a user comes from verified claims only (`claims`); what users say of themselves is their profile's.

use convoke::mutation;
use convoke::prelude::*;

pub mod claims;
pub mod migrations;
pub mod onboarding;
pub mod accounts;
pub mod mutations;
pub mod queries;

/// Goes on leaving the meetings of a closed account. One that was opened again stays where it is.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn leave_meetings(ctx: &mut MutationCtx, args: accounts::LeaveMeetings) -> Result<()> {
    let user = ctx.db().get(args.user_id)?;
    if user.is_none_or(|user| user.is_active) {
        return Ok(());
    }
    accounts::leave_meetings(ctx, args.user_id, Some(args.before))
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
