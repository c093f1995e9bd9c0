//! The end of an account and its return: what they take with them.
//!
//! Rows stay in place, and a deactivated only host stays host: `meetings/admin/assignHost` helps such a meeting.

use convoke::When;
use convoke::prelude::*;
use schema::{Actor, Details, QueueStatus, User};

use super::leaving;
use crate::audit;
use crate::matching::queue;
use crate::meetings::invitations;
use crate::notes::revocation;
use crate::realtime::leases;

/// Closes an account: cancels the user's place in the matching queue, ends their part in running meetings and what they
/// follow, and fails what they queued offline. Of more meetings than one transaction can leave, a job leaves the rest.
/// An account that is closed already stays as it is.
///
/// # Errors
/// A failure of the store.
pub fn deactivate(ctx: &mut MutationCtx, user: Doc<User>, actor: &Actor) -> Result<()> {
    if !user.is_active {
        return Ok(());
    }
    let now = ctx.now();
    let user = ctx.db_mut().patch_doc(user, |row| {
        row.is_active = false;
        row.updated_at = now;
    })?;
    cancel_waiting(ctx, user.id())?;
    if let Some(rest) = leaving::leave_next(ctx, user.id(), None)? {
        ctx.schedule::<super::leave_meetings>(When::now(), rest)?;
    }
    revocation::fail_pending_of(ctx, user.id())?;
    leases::end_all(ctx, user.id());
    audit::user(ctx, actor, "account.deactivated", &user, Details::new())?;
    info!("Account {} deactivated", user.id());
    Ok(())
}

/// Opens an account again; invitations that came meanwhile become places in meetings.
///
/// # Errors
/// A failure of the store.
pub fn reactivate(ctx: &mut MutationCtx, user: Doc<User>, actor: &Actor) -> Result<()> {
    if user.is_active {
        return Ok(());
    }
    let now = ctx.now();
    let user = ctx.db_mut().patch_doc(user, |row| {
        row.is_active = true;
        row.updated_at = now;
    })?;
    invitations::accept(ctx, &user, actor)?;
    audit::user(ctx, actor, "account.reactivated", &user, Details::new())?;
    info!("Account {} reactivated", user.id());
    Ok(())
}

fn cancel_waiting(ctx: &mut MutationCtx, user: Id<User>) -> Result<()> {
    match queue::waiting(ctx, user)? {
        Some(entry) => queue::finish(ctx, entry, QueueStatus::Cancelled, None),
        None => Ok(()),
    }
}
