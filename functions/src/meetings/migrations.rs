//! Rows of former releases, whose addresses were in lower case by the rules of Unicode and whose domains stood as they came.

use convoke::prelude::*;
use convoke::{Batch, Migrated, mutation};
use schema::{Actor, EmailAddress, Invitation, Meeting};

use super::invitations;
use crate::access;

/// Gives the address of every invitation the form in which addresses are compared. Where the meeting has an invitation of that
/// address already, both stay as they are, and the log names them. One whose address a user owns becomes a place in the meeting.
///
/// # Errors
/// `FORBIDDEN`: not called with a deploy key.
#[mutation(admin, rights = access::deploy_key)]
pub fn normalize_invitations(ctx: &mut MutationCtx, _: Actor, args: Batch) -> Result<Migrated> {
    ctx.migrate_with::<Invitation>(&args, |ctx, row| {
        let (meeting, stored): (Id<Meeting>, EmailAddress) = (row.get("meetingId")?, row.get("email")?);
        let Ok(email) = EmailAddress::new(stored.as_str()) else {
            warn!("{}: its address is none by the rules of today, and stays", row.id());
            return Ok(());
        };
        if email == stored {
            return Ok(());
        }
        if let Some(other) = ctx.db().query(Invitation::by_meeting_email).eq(meeting).eq(&email).unique()? {
            warn!("{} and {} have the same address; both stay as they are", row.id(), other.id());
            return Ok(());
        }
        // One that was accepted with another of the same part is gone.
        let Some(invitation) = ctx.db().get(row.id())? else { return Ok(()) };
        ctx.db_mut().patch_doc(invitation, |invitation| invitation.email = email.clone())?;
        for owner in invitations::owners(ctx, &[email])? {
            invitations::accept(ctx, &owner, &Actor::user(owner.id()))?;
        }
        Ok(())
    })
}
