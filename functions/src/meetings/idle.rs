//! What ends by the clock: meetings that are empty or too long, sessions whose client is gone.

use std::collections::BTreeSet;

use convoke::prelude::*;
use schema::limits::{EMPTY_MEETING, LONGEST_MEETING, STALE_SESSION};
use schema::{Actor, MediaSession, Meeting, MeetingState, SessionState};

use super::{presence, sessions, state};

/// Meetings of one transaction: the largest has two thousand people, and the writer serves others meanwhile.
const MEETINGS_MAX: usize = 8;
/// Sessions of one transaction.
const SESSIONS_MAX: usize = 200;

/// How far a sweep came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Nothing is left that is due.
    All,
    /// There may be more.
    Part,
}

/// Ends a batch of what is due.
///
/// # Errors
/// A failure of the store.
pub fn sweep(ctx: &mut MutationCtx) -> Result<Swept> {
    let stale = close_stale(ctx)?;
    let ended = conclude_due(ctx)?;
    Ok(if stale < SESSIONS_MAX && ended < MEETINGS_MAX { Swept::All } else { Swept::Part })
}

fn close_stale(ctx: &mut MutationCtx) -> Result<usize> {
    let before = ctx.now() - STALE_SESSION;
    let mut stale = Vec::new();
    for state in [SessionState::Connecting, SessionState::Disconnected] {
        let rows = ctx.db().query(MediaSession::by_state_updated).eq(state).range(..=before);
        stale.extend(rows.take(SESSIONS_MAX - stale.len())?);
    }
    let meetings: BTreeSet<Id<Meeting>> = stale.iter().map(|session| session.meeting_id).collect();
    let count = sessions::close(ctx, stale)?;
    for meeting in meetings {
        presence::settle(ctx, meeting)?;
    }
    Ok(count)
}

fn conclude_due(ctx: &mut MutationCtx) -> Result<usize> {
    let now = ctx.now();
    let empty = ctx.db().query(Meeting::by_state_empty).eq(MeetingState::Active);
    let mut due = empty.range(Some(Millis(0))..=Some(now - EMPTY_MEETING)).take(MEETINGS_MAX)?;
    let long = ctx.db().query(Meeting::by_state_started).eq(MeetingState::Active);
    for meeting in long.range(Some(Millis(0))..=Some(now - LONGEST_MEETING)).take(MEETINGS_MAX)? {
        if !due.iter().any(|other| other.id() == meeting.id()) {
            due.push(meeting);
        }
    }
    due.truncate(MEETINGS_MAX);
    let count = due.len();
    for meeting in due {
        state::conclude(ctx, meeting, &Actor::system())?;
    }
    Ok(count)
}
