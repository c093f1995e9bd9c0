//! Finding and closing media sessions.
//!
//! The webrtc functions implement transitions that clients report. Closing here does not update `emptySince`; callers
//! also call `presence::update_empty_since` in the same transaction.

use convoke::prelude::*;
use schema::{ClientToken, MediaSession, Meeting, SessionState, User};

use super::participants::PARTICIPANTS_MAX;

/// The states of [`SessionState::is_open`], for queries.
pub const OPEN: [SessionState; 3] = [SessionState::Connecting, SessionState::Connected, SessionState::Disconnected];

/// More open sessions than a meeting can have: eight per participant.
const OPEN_MAX: usize = 8 * PARTICIPANTS_MAX;

/// Returns the session with this id in a meeting, of any user.
///
/// # Errors
/// A failure of the store.
pub fn find(ctx: &impl Read, meeting: Id<Meeting>, session_id: &ClientToken) -> Result<Option<Doc<MediaSession>>> {
    Ok(ctx.db().query(MediaSession::by_meeting_session).eq(meeting).eq(session_id).unique()?)
}

/// Returns the open sessions of a meeting, oldest first.
///
/// # Errors
/// A failure of the store.
pub fn open(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Vec<Doc<MediaSession>>> {
    let mut sessions = ctx.db().query(MediaSession::by_meeting_state).eq(meeting).any(OPEN).take(OPEN_MAX)?;
    sessions.sort_by_key(|session| (session.creation_time(), session.id()));
    Ok(sessions)
}

/// Returns the open sessions of one user in a meeting, oldest first. Reads no sessions of other users and no closed
/// ones, whose number is unlimited.
///
/// # Errors
/// A failure of the store.
pub fn open_of(ctx: &impl Read, meeting: Id<Meeting>, user: Id<User>) -> Result<Vec<Doc<MediaSession>>> {
    let sessions = ctx.db().query(MediaSession::by_meeting_user_state).eq(meeting).eq(user);
    let mut sessions = sessions.any(OPEN).take(OPEN_MAX)?;
    sessions.sort_by_key(|session| (session.creation_time(), session.id()));
    Ok(sessions)
}

/// Returns true if a meeting has an open session.
///
/// # Errors
/// A failure of the store.
pub fn any_open(ctx: &impl Read, meeting: Id<Meeting>) -> Result<bool> {
    Ok(ctx.db().query(MediaSession::by_meeting_state).eq(meeting).any(OPEN).first()?.is_some())
}

/// Closes the open sessions of one user in a meeting and returns their ids.
///
/// # Errors
/// A failure of the store.
pub fn close_of(ctx: &mut MutationCtx, meeting: Id<Meeting>, user: Id<User>) -> Result<Vec<ClientToken>> {
    let sessions = open_of(ctx, meeting, user)?;
    close(ctx, sessions)
}

/// Closes all open sessions of a meeting and returns their ids.
///
/// # Errors
/// A failure of the store.
pub fn close_all(ctx: &mut MutationCtx, meeting: Id<Meeting>) -> Result<Vec<ClientToken>> {
    let sessions = open(ctx, meeting)?;
    close(ctx, sessions)
}

/// Closes these sessions and returns their ids.
///
/// # Errors
/// A failure of the store.
pub fn close(ctx: &mut MutationCtx, sessions: Vec<Doc<MediaSession>>) -> Result<Vec<ClientToken>> {
    let now = ctx.now();
    let mut closed = Vec::with_capacity(sessions.len());
    for session in sessions {
        let session = ctx.db_mut().patch_doc(session, |row| {
            row.state = SessionState::Closed;
            row.updated_at = now;
        })?;
        closed.push(session.into_inner().session_id);
    }
    Ok(closed)
}
