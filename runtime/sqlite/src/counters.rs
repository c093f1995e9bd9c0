//! Counters of this engine: those of every engine, and those of the log.

use std::ops::Deref;
use std::sync::atomic::AtomicU64;

/// The counters of a database.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    common: convoke_store::stats::Counters,
    /// Bytes of the write-ahead log in use.
    pub wal_bytes: AtomicU64,
    /// Checkpoints run.
    pub checkpoints: AtomicU64,
    /// Readers interrupted so that the log can be truncated.
    pub readers_stopped: AtomicU64,
}

impl Deref for Counters {
    type Target = convoke_store::stats::Counters;
    fn deref(&self) -> &Self::Target {
        &self.common
    }
}
