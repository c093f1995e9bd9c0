//! Counts of connections, rejections and bytes, for the metrics.

use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};

use super::body::BodyMemory;

/// The counts of the listeners, for the metrics. All but the current connections and bytes only increase.
#[derive(Default)]
pub struct Traffic {
    /// Open connections, including closed ones whose calls still run.
    pub open: AtomicU64,
    /// Accepted connections.
    pub accepted: AtomicU64,
    /// Connections that were rejected because their address had too many connections or too many unread bytes.
    pub turned_away: AtomicU64,
    /// TLS handshakes that failed or timed out.
    pub handshake_failures: AtomicU64,
    /// Requests that the listener rejected, so that they did not reach the handler.
    pub refusals: AtomicU64,
    /// Connections that were closed because their client read too little of a response.
    pub stalled: AtomicU64,
    /// Connections that were closed because they were the slowest when the memory for responses was exhausted.
    pub given_up: AtomicU64,
    /// Connections that were closed because their address, or all addresses together, had too many unread bytes.
    pub unread_closed: AtomicU64,
    /// Response bytes in the system's send buffers at the last sample.
    pub unread_system_bytes: AtomicUsize,
    pub(crate) body_memory: OnceLock<Arc<BodyMemory>>,
}

impl Traffic {
    /// Bytes that request bodies use or have reserved.
    pub fn request_bytes(&self) -> usize {
        self.body_memory.get().map_or(0, |memory| memory.bytes())
    }

    /// Request bodies that had to wait for memory.
    pub fn request_waits(&self) -> u64 {
        self.body_memory.get().map_or(0, |memory| memory.waits())
    }
}
