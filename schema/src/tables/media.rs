//! Media sessions and the signals between them.

use convoke::{Id, Millis, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{ClientToken, ConnectionQuality, Metadata, SessionState, SignalKind, SignalPayload};

/// The connection of a client to the room of a meeting, as the client reports it.
#[table(name = "mediaSessions", prefix = "session")]
#[index(by_meeting_session(meeting_id, session_id), unique)]
#[index(by_meeting_state(meeting_id, state))]
#[index(by_meeting_user(meeting_id, user_id))]
#[index(by_meeting_user_state(meeting_id, user_id, state, updated_at))]
#[index(by_state_updated(state, updated_at))]
pub struct MediaSession {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The client's id of the session, unique within the meeting.
    pub session_id: ClientToken,
    /// The user.
    pub user_id: Id<User>,
    /// The state of the connection.
    pub state: SessionState,
    /// The latest reported value of each key.
    pub metadata: Option<Metadata>,
    /// The quality of the connection according to the latest measurements.
    pub connection_quality: Option<ConnectionQuality>,
    /// Time of the latest measurements.
    pub last_metrics_at: Option<Millis>,
    /// Time of the last change.
    pub updated_at: Millis,
}

/// A message from one client to another, stored until it is acknowledged.
#[table(name = "signals", prefix = "signal")]
#[index(by_recipient(to_user_id, meeting_id))]
pub struct Signal {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The sender.
    pub from_user_id: Id<User>,
    /// The session of the sender.
    pub from_session_id: ClientToken,
    /// The recipient.
    pub to_user_id: Id<User>,
    /// The session of the recipient; absent for all sessions.
    pub to_session_id: Option<ClientToken>,
    /// The kind of the content.
    pub kind: SignalKind,
    /// The content.
    pub payload: SignalPayload,
}
