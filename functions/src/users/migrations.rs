//! Migrations of rows of former releases, whose addresses were lower-cased by Unicode rules and whose domains were not
//! normalized.

use convoke::prelude::*;
use convoke::{Batch, Migrated, mutation};
use schema::{Actor, EmailAddress, User};

use crate::access;
use crate::meetings::invitations;

/// Normalizes the address of every user. If another user has that address, both stay unchanged and are logged, because
/// the operator must decide which account is right. Open invitations to a verified address are accepted.
///
/// # Errors
/// `FORBIDDEN`: the caller is not a deploy key.
#[mutation(admin, rights = access::deploy_key)]
pub fn normalize_emails(ctx: &mut MutationCtx, _: Actor, args: Batch) -> Result<Migrated> {
    ctx.migrate_with::<User>(&args, |ctx, row| {
        let Some(stored) = row.get::<Option<EmailAddress>>("email")? else { return Ok(()) };
        let Ok(email) = EmailAddress::new(stored.as_str()) else {
            warn!("{}: its address is invalid by the current rules and is not changed", row.id());
            return Ok(());
        };
        if email == stored {
            return Ok(());
        }
        if let Some(other) = ctx.db().query(User::by_email).eq(&email).first()? {
            warn!("{} and {} have the same address; both stay as they are", row.id(), other.id());
            return Ok(());
        }
        let user = ctx.db_mut().patch(row.id(), |user| user.email = Some(email))?;
        invitations::accept(ctx, &user, &Actor::user(user.id()))
    })
}
