//! What bounds one connection's work: a deadline, and the order to stop.
//!
//! SQLite asks every few microseconds whether to go on. A writing statement is never stopped: interrupting one rolls
//! back the whole transaction, with the work of others in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use convoke_core::clock::Clock;

/// The bounds of what a connection is doing now. Times are nanoseconds of the monotonic clock.
pub(crate) struct Interrupt {
    clock: Arc<dyn Clock>,
    /// When the present transaction began; 0 = none is open.
    started: AtomicU64,
    deadline: AtomicU64,
    /// The `started` of the transaction that is to stop: so that an order given too late stops nobody else.
    stopped: AtomicU64,
    writing: AtomicBool,
}

/// Why a transaction has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It ran past its deadline.
    Deadline,
    /// It was told to, so that the WAL can shrink.
    Ordered,
}

impl Interrupt {
    /// The bounds of an idle connection.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            started: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            stopped: AtomicU64::new(0),
            writing: AtomicBool::new(false),
        }
    }

    /// A transaction begins that may take `limit`.
    pub(crate) fn begin(&self, limit: Duration) {
        self.begin_at(self.clock.monotonic(), limit);
    }

    /// As [`Interrupt::begin`], where the monotonic clock was read already.
    pub(crate) fn begin_at(&self, now: Duration, limit: Duration) {
        let now = nanos(now).max(1);
        self.deadline.store(now.saturating_add(nanos(limit)), Relaxed);
        self.started.store(now, Relaxed);
    }

    /// The transaction is over.
    pub(crate) fn end(&self) {
        self.started.store(0, Relaxed);
        self.deadline.store(u64::MAX, Relaxed);
    }

    /// When the open transaction began; none if the connection is idle.
    pub(crate) fn open_since(&self) -> Option<u64> {
        match self.started.load(Relaxed) {
            0 => None,
            started => Some(started),
        }
    }

    /// Tells the transaction that began at `started` to stop; nothing happens if it is over.
    pub(crate) fn stop(&self, started: u64) {
        self.stopped.store(started, Relaxed);
    }

    /// Why the open transaction has to stop, if it has to.
    pub(crate) fn must_stop(&self) -> Option<Stop> {
        if self.ordered() { Some(Stop::Ordered) } else { self.is_late(self.now()).then_some(Stop::Deadline) }
    }

    /// Whether its time was over at `now`.
    pub(crate) fn is_late(&self, now: Duration) -> bool {
        nanos(now) > self.deadline.load(Relaxed)
    }

    /// Whether the open transaction was told to stop: cheap enough to ask for every row.
    pub(crate) fn ordered(&self) -> bool {
        let stopped = self.stopped.load(Relaxed);
        stopped != 0 && stopped == self.started.load(Relaxed)
    }

    /// What SQLite asks while a statement runs.
    pub(crate) fn interrupts(&self) -> bool {
        !self.writing.load(Relaxed) && self.must_stop().is_some()
    }

    /// Runs a statement that must not be interrupted.
    pub(crate) fn uninterrupted<R>(&self, statement: impl FnOnce() -> R) -> R {
        self.writing.store(true, Relaxed);
        let result = statement();
        self.writing.store(false, Relaxed);
        result
    }

    /// Monotonic time.
    pub(crate) fn now(&self) -> Duration {
        self.clock.monotonic()
    }
}

/// A duration as nanoseconds; 584 years are enough.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
