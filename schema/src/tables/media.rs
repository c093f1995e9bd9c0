//! Media sessions and the signals between them.

use convoke::{Id, Millis, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{ClientToken, ConnectionQuality, Metadata, SessionState, SignalKind, SignalPayload};

/// A client's connection to a meeting's room, as the client reports it.
#[table(name = "mediaSessions", prefix = "session")]
#[index(by_meeting_session(meeting_id, session_id), unique)]
#[index(by_meeting_state(meeting_id, state))]
#[index(by_meeting_user(meeting_id, user_id))]
#[index(by_meeting_user_state(meeting_id, user_id, state, updated_at))]
#[index(by_state_updated(state, updated_at))]
pub struct MediaSession {
    /// Of which meeting.
    pub meeting_id: Id<Meeting>,
    /// The client's name of it, unique within the meeting.
    pub session_id: ClientToken,
    /// Whose.
    pub user_id: Id<User>,
    /// Where the connection is.
    pub state: SessionState,
    /// What the client reported, key by key the latest.
    pub metadata: Option<Metadata>,
    /// How good the connection is, by the last figures.
    pub connection_quality: Option<ConnectionQuality>,
    /// When figures came last.
    pub last_metrics_at: Option<Millis>,
    /// When the row changed last.
    pub updated_at: Millis,
}

/// A message from one client to another, kept until it is acknowledged.
#[table(name = "signals", prefix = "signal")]
#[index(by_recipient(to_user_id, meeting_id))]
pub struct Signal {
    /// In which meeting.
    pub meeting_id: Id<Meeting>,
    /// Who sent it.
    pub from_user_id: Id<User>,
    /// From which session.
    pub from_session_id: ClientToken,
    /// For whom.
    pub to_user_id: Id<User>,
    /// For which session of theirs; absent for all.
    pub to_session_id: Option<ClientToken>,
    /// What it carries.
    pub kind: SignalKind,
    /// What it says.
    pub payload: SignalPayload,
}
