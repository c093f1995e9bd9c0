//! Scheduled work: rows in the same database, written in the transaction of the mutation that asked.
//!
//! A scheduled mutation has its effect exactly once: the row goes in the transaction that has the effect. A scheduled
//! action starts at most once unless it declares tries. What fails backs off, and after its tries it stays visible. In
//! reading order: the rows, how functions ask for work, expressions of crons, how one job runs, which are due, and the
//! loop that runs them in a server.

pub mod job;
pub mod schedule;
pub mod cron;
pub(crate) mod set_back;
pub(crate) mod run;
pub mod due;
pub(crate) mod background;
pub mod jobs;

pub use job::{Cron, Job, JobKind, JobState};
pub use jobs::Jobs;
pub use schedule::When;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use crate::call::Dispatcher;
use crate::services::Services;
use convoke_core::clock::Millis;
use set_back::Looked;

/// Runs scheduled work.
pub struct Scheduler {
    dispatcher: Arc<Dispatcher>,
    /// The crons of the program, parsed.
    crons: cron::Crons,
    /// Whether what precedes the first run was done.
    prepared: tokio::sync::OnceCell<()>,
    /// The last look at the clock.
    looked: Mutex<Looked>,
    /// What became of attempts.
    pub stats: Stats,
}

/// What became of attempts that did not end well. Those that ran are counted with their functions.
#[derive(Default)]
pub struct Stats {
    /// Attempts that failed and will be made again.
    pub again: AtomicU64,
    /// Jobs that failed for good.
    pub failed: AtomicU64,
    /// Attempts for which there was no room, or which the store refused.
    pub postponed: AtomicU64,
}

impl Scheduler {
    /// `newest` is the time of the newest row that a former process left.
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, crons: cron::Crons, newest: Millis) -> Self {
        let looked = Mutex::new(Looked::first(&**dispatcher.services().clock(), newest));
        Self { dispatcher, crons, prepared: tokio::sync::OnceCell::new(), looked, stats: Stats::default() }
    }

    fn services(&self) -> &Services {
        self.dispatcher.services()
    }
}
