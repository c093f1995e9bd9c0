//! Counts of connections, rejections and bytes, for the metrics.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::body::BodyMemory;

/// The counts of the listeners, for the metrics. All but the current connections and bytes only increase.
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
    /// Response bytes in the system's send buffers at the last sample.
    pub(crate) unread_system_bytes: AtomicUsize,
    pub(crate) body_memory: OnceLock<Arc<BodyMemory>>,
}

impl Traffic {
    /// Open connections, including closed ones whose calls still run.
    pub fn connections_open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Accepted connections.
    pub fn connections_accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections that were rejected because their address had too many connections or too many unread bytes.
    pub fn connections_turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// TLS handshakes that failed or timed out.
    pub fn handshake_failures(&self) -> u64 {
        self.handshake_failures.load(Ordering::Relaxed)
    }

    /// Requests that the listener rejected, so that they did not reach the handler.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Connections that were closed because their client read too little of a response.
    pub fn connections_stalled(&self) -> u64 {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Connections that were closed because they were the slowest when the memory for responses was exhausted.
    pub fn connections_given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Connections that were closed because their address, or all addresses together, had too many unread bytes.
    pub fn connections_closed_unread(&self) -> u64 {
        self.unread_closed.load(Ordering::Relaxed)
    }

    /// Response bytes in the system's send buffers at the last sample.
    pub fn unread_system_bytes(&self) -> usize {
        self.unread_system_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that request bodies use or have reserved.
    pub fn request_bytes(&self) -> usize {
        self.body_memory.get().map_or(0, |memory| memory.bytes())
    }

    /// Request bodies that had to wait for memory.
    pub fn request_waits(&self) -> u64 {
        self.body_memory.get().map_or(0, |memory| memory.waits())
    }
}
