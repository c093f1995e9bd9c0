//! The scheduler of a runtime.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;

use super::clock::ClockReading;
use super::cron::Crons;
use super::handover::{Parked, Reserved};
use crate::call::Dispatcher;
use crate::rows::run::RunState;
use crate::services::Services;
use crate::workflow::advance::Advancer;
use crate::workflow::definition::Workflows;
use crate::workflow::runs::Runs;
use convoke_core::clock::Millis;
use convoke_core::error::Result;

/// Runs scheduled work.
pub struct Scheduler {
    pub(super) dispatcher: Arc<Dispatcher>,
    /// The crons of the program, parsed.
    pub(super) crons: Crons,
    /// The workflows of the program.
    pub(super) runs: Advancer,
    /// The jobs that follow running ones.
    pub(super) reserved: Reserved,
    /// The code of runs whose next job waits for the loop.
    pub(super) parked: Parked,
    /// Number of blocked runs, as counted last.
    blocked_runs: AtomicU64,
    /// Set when the first run was prepared.
    pub(super) prepared: tokio::sync::OnceCell<()>,
    /// The last reading of the clock.
    pub(super) looked: Mutex<ClockReading>,
    /// Counters of attempts.
    pub stats: Stats,
}

/// Counters of attempts that failed. Attempts that ran are counted with their functions.
#[derive(Default)]
pub struct Stats {
    /// Failed attempts that will be retried.
    pub again: AtomicU64,
    /// Jobs that failed finally.
    pub failed: AtomicU64,
    /// Attempts without room, or that the store rejected.
    pub postponed: AtomicU64,
}

impl Scheduler {
    /// Creates the scheduler. `newest` is the time of the newest row of an earlier process.
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, crons: Crons, workflows: Workflows, newest: Millis) -> Self {
        let runs = Advancer { services: dispatcher.services().clone(), workflows: Arc::new(workflows) };
        let looked = Mutex::new(ClockReading::first(&**dispatcher.services().clock(), newest));
        Self {
            dispatcher,
            crons,
            runs,
            reserved: Reserved::default(),
            parked: Parked::default(),
            blocked_runs: AtomicU64::new(0),
            prepared: tokio::sync::OnceCell::new(),
            looked,
            stats: Stats::default(),
        }
    }

    pub(crate) async fn count_blocked_runs(&self) -> Result<()> {
        if !self.workflows().is_empty() {
            let blocked = Runs(self.services()).count(RunState::Blocked).await?;
            self.blocked_runs.store(blocked, Relaxed);
        }
        Ok(())
    }

    /// Returns the number of blocked runs, at most some seconds old.
    pub fn blocked_runs(&self) -> u64 {
        self.blocked_runs.load(Relaxed)
    }

    /// Returns the workflows of the program.
    pub fn workflows(&self) -> &Workflows {
        &self.runs.workflows
    }

    pub(super) fn services(&self) -> &Services {
        self.dispatcher.services()
    }
}
