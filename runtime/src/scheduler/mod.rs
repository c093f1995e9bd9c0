//! Scheduled work: rows in the same database, written in the transaction of the mutation that asked.
//!
//! A scheduled mutation has its effect exactly once: the row goes in the transaction that has the effect. A scheduled
//! action starts at most once unless it declares tries. What fails backs off, and after its tries it stays visible. In
//! reading order: the rows, how functions ask for work, expressions of crons, how one job runs, which are due, and the
//! loop that runs them in a server.

pub mod job;
pub mod schedule;
pub mod cron;
pub(crate) mod run;
pub(crate) mod due;
pub(crate) mod background;
pub mod jobs;

pub use job::{Cron, Job, JobKind, JobState};
pub use jobs::Jobs;
pub use schedule::When;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::clock::Millis;

/// How the loop of a server learns that there is something to do sooner than it thought.
pub(crate) struct Scheduler {
    notify: Notify,
    /// Until when the loop sleeps; the greatest number while it looks around, so that whatever comes then wakes it.
    sleeps_until: AtomicI64,
    /// The crons of the program, parsed.
    pub(crate) crons: cron::Crons,
    /// Whether what precedes the first run was done.
    pub(crate) prepared: tokio::sync::OnceCell<()>,
    pub(crate) figures: Figures,
}

/// What became of attempts that did not end well. Those that ran are counted with their functions.
#[derive(Default)]
pub(crate) struct Figures {
    /// Attempts that failed and will be made again.
    pub(crate) again: AtomicU64,
    /// Jobs that failed for good.
    pub(crate) failed: AtomicU64,
    /// Attempts for which there was no room, or which the store refused.
    pub(crate) postponed: AtomicU64,
}

impl Scheduler {
    pub(crate) fn new(crons: cron::Crons) -> Self {
        Self {
            notify: Notify::new(),
            sleeps_until: AtomicI64::new(i64::MAX),
            crons,
            prepared: tokio::sync::OnceCell::new(),
            figures: Figures::default(),
        }
    }

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
