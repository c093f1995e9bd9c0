//! Rows of former releases, whose addresses were in lower case by the rules of Unicode and whose domains stood as they came.

use convoke::prelude::*;
use convoke::{Batch, Migrated, mutation};
use schema::{Actor, EmailAddress, User};

use crate::access;
use crate::meetings::invitations;

/// Gives the address of every user the form in which addresses are compared. Where another user has that address already,
/// both stay as they are, and the log names them: which of two accounts is whose is for the operator to decide. Open
/// invitations to a verified address become places in meetings.
///
/// # Errors
/// `FORBIDDEN`: not called with a deploy key.
#[mutation(admin, rights = access::deploy_key)]
pub fn normalize_emails(ctx: &mut MutationCtx, _: Actor, args: Batch) -> Result<Migrated> {
    ctx.migrate_with::<User>(&args, |ctx, row| {
        let Some(stored) = row.get::<Option<EmailAddress>>("email")? else { return Ok(()) };
        let Ok(email) = EmailAddress::new(stored.as_str()) else {
            warn!("{}: its address is none by the rules of today, and stays", row.id());
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
