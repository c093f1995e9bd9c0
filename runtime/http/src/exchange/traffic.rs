//! Counts of connections, refusals and bytes, for the metrics.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::body::Room;

/// Counts of what the listeners see, for the metrics. All but the connections and bytes of now only ever grow.
#[derive(Default)]
pub struct Traffic {
    pub(crate) open: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) turned_away: AtomicU64,
    pub(crate) handshake_failures: AtomicU64,
    pub(crate) refusals: AtomicU64,
    pub(crate) stalled: AtomicU64,
    pub(crate) given_up: AtomicU64,
    pub(crate) unread_closed: AtomicU64,
    /// Bytes of responses that the system held at the last look.
    pub(crate) unread_system_bytes: AtomicUsize,
    pub(crate) room: OnceLock<Arc<Room>>,
}

impl Traffic {
    /// Connections open now, counting those whose calls have outlived them.
    pub fn connections_open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Connections accepted.
    pub fn connections_accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections closed at once because their address had too many, or too many unread bytes.
    pub fn connections_turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// TLS handshakes that failed or took too long.
    pub fn handshake_failures(&self) -> u64 {
        self.handshake_failures.load(Ordering::Relaxed)
    }

    /// Requests that the listener answered with an error, so that the handler never heard of them.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Connections that were closed because their client took nothing of a response.
    pub fn connections_stalled(&self) -> u64 {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Connections that were closed because they were the slowest when memory for answers ran out.
    pub fn connections_given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Connections that were closed because their address, or all addresses together, had too many unread bytes.
    pub fn connections_closed_unread(&self) -> u64 {
        self.unread_closed.load(Ordering::Relaxed)
    }

    /// Bytes of responses that the system held for clients at the last look.
    pub fn unread_system_bytes(&self) -> usize {
        self.unread_system_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that request bodies take now, or are about to.
    pub fn request_bytes(&self) -> usize {
        self.room.get().map_or(0, |room| room.bytes())
    }

    /// Request bodies that had to wait for room.
    pub fn request_waits(&self) -> u64 {
        self.room.get().map_or(0, |room| room.waits())
    }
}
