//! What the store's handle, its writer and its watchdog share: whether it is open, what waits, what runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::engine::Access;
use super::figures::Figures;
use super::sqlite::guard::nanos;
use super::sqlite::queue::Queue;

/// Shared by the threads of one store.
pub struct Shared {
    /// Whether it is open.
    pub gate: Gate,
    /// What waits for the writer.
    pub queue: Queue,
    /// The mutation that runs now.
    pub current: Current,
    /// The counters.
    pub figures: Arc<Figures>,
    /// Mutations of one commit.
    pub batch_max: usize,
    /// How long a batch may grow.
    pub batch_age_max: Duration,
    /// One mutation.
    pub mutation_timeout: Duration,
}

/// Whether the store serves, and why not.
#[derive(Default)]
pub struct Gate {
    state: AtomicU8,
    reasons: Mutex<Reasons>,
}

#[derive(Default)]
struct Reasons {
    /// The schema does not fit: nothing is served but the operator.
    schema: Option<String>,
    /// A commit failed: writes wait for the check.
    writes: Option<String>,
    shut: bool,
}

const OPEN: u8 = 0;
const WRITES_CLOSED: u8 = 1;
const SCHEMA_CLOSED: u8 = 2;
const SHUT: u8 = 3;

impl Gate {
    /// Refuses writes.
    pub fn close_writes(&self, reason: &str) {
        self.change(|reasons| reasons.writes = Some(reason.to_owned()));
    }

    /// Takes writes again.
    pub fn reopen_writes(&self) {
        self.change(|reasons| reasons.writes = None);
    }

    /// Serves the operator only, for this difference between the schema and the database; `None` = everybody.
    pub fn set_schema(&self, difference: Option<String>) {
        self.change(|reasons| reasons.schema = difference);
    }

    /// The difference of [`Gate::set_schema`].
    pub fn difference(&self) -> Option<String> {
        self.reasons.lock().schema.clone()
    }

    /// Serves nobody any more.
    pub fn shut(&self) {
        self.change(|reasons| reasons.shut = true);
    }

    fn change(&self, change: impl FnOnce(&mut Reasons)) {
        let mut reasons = self.reasons.lock();
        change(&mut reasons);
        let state = match &*reasons {
            Reasons { shut: true, .. } => SHUT,
            Reasons { writes: Some(_), .. } => WRITES_CLOSED,
            Reasons { schema: Some(_), .. } => SCHEMA_CLOSED,
            _ => OPEN,
        };
        self.state.store(state, Ordering::Release);
    }

    /// Why the store is closed, if it is: to writes, or to everything.
    pub fn closed(&self) -> Option<String> {
        if self.state.load(Ordering::Acquire) == OPEN {
            return None;
        }
        let reasons = self.reasons.lock();
        if reasons.shut {
            return Some("it is shutting down".to_owned());
        }
        reasons.writes.clone().or_else(|| reasons.schema.clone())
    }

    /// Why a read is refused, if it is.
    pub fn refuses_read(&self, access: Access) -> Option<String> {
        if self.state.load(Ordering::Acquire) == OPEN {
            return None;
        }
        let reasons = self.reasons.lock();
        match (&*reasons, access) {
            (Reasons { shut: true, .. }, _) => Some("it is shutting down".to_owned()),
            (Reasons { schema, .. }, Access::Everyone) => schema.clone(),
            (_, Access::Admin) => None,
        }
    }

    /// Why a write is refused, if it is.
    pub fn refuses_write(&self, access: Access) -> Option<String> {
        match (self.state.load(Ordering::Acquire), access) {
            (OPEN, _) | (SCHEMA_CLOSED, Access::Admin) => None,
            _ => self.closed(),
        }
    }
}

/// The mutation that runs now, for the watchdog.
#[derive(Default)]
pub struct Current {
    /// Nanoseconds of the monotonic clock, at least 1; 0 = none runs.
    since: AtomicU64,
    name: Mutex<String>,
}

impl Current {
    /// One begins.
    pub fn begin(&self, name: &str, now: Duration) {
        let mut current = self.name.lock();
        current.clear();
        current.push_str(name);
        self.since.store(nanos(now).max(1), Ordering::Release);
    }

    /// It returned.
    pub fn end(&self) {
        self.since.store(0, Ordering::Release);
    }

    /// What runs, and for how long.
    pub fn running(&self, now: Duration) -> Option<(String, Duration)> {
        let since = self.since.load(Ordering::Acquire);
        (since != 0).then(|| (self.name.lock().clone(), now.saturating_sub(Duration::from_nanos(since))))
    }
}
