//! Media sessions: their states, how good their connection is, and what they signal to each other.

use convoke::{JsonObject, value};

/// Where the connection of a media session is.
#[value(name = "SessionState")]
pub enum SessionState {
    /// It is being made, or made anew.
    Connecting,
    /// It stands.
    Connected,
    /// It was interrupted.
    Disconnected,
    /// It did not come about.
    Failed,
    /// It was ended. Final, unless a new attempt is started under the same id.
    Closed,
}

impl SessionState {
    /// The states of sessions that are still there.
    pub const OPEN: [SessionState; 3] = [SessionState::Connecting, SessionState::Connected, SessionState::Disconnected];

    /// Whether the session is still there.
    pub fn is_open(self) -> bool {
        match self {
            SessionState::Connecting | SessionState::Connected | SessionState::Disconnected => true,
            SessionState::Failed | SessionState::Closed => false,
        }
    }
}

/// How good a connection is, best first.
#[value(name = "ConnectionQuality")]
pub enum ConnectionQuality {
    /// Nothing to wish for.
    Excellent,
    /// Small losses that nobody notices.
    Good,
    /// Losses that one notices.
    Fair,
    /// Hardly usable.
    Poor,
}

/// What a signal carries.
#[value(name = "SignalKind")]
pub enum SignalKind {
    /// A session description, offered or answered.
    Sdp,
    /// A candidate for a way to the peer.
    Ice,
}

/// The content of a signal: any object of at most 64 KiB. The server checks its keys and passes it on.
pub type SignalPayload = JsonObject<{ 64 * 1024 }>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_states_are_open() {
        let open: Vec<_> = SessionState::ALL.iter().copied().filter(|state| state.is_open()).collect();
        assert_eq!(open, SessionState::OPEN);
        let names: Vec<&str> = SessionState::ALL.iter().map(|state| state.as_str()).collect();
        assert_eq!(names, ["connecting", "connected", "disconnected", "failed", "closed"]);
    }

    #[test]
    fn qualities_and_signals_are_spelled_as_the_contract_does() {
        let names: Vec<&str> = ConnectionQuality::ALL.iter().map(|quality| quality.as_str()).collect();
        assert_eq!(names, ["excellent", "good", "fair", "poor"]);
        assert_eq!((SignalKind::Sdp.as_str(), SignalKind::Ice.as_str()), ("sdp", "ice"));
    }

    #[test]
    fn a_payload_ends_at_64_kib() {
        // {"a":"…"} is 8 bytes around the text.
        let payload = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        assert!(serde_json::from_str::<SignalPayload>(&payload(65_536)).is_ok());
        assert!(serde_json::from_str::<SignalPayload>(&payload(65_537)).is_err());
    }
}
