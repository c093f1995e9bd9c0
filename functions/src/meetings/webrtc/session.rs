//! The moves of a media session, as its client reports them. Reports get lost and repeated, so nearly every move is
//! allowed; what is closed stays closed until a new attempt is started under its id.
//!
//! [`open`] starts an attempt, [`report`] takes what a client says of its own session, [`close_foreign`] is a host's.
//! Anyone who opens or closes settles `emptySince` here, in the same transaction.

use convoke::prelude::*;
use schema::limits::Quotas;
use schema::{
    ClientToken, ConnectionQuality, Details, MediaSession, Meeting, MeetingState, Metadata, Presence, Role,
    SessionState,
};

use super::media_server;
use super::quality::{self, Metrics, Quality};
use crate::access::{self, Membership};
use crate::audit;
use crate::meetings::presence::{moves, register};
use crate::meetings::{sessions, state};

/// A session of the caller.
pub struct OwnSession {
    /// The caller's participation.
    pub membership: Membership,
    /// The row of the session.
    pub session: Doc<MediaSession>,
}

/// Returns the caller's session with this id.
///
/// # Errors
/// Errors of [`access::participant`]; `NOT_FOUND` "Media session not found", also for another user's session.
pub fn own_session(ctx: &impl Read, meeting: Id<Meeting>, session_id: &ClientToken) -> Result<OwnSession> {
    let membership = access::participant(ctx, meeting)?;
    let session = sessions::find(ctx, meeting, session_id)?;
    let session = session.filter(|session| session.user_id == membership.user.id()).ok_or_else(not_found)?;
    Ok(OwnSession { membership, session })
}

/// A session in a report of the caller.
pub struct ReportedSession {
    /// The caller's participation.
    pub membership: Membership,
    /// The session; none if it is new.
    pub session: Option<Doc<MediaSession>>,
}

/// Returns the session with this id that the caller moves to state `to`. Only a host may close another user's session.
///
/// # Errors
/// Errors of [`access::participant`]; `FORBIDDEN` "Requires host role".
pub fn reported_session(
    ctx: &impl Read,
    meeting: Id<Meeting>,
    session_id: &ClientToken,
    to: SessionState,
) -> Result<ReportedSession> {
    let membership = access::participant(ctx, meeting)?;
    let session = sessions::find(ctx, meeting, session_id)?;
    let is_foreign = session.as_ref().is_some_and(|session| session.user_id != membership.user.id());
    if is_foreign && to == SessionState::Closed {
        access::require_host(&membership)?;
    }
    Ok(ReportedSession { membership, session })
}

/// Starts a connection attempt: the caller's session with this id becomes connecting, whether it is new, was closed or
/// had failed. An open session does not change.
///
/// # Errors
/// `CONFLICT` "Session ID is already in use" by another user; `FAILED_PRECONDITION` "Too many open sessions".
pub fn open(ctx: &mut MutationCtx, membership: &Membership, session_id: &ClientToken) -> Result<Doc<MediaSession>> {
    let now = ctx.now();
    match sessions::find(ctx, membership.meeting.id(), session_id)? {
        Some(session) if session.user_id != membership.user.id() => Err(in_use()),
        Some(session) if session.state.is_open() => Ok(ctx.db_mut().patch_doc(session, |row| row.updated_at = now)?),
        Some(session) => {
            make_room(ctx, membership)?;
            let session = ctx.db_mut().patch_doc(session, |row| {
                row.state = SessionState::Connecting;
                row.updated_at = now;
            })?;
            register::update_empty_since(ctx, membership.meeting.id())?;
            Ok(session)
        }
        None => {
            make_room(ctx, membership)?;
            let session = insert(ctx, membership, session_id, SessionState::Connecting)?;
            register::update_empty_since(ctx, membership.meeting.id())?;
            Ok(session)
        }
    }
}

