//! What the engine's handle, its writer and its watchdog share: what waits, what runs, what is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::connection::{Reads, nanos};
use super::counters::Counters;
use super::queue::Queue;
use convoke_store::gate::Gate;

/// Shared by the threads of one store.
pub(crate) struct Shared {
    /// Whether it is open.
    pub gate: Arc<Gate>,
    /// What waits for the writer.
    pub queue: Queue,
    /// The mutation that runs now.
    pub current: Current,
    /// The counters.
    pub counters: Arc<Counters>,
    /// Whether the disk answers reads.
    pub reads: Arc<Reads>,
    /// Mutations of one commit.
    pub batch_max: usize,
    /// How long a batch may grow.
    pub batch_age_max: Duration,
    /// One mutation.
    pub mutation_timeout: Duration,
}

/// The mutation that runs now, for the watchdog.
#[derive(Default)]
pub(crate) struct Current {
    /// Nanoseconds of the monotonic clock, at least 1; 0 = none runs.
    since: AtomicU64,
    name: Mutex<String>,
}

impl Current {
    /// One begins.
    pub(crate) fn begin(&self, name: &str, now: Duration) {
        let mut current = self.name.lock();
        current.clear();
        current.push_str(name);
        self.since.store(nanos(now).max(1), Ordering::Release);
    }

    /// It returned.
    pub(crate) fn end(&self) {
        self.since.store(0, Ordering::Release);
    }

    /// What runs, and for how long.
    pub(crate) fn running(&self, now: Duration) -> Option<(String, Duration)> {
        let since = self.since.load(Ordering::Acquire);
        (since != 0).then(|| (self.name.lock().clone(), now.saturating_sub(Duration::from_nanos(since))))
    }
}
