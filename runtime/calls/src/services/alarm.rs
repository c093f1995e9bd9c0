//! How code that asks for scheduled work wakes the scheduler, and nothing else about it.

use std::sync::atomic::{AtomicI64, Ordering};

use tokio::sync::Notify;

use convoke_core::clock::Millis;

/// Wakes the loop that runs scheduled work when there is something to do sooner than it thought.
pub(crate) struct Alarm {
    notify: Notify,
    /// Until when the loop sleeps; the greatest number while it looks around, so that whatever comes then wakes it.
    sleeps_until: AtomicI64,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { notify: Notify::new(), sleeps_until: AtomicI64::new(i64::MAX) }
    }
}

impl Alarm {
    /// Says that work for `run_at` was committed.
    pub(crate) fn wake(&self, run_at: Millis) {
        if run_at.0 < self.sleeps_until.load(Ordering::SeqCst) {
            self.notify.notify_one();
        }
    }

    /// The loop begins to look for work.
    pub(crate) fn looks(&self) {
        self.sleeps_until.store(i64::MAX, Ordering::SeqCst);
    }

    /// Waits until work for a time before `until` was committed.
    pub(crate) async fn woken_before(&self, until: Millis) {
        self.sleeps_until.store(until.0, Ordering::SeqCst);
        self.notify.notified().await;
    }
}