/// Records a client's report on its own session: connection state and quality. `session` is the existing one, if any. A
/// connected session makes its owner join.
///
/// # Errors
/// `NOT_FOUND` "Media session not found", if it does not begin with connecting or connected; `FAILED_PRECONDITION`
/// "Session is closed", "Meeting is not currently active", "Meeting is full", "Too many open sessions";
/// `INVALID_ARGUMENT` if the metadata outgrows its bounds.
pub fn report(
    ctx: &mut MutationCtx,
    membership: Membership,
    session_id: &ClientToken,
    session: Option<Doc<MediaSession>>,
    report: Report,
) -> Result<Doc<MediaSession>> {
    let to = report.state;
    let was_open = session.as_ref().is_some_and(|session| session.state.is_open());
    match session.as_ref().map(|session| session.state) {
        None if !matches!(to, SessionState::Connecting | SessionState::Connected) => return Err(not_found()),
        Some(SessionState::Closed) if to != SessionState::Closed => return Err(closed()),
        None
        | Some(
            SessionState::Connecting
            | SessionState::Connected
            | SessionState::Disconnected
            | SessionState::Failed
            | SessionState::Closed,
        ) => {}
    }
    if to.is_open() && !was_open {
        state::require_open(&membership.meeting)?;
        register::require_room(ctx, &membership)?;
        make_room(ctx, &membership)?;
    }
    let session = match session {
        Some(session) if session.state == SessionState::Closed => return Ok(session),
        Some(session) => session,
        None => insert(ctx, &membership, session_id, to)?,
    };
    let session = write(ctx, session, report)?;
    let meeting = membership.meeting.id();
    if to == SessionState::Connected && brings_in(&membership) {
        moves::join(ctx, membership, None)?;
    }
    if to.is_open() != was_open {
        register::update_empty_since(ctx, meeting)?;
    }
    Ok(session)
}

/// The report of a client.
pub struct Report {
    /// State of the connection.
    pub state: SessionState,
    /// Metrics and labels to merge into the existing ones.
    pub metadata: Option<Metadata>,
}

/// Closes another user's session, for a host; see [`reported_session`].
///
/// # Errors
/// `CONFLICT` "Session ID is already in use" for any other state.
pub fn close_foreign(
    ctx: &mut MutationCtx,
    membership: &Membership,
    session: Doc<MediaSession>,
    to: SessionState,
) -> Result<Doc<MediaSession>> {
    if to != SessionState::Closed {
        return Err(in_use());
    }
    if session.state == SessionState::Closed {
        return Ok(session);
    }
    let session = close(ctx, session)?;
    media_server::follow_up(ctx, &membership.meeting, [session.session_id.clone()])?;
    let actor = access::actor(ctx, Some(&membership.user));
    let details = Details::new().with("sessionId", &session.session_id).with("userId", session.user_id);
    audit::meeting(ctx, &actor, "session.closed", &membership.meeting, details)?;
    Ok(session)
}

/// Closes a session; a closed one does not change.
///
/// # Errors
/// A failure of the store.
pub fn close(ctx: &mut MutationCtx, session: Doc<MediaSession>) -> Result<Doc<MediaSession>> {
    if session.state == SessionState::Closed {
        return Ok(session);
    }
    let now = ctx.now();
    let was_open = session.state.is_open();
    let session = ctx.db_mut().patch_doc(session, |row| {
        row.state = SessionState::Closed;
        row.updated_at = now;
    })?;
    if was_open {
        register::update_empty_since(ctx, session.meeting_id)?;
    }
    Ok(session)
}

/// Makes room for another session of the caller: at the limit, closes the oldest one that is not connected.
///
/// # Errors
/// `FAILED_PRECONDITION` "Too many open sessions": all are connected.
fn make_room(ctx: &mut MutationCtx, membership: &Membership) -> Result<()> {
    let most = ctx.settings::<Quotas>().open_sessions_per_user;
    let open = sessions::open_of(ctx, membership.meeting.id(), membership.user.id())?;
    if open.len() < most {
        return Ok(());
    }
    let oldest = open.into_iter().find(|session| session.state != SessionState::Connected);
    let oldest = oldest.ok_or_else(|| Error::failed_precondition("Too many open sessions"))?;
    sessions::close(ctx, vec![oldest])?;
    Ok(())
}

