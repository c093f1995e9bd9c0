//! Ends of meetings that are empty or too long, and of sessions without a client.

use std::collections::BTreeSet;

use convoke::prelude::*;
use schema::limits::{EMPTY_MEETING, LONGEST_MEETING, STALE_SESSION};
use schema::{Actor, MediaSession, Meeting, MeetingState, SessionState};

use super::presence::register;
use super::{sessions, state};

/// Empty meetings per transaction; they have no present participants.
const EMPTY_MAX: usize = 16;
/// Overlong meetings per transaction: each may have two thousand participants, and the writer must serve other calls in
/// between.
const LONG_MAX: usize = 1;
/// Sessions per transaction.
const SESSIONS_MAX: usize = 200;

/// The result of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Everything due has ended.
    All,
    /// There may be more.
    Part,
}

/// Ends a batch of due meetings and sessions.
///
/// # Errors
/// A failure of the store.
pub fn sweep(ctx: &mut MutationCtx) -> Result<Swept> {
    let stale = close_stale(ctx)?;
    let empty = conclude_empty(ctx)?;
    let long = conclude_long(ctx)?;
    let is_all = stale < SESSIONS_MAX && empty < EMPTY_MAX && long < LONG_MAX;
    Ok(if is_all { Swept::All } else { Swept::Part })
}

fn close_stale(ctx: &mut MutationCtx) -> Result<usize> {
    let before = ctx.now() - STALE_SESSION;
    let mut stale = Vec::new();
    for state in [SessionState::Connecting, SessionState::Disconnected] {
        let rows = ctx.db().query(MediaSession::by_state_updated).eq(state).range(..=before);
        stale.extend(rows.take(SESSIONS_MAX - stale.len())?);
    }
    let meetings: BTreeSet<Id<Meeting>> = stale.iter().map(|session| session.meeting_id).collect();
    let count = sessions::close(ctx, stale)?.len();
    for meeting in meetings {
        register::update_empty_since(ctx, meeting)?;
    }
    Ok(count)
}

fn conclude_empty(ctx: &mut MutationCtx) -> Result<usize> {
    let before = ctx.now() - EMPTY_MEETING;
    let active = ctx.db().query(Meeting::by_state_empty).eq(MeetingState::Active);
    let due = active.range(Some(Millis(0))..=Some(before)).take(EMPTY_MAX)?;
    conclude(ctx, due)
}

fn conclude_long(ctx: &mut MutationCtx) -> Result<usize> {
    let before = ctx.now() - LONGEST_MEETING;
    let active = ctx.db().query(Meeting::by_state_started).eq(MeetingState::Active);
    let due = active.range(Some(Millis(0))..=Some(before)).take(LONG_MAX)?;
    conclude(ctx, due)
}

fn conclude(ctx: &mut MutationCtx, due: Vec<Doc<Meeting>>) -> Result<usize> {
    let count = due.len();
    for meeting in due {
        state::conclude(ctx, meeting, &Actor::system())?;
    }
    Ok(count)
}
