//! State transitions of a meeting: start, conclude and cancel, each complete in one transaction.
//!
//! [`start`], [`conclude`] and [`cancel`] check the state and return the errors of the contract; `access` checks the
//! rights before. [`require_open`] and [`require_active`] are for functions that need a meeting in a state.

use convoke::prelude::*;
use schema::limits::NEAR;
use schema::{Actor, Details, Invitation, Meeting, MeetingState, Participant, Presence};

use super::presence::register;
use super::sessions;
use crate::audit;
use crate::events::{self, Event};

/// Most rows of any kind in one meeting; rows that end with it are read in one statement.
const ROWS_MAX: usize = 20_000;

/// Returns the initial state of a meeting for this time.
pub fn initial(scheduled_at: Option<Millis>, now: Millis) -> MeetingState {
    match scheduled_at {
        Some(at) if at > now + NEAR => MeetingState::Scheduled,
        Some(_) | None => MeetingState::Active,
    }
}

/// Requires a meeting that is not concluded or cancelled.
///
/// # Errors
/// `FAILED_PRECONDITION` "Meeting is not currently active".
pub fn require_open(meeting: &Meeting) -> Result<()> {
    if meeting.state.is_final() { Err(not_active()) } else { Ok(()) }
}

/// Requires an active meeting.
///
/// # Errors
/// `FAILED_PRECONDITION` "Meeting is not currently active".
pub fn require_active(meeting: &Meeting) -> Result<()> {
    if meeting.state == MeetingState::Active { Ok(()) } else { Err(not_active()) }
}

/// Requires a meeting that may be changed: not concluded or cancelled.
///
/// # Errors
/// `FAILED_PRECONDITION` "Meeting is already concluded or cancelled".
pub fn require_not_final(meeting: &Meeting) -> Result<()> {
    if meeting.state.is_final() {
        return Err(Error::failed_precondition("Meeting is already concluded or cancelled"));
    }
    Ok(())
}

/// scheduled → active; an active meeting does not change. Returns the meeting.
///
/// # Errors
/// `FAILED_PRECONDITION` "Cannot start a concluded or cancelled meeting".
pub fn start(ctx: &mut MutationCtx, meeting: Doc<Meeting>, actor: &Actor) -> Result<Doc<Meeting>> {
    match meeting.state {
        MeetingState::Active => return Ok(meeting),
        MeetingState::Scheduled => {}
        MeetingState::Concluded | MeetingState::Cancelled => {
            return Err(Error::failed_precondition("Cannot start a concluded or cancelled meeting"));
        }
    }
    let now = ctx.now();
    let meeting = ctx.db_mut().patch_doc(meeting, |row| {
        row.state = MeetingState::Active;
        row.started_at = Some(now);
        row.updated_at = now;
    })?;
    audit::meeting(ctx, actor, "meeting.started", &meeting, Details::new())?;
    info!("Meeting {} started", meeting.id());
    register::update_empty_since(ctx, meeting.id())
}

/// active → concluded: present participants leave, sessions are closed, invitations are deleted, the room ends, and
/// insights are generated half a minute later.
///
/// # Errors
/// `FAILED_PRECONDITION` "Can only end active meetings".
pub fn conclude(ctx: &mut MutationCtx, meeting: Doc<Meeting>, actor: &Actor) -> Result<Doc<Meeting>> {
    if meeting.state != MeetingState::Active {
        return Err(Error::failed_precondition("Can only end active meetings"));
    }
    let meeting = finish(ctx, meeting, MeetingState::Concluded)?;
    events::emit(ctx, &meeting, Event::Concluded)?;
    audit::meeting(ctx, actor, "meeting.ended", &meeting, Details::new())?;
    info!("Meeting {} concluded", meeting.id());
    Ok(meeting)
}

/// scheduled → cancelled.
///
/// # Errors
/// `FAILED_PRECONDITION` "Cannot cancel active meeting - end it instead", "Meeting is already concluded or cancelled".
pub fn cancel(ctx: &mut MutationCtx, meeting: Doc<Meeting>, actor: &Actor) -> Result<Doc<Meeting>> {
    require_not_final(&meeting)?;
    if meeting.state == MeetingState::Active {
        return Err(Error::failed_precondition("Cannot cancel active meeting - end it instead"));
    }
    let meeting = finish(ctx, meeting, MeetingState::Cancelled)?;
    audit::meeting(ctx, actor, "meeting.cancelled", &meeting, Details::new())?;
    info!("Meeting {} cancelled", meeting.id());
    Ok(meeting)
}

fn finish(ctx: &mut MutationCtx, meeting: Doc<Meeting>, state: MeetingState) -> Result<Doc<Meeting>> {
    let now = ctx.now();
    let id = meeting.id();
    let meeting = ctx.db_mut().patch_doc(meeting, |row| {
        row.state = state;
        row.ended_at = Some(now);
        row.empty_since = None;
        row.updated_at = now;
    })?;
    let joined = ctx.db().query(Participant::by_meeting_presence).eq(id).eq(Presence::Joined).take(ROWS_MAX)?;
    for participant in joined {
        register::write(ctx, participant, Presence::Left, None)?;
    }
    sessions::close_all(ctx, id)?;
    for invitation in ctx.db().query(Invitation::by_meeting_email).eq(id).take(ROWS_MAX)? {
        ctx.db_mut().delete(invitation.id())?;
    }
    Ok(meeting)
}

fn not_active() -> Error {
    Error::failed_precondition("Meeting is not currently active")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meeting_begins_at_once_unless_it_is_more_than_five_minutes_ahead() {
        let now = Millis(1_000_000_000);
        assert_eq!(initial(None, now), MeetingState::Active);
        assert_eq!(initial(Some(Millis(0)), now), MeetingState::Active);
        assert_eq!(initial(Some(Millis(now.0 + 300_000)), now), MeetingState::Active);
        assert_eq!(initial(Some(Millis(now.0 + 300_001)), now), MeetingState::Scheduled);
    }
}