fn insert(
    ctx: &mut MutationCtx,
    membership: &Membership,
    session_id: &ClientToken,
    state: SessionState,
) -> Result<Doc<MediaSession>> {
    let row = MediaSession {
        meeting_id: membership.meeting.id(),
        session_id: session_id.clone(),
        user_id: membership.user.id(),
        state,
        metadata: None,
        connection_quality: None,
        last_metrics_at: None,
        updated_at: ctx.now(),
    };
    Ok(ctx.db_mut().insert_unique(MediaSession::by_meeting_session, row)?.into_doc())
}

fn write(ctx: &mut MutationCtx, session: Doc<MediaSession>, report: Report) -> Result<Doc<MediaSession>> {
    let now = ctx.now();
    let rating = report.metadata.as_ref().and_then(rating);
    let merged = match (session.metadata.clone(), report.metadata) {
        (Some(old), Some(new)) => Some(old.merged(new).map_err(|invalid| invalid.at("metadata"))?),
        (old, new) => new.or(old),
    };
    let session = ctx.db_mut().patch_doc(session, |row| {
        row.state = report.state;
        row.metadata = merged;
        row.updated_at = now;
        if rating.is_some() {
            row.connection_quality = rating;
            row.last_metrics_at = Some(now);
        }
    })?;
    Ok(session)
}

/// Returns true if a connected session changes its owner's presence, or starts a meeting that the owner hosts.
fn brings_in(membership: &Membership) -> bool {
    let begins = membership.participant.role == Role::Host && membership.meeting.state == MeetingState::Scheduled;
    membership.participant.presence != Presence::Joined || begins
}

/// Returns the quality from a report: the client's own rating if it is valid, otherwise that of the metrics.
fn rating(metadata: &Metadata) -> Option<ConnectionQuality> {
    let own = metadata.text("connectionQuality").and_then(|text| text.parse().ok());
    own.or_else(|| {
        let metrics = Metrics {
            packet_loss: metadata.number("packetLoss"),
            latency: metadata.number("latency"),
            jitter: metadata.number("jitter"),
            bitrate: metadata.number("bitrate"),
        };
        quality::rate(&metrics).map(|quality| match quality {
            Quality::Poor => ConnectionQuality::Poor,
            Quality::Fair => ConnectionQuality::Fair,
            Quality::Good => ConnectionQuality::Good,
            Quality::Excellent => ConnectionQuality::Excellent,
        })
    })
}

fn not_found() -> Error {
    Error::not_found("Media session not found")
}

/// Returns `FAILED_PRECONDITION`: the session has ended.
pub fn closed() -> Error {
    Error::failed_precondition("Session is closed")
}

fn in_use() -> Error {
    Error::conflict("Session ID is already in use")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn rated(metadata: Value) -> Option<&'static str> {
        rating(&from_value(metadata).unwrap()).map(ConnectionQuality::as_str)
    }

    #[test]
    fn figures_are_rated_and_a_rating_of_the_clients_own_wins() {
        assert_eq!(rated(json!({"packetLoss": 0.1, "latency": 20, "jitter": 3})), Some("excellent"));
        assert_eq!(rated(json!({"packetLoss": 6})), Some("poor"));
        assert_eq!(rated(json!({"bitrate": 99_999})), Some("fair"));
        assert_eq!(rated(json!({"packetLoss": 6, "connectionQuality": "good"})), Some("good"));
        assert_eq!(rated(json!({"packetLoss": 6, "connectionQuality": "splendid"})), Some("poor"));
        assert_eq!(rated(json!({"latency": -1, "jitter": "3", "device": "laptop"})), None);
    }
}
