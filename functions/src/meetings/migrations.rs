//! Migrations of rows of former releases, whose addresses were lower-cased by Unicode rules and whose domains were not
//! normalized.

use convoke::prelude::*;
use convoke::{Batch, Migrated, mutation};
use schema::{Actor, EmailAddress, Invitation, Meeting};

use super::invitations;
use crate::access;

/// Normalizes the address of every invitation. If the meeting has another invitation of that address, both stay
/// unchanged and are logged. If a user has the address, the user becomes a participant.
///
/// # Errors
/// `FORBIDDEN`: the caller is not a deploy key.
#[mutation(admin, rights = access::deploy_key)]
pub fn normalize_invitations(ctx: &mut MutationCtx, _: Actor, args: Batch) -> Result<Migrated> {
    ctx.migrate_with::<Invitation>(&args, |ctx, row| {
        let (meeting, stored): (Id<Meeting>, EmailAddress) = (row.get("meetingId")?, row.get("email")?);
        let Ok(email) = EmailAddress::new(stored.as_str()) else {
            warn!("{}: its address is invalid by the current rules and is not changed", row.id());
            return Ok(());
        };
        if email == stored {
            return Ok(());
        }
        if let Some(other) = ctx.db().query(Invitation::by_meeting_email).eq(meeting).eq(&email).unique()? {
            warn!("{} and {} have the same address; both stay as they are", row.id(), other.id());
            return Ok(());
        }
        // Another invitation of this part may have removed it.
        let Some(invitation) = ctx.db().get(row.id())? else { return Ok(()) };
        ctx.db_mut().patch_doc(invitation, |invitation| invitation.email = email.clone())?;
        for owner in invitations::owners(ctx, &[email])? {
            invitations::accept(ctx, &owner, &Actor::user(owner.id()))?;
        }
        Ok(())
    })
}
