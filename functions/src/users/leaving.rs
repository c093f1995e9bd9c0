//! Leaving the meetings of a deactivated account.

use std::ops::Bound;

use convoke::args;
use convoke::prelude::*;
use schema::{Meeting, MeetingState, Participant, Presence, User};

use crate::meetings::webrtc::media_server;
use crate::meetings::{presence, sessions};

/// Meetings per transaction; leaving one takes some tenths of a millisecond.
const LEFT_AT_ONCE: usize = 50;

/// Closes a user's sessions in the next meetings, newest first, and sets the user's presence to left: otherwise such a
/// meeting would never become empty. Returns the oldest of them, if there may be more.
///
/// # Errors
/// A failure of the store.
pub fn leave_next(ctx: &mut MutationCtx, user: Id<User>, before: Option<Id<Meeting>>) -> Result<Option<Id<Meeting>>> {
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
        media_server::evict(ctx, &meeting, user, closed)?;
        if place.presence == Presence::Joined {
            presence::write(ctx, place, Presence::Left, None)?;
        }
        presence::update_empty_since(ctx, meeting.id())?;
    }
    Ok(next)
}

/// Arguments of `users/leaveMeetings` and `users/leaveRemainingMeetings`.
#[args(name = "UsersAccountsLeaveMeetings")]
pub struct LeaveMeetings {
    pub user_id: Id<User>,
    /// The oldest meeting that has been left so far.
    pub before: Id<Meeting>,
}

fn is_waiting(place: &Participant) -> bool {
    place.presence == Presence::Joined
}
