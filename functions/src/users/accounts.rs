//! Deactivation and reactivation of an account, with all effects.
//!
//! Rows stay in place. A deactivated only host stays host; `meetings/admin/assignHost` helps such a meeting.

use convoke::prelude::*;
use schema::{Actor, Details, QueueStatus, User};

use super::leaving::{self, LeaveMeetings};
use crate::audit;
use crate::matching::queue;
use crate::meetings::invitations;
use crate::notes::revocation;
use crate::realtime::leases;

/// Deactivates an account: cancels the user's queue entry, ends the user's presence in active meetings and
/// subscriptions, and fails queued offline operations. If the user is in more meetings than fit into one transaction, a
/// workflow leaves the rest. A deactivated account does not change.
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
    if let Some(before) = leaving::leave_next(ctx, user.id(), None)? {
        ctx.start::<super::leave_remaining_meetings>(LeaveMeetings { user_id: user.id(), before })?;
    }
    revocation::fail_pending_of(ctx, user.id())?;
    leases::end_all(ctx, user.id());
    audit::user(ctx, actor, "account.deactivated", &user, Details::new())?;
    info!("Account {} deactivated", user.id());
    Ok(())
}

/// Reactivates an account and accepts the invitations that arrived in the meantime.
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
