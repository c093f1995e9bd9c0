//! The end of an account and its return: what they take with them.
//!
//! Rows stay in place, and a deactivated only host stays host: `meetings/admin/assignHost` helps such a meeting.

use std::ops::Bound;

use convoke::prelude::*;
use convoke::{When, args};
use schema::{Actor, Details, Meeting, MeetingState, Participant, Presence, QueueStatus, User};

use crate::audit;
use crate::matching::queue;
use crate::meetings::webrtc::room_service;
use crate::meetings::{invitations, presence, sessions};
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
    leave_meetings(ctx, user.id(), None)?;
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

/// Meetings of a closed account that one transaction looks at: leaving one takes some tenths of a millisecond.
const LEFT_AT_ONCE: usize = 50;

/// Closes a user's sessions in the next of their meetings, the newest first, and lets go of the places they hold: nobody
/// else could, and a meeting with a ghost never empties. A job goes on behind them.
///
/// # Errors
/// A failure of the store.
pub fn leave_meetings(ctx: &mut MutationCtx, user: Id<User>, before: Option<Id<Meeting>>) -> Result<()> {
    let places = ctx.db().query(Participant::by_user_meeting).eq(user).order(Order::Desc);
    let upper = before.map_or(Bound::Unbounded, Bound::Excluded);
    let places = places.range((Bound::Unbounded, upper)).take(LEFT_AT_ONCE)?;
    let next = places.last().filter(|_| places.len() == LEFT_AT_ONCE).map(|place| place.meeting_id);
    let ids: Vec<Id<Meeting>> = places.iter().map(|place| place.meeting_id).collect();
    let meetings = ctx.db().get_many(&ids)?;
    for (place, meeting) in places.into_iter().zip(meetings) {
        let Some(meeting) = meeting.filter(|meeting| meeting.state == MeetingState::Active || is_waiting(&place))
        else {
            continue;
        };
        let closed = sessions::close_of(ctx, meeting.id(), user)?;
        room_service::evict(ctx, &meeting, user, closed)?;
        if place.presence == Presence::Joined {
            presence::write(ctx, place, Presence::Left, None)?;
        }
        presence::settle(ctx, meeting.id())?;
    }
    if let Some(before) = next {
        ctx.schedule::<super::leave_meetings>(When::now(), LeaveMeetings { user_id: user, before })?;
    }
    Ok(())
}

/// What `users/leaveMeetings` takes.
#[args]
pub struct LeaveMeetings {
    pub user_id: Id<User>,
    /// The oldest meeting that has been left so far.
    pub before: Id<Meeting>,
}

fn is_waiting(place: &Participant) -> bool {
    place.presence == Presence::Joined
}
