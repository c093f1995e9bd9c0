//! The alarm by which code that schedules work wakes the scheduler.

use std::sync::atomic::{AtomicI64, Ordering};

use tokio::sync::Notify;

use convoke_core::clock::Millis;

/// Wakes the scheduler's loop when there is work before its next planned run.
pub(crate) struct Alarm {
    notify: Notify,
    /// End of the loop's sleep; the maximum while it looks for work, so that any new work wakes it.
    sleeps_until: AtomicI64,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { notify: Notify::new(), sleeps_until: AtomicI64::new(i64::MAX) }
    }
}

impl Alarm {
    /// Signals the commit of work for `run_at`.
    pub(crate) fn wake(&self, run_at: Millis) {
        if run_at.0 < self.sleeps_until.load(Ordering::SeqCst) {
            self.notify.notify_one();
        }
    }

    /// Records that the loop looks for work.
    pub(crate) fn looks(&self) {
        self.sleeps_until.store(i64::MAX, Ordering::SeqCst);
    }

    /// Waits until work for a time before `until` is committed.
    pub(crate) async fn woken_before(&self, until: Millis) {
        self.sleeps_until.store(until.0, Ordering::SeqCst);
        self.notify.notified().await;
    }
}
