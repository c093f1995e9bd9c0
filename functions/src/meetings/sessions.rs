//! Open media sessions: which they are, and closing them.
//!
//! The moves that clients report are the webrtc functions'. Closing here leaves `emptySince` to
//! `presence::settle`, which whoever closes calls in the same transaction.

use convoke::prelude::*;
use schema::{MediaSession, Meeting, SessionState, User};

/// The states of [`SessionState::is_open`], to look for.
pub const OPEN: [SessionState; 3] = [SessionState::Connecting, SessionState::Connected, SessionState::Disconnected];

/// More open sessions than a meeting can have: eight for each of its participants.
const OPEN_MAX: usize = 8 * super::seats::SEATS_MAX;

/// The open sessions of a meeting, oldest first.
///
/// # Errors
/// A failure of the store.
pub fn open(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Vec<Doc<MediaSession>>> {
    let mut sessions = ctx.db().query(MediaSession::by_meeting_state).eq(meeting).any(OPEN).take(OPEN_MAX)?;
    sessions.sort_by_key(|session| (session.creation_time(), session.id()));
    Ok(sessions)
}

/// The open sessions of one user in a meeting, oldest first.
///
/// # Errors
/// A failure of the store.
pub fn open_of(ctx: &impl Read, meeting: Id<Meeting>, user: Id<User>) -> Result<Vec<Doc<MediaSession>>> {
    // Of what is open, not of all that a user ever had: that grows as long as he likes.
    let mut sessions = open(ctx, meeting)?;
    sessions.retain(|session| session.user_id == user);
    Ok(sessions)
}

/// Whether a meeting has an open session.
///
/// # Errors
/// A failure of the store.
pub fn any_open(ctx: &impl Read, meeting: Id<Meeting>) -> Result<bool> {
    Ok(ctx.db().query(MediaSession::by_meeting_state).eq(meeting).any(OPEN).first()?.is_some())
}

/// Closes the open sessions of one user in a meeting; says how many there were.
///
/// # Errors
/// A failure of the store.
pub fn close_of(ctx: &mut MutationCtx, meeting: Id<Meeting>, user: Id<User>) -> Result<usize> {
    let sessions = open_of(ctx, meeting, user)?;
    close(ctx, sessions)
}

/// Closes all open sessions of a meeting; says how many there were.
///
/// # Errors
/// A failure of the store.
pub fn close_all(ctx: &mut MutationCtx, meeting: Id<Meeting>) -> Result<usize> {
    let sessions = open(ctx, meeting)?;
    close(ctx, sessions)
}

/// Closes these sessions; says how many they were.
///
/// # Errors
/// A failure of the store.
pub fn close(ctx: &mut MutationCtx, sessions: Vec<Doc<MediaSession>>) -> Result<usize> {
    let now = ctx.now();
    let count = sessions.len();
    for session in sessions {
        ctx.db_mut().patch_doc(session, |row| {
            row.state = SessionState::Closed;
            row.updated_at = now;
        })?;
    }
    Ok(count)
}
