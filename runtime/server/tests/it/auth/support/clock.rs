//! A clock that a test moves, both its time of day and its monotonic time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use convoke::{Clock, Millis};

/// Stands still until it is moved.
pub(crate) struct TestClock {
    start: i64,
    now: AtomicI64,
}

impl TestClock {
    /// A clock that shows this second.
    pub(crate) fn at(seconds: i64) -> Self {
        Self { start: seconds * 1000, now: AtomicI64::new(seconds * 1000) }
    }

    /// Moves it on.
    pub(crate) fn advance(&self, seconds: i64) {
        self.now.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        Millis(self.now.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis((self.now.load(Ordering::SeqCst) - self.start).unsigned_abs())
    }
}
