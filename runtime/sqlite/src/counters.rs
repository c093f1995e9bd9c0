//! What this engine counts: what every engine does, and its log.

use std::ops::Deref;
use std::sync::atomic::AtomicU64;

/// The counters of a database.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    common: convoke_store::stats::Counters,
    /// Bytes of the write-ahead log that are in use.
    pub wal_bytes: AtomicU64,
    /// Checkpoints run.
    pub checkpoints: AtomicU64,
    /// Readers told to stop so that the log could shrink.
    pub readers_stopped: AtomicU64,
}

impl Deref for Counters {
    type Target = convoke_store::stats::Counters;
    fn deref(&self) -> &Self::Target {
        &self.common
    }
}
