//! Limits of a connection's work: a deadline, and an order to stop.
//!
//! SQLite checks every few microseconds. A writing statement is never interrupted, because that would roll back the
//! whole transaction, with writes of other mutations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use convoke_core::clock::Clock;

/// The limits of a connection's current work. Times are nanoseconds of the monotonic clock.
pub(crate) struct Interrupt {
    clock: Arc<dyn Clock>,
    /// Start of the current transaction; 0 = none is open.
    started: AtomicU64,
    deadline: AtomicU64,
    /// The `started` of the transaction to stop, so that a late order does not stop the next one.
    stopped: AtomicU64,
    writing: AtomicBool,
}

/// Reason why a transaction must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It exceeded its deadline.
    Deadline,
    /// It was ordered to stop, so that the WAL can be truncated.
    Ordered,
}

impl Interrupt {
    /// Creates the limits of an idle connection.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            started: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            stopped: AtomicU64::new(0),
            writing: AtomicBool::new(false),
        }
    }

    /// Starts a transaction with the time limit `limit`.
    pub(crate) fn begin(&self, limit: Duration) {
        self.begin_at(self.clock.monotonic(), limit);
    }

    /// Like [`Interrupt::begin`], with a known monotonic time.
    pub(crate) fn begin_at(&self, now: Duration, limit: Duration) {
        let now = nanos(now).max(1);
        self.deadline.store(now.saturating_add(nanos(limit)), Relaxed);
        self.started.store(now, Relaxed);
    }

    /// Ends the transaction.
    pub(crate) fn end(&self) {
        self.started.store(0, Relaxed);
        self.deadline.store(u64::MAX, Relaxed);
    }

    /// Returns the start of the open transaction; none if the connection is idle.
    pub(crate) fn open_since(&self) -> Option<u64> {
        match self.started.load(Relaxed) {
            0 => None,
            started => Some(started),
        }
    }

    /// Stops the transaction that started at `started`; does nothing if it has ended.
    pub(crate) fn stop(&self, started: u64) {
        self.stopped.store(started, Relaxed);
    }

    /// Returns the reason why the open transaction must stop, if it must.
    pub(crate) fn must_stop(&self) -> Option<Stop> {
        if self.ordered() { Some(Stop::Ordered) } else { self.is_late(self.now()).then_some(Stop::Deadline) }
    }

    /// Returns true if its deadline was before `now`.
    pub(crate) fn is_late(&self, now: Duration) -> bool {
        nanos(now) > self.deadline.load(Relaxed)
    }

    /// Returns true if the open transaction was ordered to stop; cheap enough for a check per row.
    pub(crate) fn ordered(&self) -> bool {
        let stopped = self.stopped.load(Relaxed);
        stopped != 0 && stopped == self.started.load(Relaxed)
    }

    /// Returns true if SQLite must interrupt the running statement.
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

    /// Returns the monotonic time.
    pub(crate) fn now(&self) -> Duration {
        self.clock.monotonic()
    }
}

/// Converts a duration to nanoseconds; 584 years are enough.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
