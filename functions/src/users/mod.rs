//! User accounts: who a token means, onboarding, and what an account's end takes with it.
//!
//! The row of a user comes from verified claims only (`claims`); what users say of themselves is their profile's.

use convoke::mutation;
use convoke::prelude::*;

pub mod claims;
pub mod onboarding;
pub mod accounts;
pub mod mutations;
pub mod queries;

/// Keeps the row of a user in step with the verified claims of his newest token, and turns invitations to his verified
/// e-mail address into places in meetings. Runs before the call that brought the token, and stays whatever becomes of
/// that call.
///
/// # Errors
/// A failure of the store.
#[mutation(internal, identity_hook)]
pub fn identity(ctx: &mut MutationCtx) -> Result<()> {
    let identity = ctx.identity().cloned().ok_or_else(|| Error::internal("the hook runs for an identity"))?;
    claims::admit(ctx, &identity)
}
