//! The scheduler of a runtime.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use super::clock::Looked;
use super::cron::Crons;
use crate::call::Dispatcher;
use crate::services::Services;
use convoke_core::clock::Millis;

/// Runs scheduled work.
pub struct Scheduler {
    pub(super) dispatcher: Arc<Dispatcher>,
    /// The crons of the program, parsed.
    pub(super) crons: Crons,
    /// Whether what precedes the first run was done.
    pub(super) prepared: tokio::sync::OnceCell<()>,
    /// The last look at the clock.
    pub(super) looked: Mutex<Looked>,
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
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, crons: Crons, newest: Millis) -> Self {
        let looked = Mutex::new(Looked::first(&**dispatcher.services().clock(), newest));
        Self { dispatcher, crons, prepared: tokio::sync::OnceCell::new(), looked, stats: Stats::default() }
    }

    pub(super) fn services(&self) -> &Services {
        self.dispatcher.services()
    }
}
