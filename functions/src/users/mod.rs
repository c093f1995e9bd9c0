//! User accounts: identities, onboarding, and deactivation.
//!
//! The row of a user contains only verified claims (`claims`); the profile contains what the user enters.

use convoke::prelude::*;
use convoke::{When, mutation};

use leaving::LeaveMeetings;

pub mod claims;
pub mod migrations;
pub mod onboarding;
pub mod leaving;
pub mod accounts;
pub mod calendar;
pub mod mutations;
pub mod queries;

/// Continues to leave the meetings of a deactivated account. A reactivated account does not leave more.
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
