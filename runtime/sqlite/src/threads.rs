//! State shared by the engine's handle, its writer and its watchdog.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::connection::{Reads, nanos};
use super::counters::Counters;
use super::queue::Queue;
use convoke_store::gate::Gate;

/// State shared by the threads of one store.
pub(crate) struct Shared {
    /// Decides which calls are served.
    pub gate: Arc<Gate>,
    /// The queue of the writer.
    pub queue: Queue,
    /// The running mutation.
    pub current: Current,
    /// The counters.
    pub counters: Arc<Counters>,
    /// Detects if the disk serves reads.
    pub reads: Arc<Reads>,
    /// Most mutations per commit.
    pub batch_max: usize,
    /// Longest duration of a batch.
    pub batch_age_max: Duration,
    /// Time limit of one mutation.
    pub mutation_timeout: Duration,
}

/// The running mutation, for the watchdog.
#[derive(Default)]
pub(crate) struct Current {
    /// Start in nanoseconds of the monotonic clock, at least 1; 0 = none runs.
    since: AtomicU64,
    name: Mutex<String>,
}

impl Current {
    /// Records the start of a mutation.
    pub(crate) fn begin(&self, name: &str, now: Duration) {
        let mut current = self.name.lock();
        current.clear();
        current.push_str(name);
        self.since.store(nanos(now).max(1), Ordering::Release);
    }

    /// Records the end of a mutation.
    pub(crate) fn end(&self) {
        self.since.store(0, Ordering::Release);
    }

    /// Returns the name of the running mutation and its duration.
    pub(crate) fn running(&self, now: Duration) -> Option<(String, Duration)> {
        let since = self.since.load(Ordering::Acquire);
        (since != 0).then(|| (self.name.lock().clone(), now.saturating_sub(Duration::from_nanos(since))))
    }
}
