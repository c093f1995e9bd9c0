//! Joining and leaving.

use convoke::prelude::*;
use schema::{MeetingState, Metadata, Presence, Role};

use super::register::{require_room, update_empty_since, write};
use crate::access::{self, Membership};
use crate::meetings::{sessions, state};

/// Makes the caller join. A host starts a scheduled meeting by it, and any other participant waits in it. A present
/// participant only gets the metadata. Returns the updated membership.
///
/// # Errors
/// `FAILED_PRECONDITION` "Meeting is not currently active" (it is concluded or cancelled), "Meeting is full".
pub fn join(ctx: &mut MutationCtx, membership: Membership, metadata: Option<Metadata>) -> Result<Membership> {
    state::require_open(&membership.meeting)?;
    require_room(ctx, &membership)?;
    let Membership { user, mut meeting, participant } = membership;
    let was_there = participant.presence == Presence::Joined;
    let is_host = participant.role == Role::Host;
    let participant = write(ctx, participant, Presence::Joined, metadata)?;
    if is_host && meeting.state == MeetingState::Scheduled {
        let actor = access::actor(ctx, Some(&user));
        meeting = state::start(ctx, meeting, &actor)?;
    } else if !was_there {
        meeting = update_empty_since(ctx, meeting.id())?;
    }
    Ok(Membership { user, meeting, participant })
}

/// Makes the caller leave and closes the caller's sessions, in any state of the meeting. A participant who has left
/// already only gets the metadata. The caller handles the lease. Returns the updated membership.
///
/// # Errors
/// A failure of the store.
pub fn go(ctx: &mut MutationCtx, membership: Membership, metadata: Option<Metadata>) -> Result<Membership> {
    let Membership { user, mut meeting, participant } = membership;
    let was_gone = participant.presence == Presence::Left;
    let participant = write(ctx, participant, Presence::Left, metadata)?;
    let closed = sessions::close_of(ctx, meeting.id(), user.id())?;
    if !was_gone || !closed.is_empty() {
        meeting = update_empty_since(ctx, meeting.id())?;
    }
    Ok(Membership { user, meeting, participant })
}
