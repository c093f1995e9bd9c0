//! Media sessions: their states, the quality of their connections, and their signals.

use convoke::{JsonObject, value};

/// The state of a media session.
#[value(name = "SessionState")]
pub enum SessionState {
    /// Connecting or reconnecting.
    Connecting,
    /// Connected.
    Connected,
    /// Interrupted.
    Disconnected,
    /// The connection failed.
    Failed,
    /// Closed. Final, unless a new attempt starts with the same id.
    Closed,
}

impl SessionState {
    /// The states of open sessions.
    pub const OPEN: [SessionState; 3] = [SessionState::Connecting, SessionState::Connected, SessionState::Disconnected];

    /// Returns true if the session is open.
    pub fn is_open(self) -> bool {
        match self {
            SessionState::Connecting | SessionState::Connected | SessionState::Disconnected => true,
            SessionState::Failed | SessionState::Closed => false,
        }
    }
}

/// The quality of a connection, best first.
#[value(name = "ConnectionQuality")]
pub enum ConnectionQuality {
    /// No noticeable loss.
    Excellent,
    /// Small losses that users do not notice.
    Good,
    /// Losses that users notice.
    Fair,
    /// Barely usable.
    Poor,
}

/// The kind of a signal.
#[value(name = "SignalKind")]
pub enum SignalKind {
    /// A session description: an offer or an answer.
    Sdp,
    /// An ICE candidate.
    Ice,
}

/// The content of a signal: any object of at most 64 KiB. The server checks its keys and forwards it.
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
