//! The end of an account and its return: what they take with them.
//!
//! Rows stay in place, and a deactivated only host stays host: `meetings/admin/assignHost` helps such a meeting.

use convoke::prelude::*;
use schema::{Actor, Details, Meeting, MeetingState, Participant, Presence, QueueEntry, QueueStatus, User};

use crate::audit;
use crate::meetings::webrtc::room_service;
use crate::meetings::{invitations, presence, sessions};
use crate::notes::revocation;
use crate::realtime::leases;

/// Closes an account: cancels the user's place in the matching queue, ends his part in running meetings and what he
/// follows, and fails what he queued offline. An account that is closed already stays as it is.
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
    leave_running_meetings(ctx, user.id())?;
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
    let waiting = ctx.db().query(QueueEntry::by_user_status).eq(user).eq(QueueStatus::Waiting).first()?;
    let now = ctx.now();
    if let Some(entry) = waiting {
        ctx.db_mut().patch_doc(entry, |row| {
            row.status = QueueStatus::Cancelled;
            row.updated_at = now;
        })?;
    }
    Ok(())
}

/// Closes his sessions, and lets go of the places he holds: nobody else could, and a meeting with a ghost never empties.
fn leave_running_meetings(ctx: &mut MutationCtx, user: Id<User>) -> Result<()> {
    let places = ctx.db().query(Participant::by_user_meeting).eq(user).take(PLACES_MAX)?;
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
    Ok(())
}

fn is_waiting(place: &Participant) -> bool {
    place.presence == Presence::Joined
}

/// Meetings of one user that are looked at: more than anybody takes part in, and what one transaction can read.
const PLACES_MAX: usize = 20_000;
