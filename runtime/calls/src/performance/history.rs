//! What a runtime keeps of performance: in memory until a minute is over, then in the table.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::minutes::{MINUTE, Minutes};
use super::recorder::{Ended, Recorder};
use super::stored;
use super::view::Performance;
use crate::observe::{By, CallObserver, Called, CompletedCall};
use crate::registry::{PerFunction, Registered, Registry};
use convoke_core::clock::{Clock, Millis};
use convoke_core::error::Result;
use convoke_store::{Database, Db};

/// The calls of a runtime over time.
pub struct History {
    pub(super) registry: Arc<Registry>,
    pub(super) recorders: PerFunction<Recorder>,
    pub(super) minutes: Minutes,
    pub(super) database: Database,
    pub(super) clock: Arc<dyn Clock>,
    /// The number of this process.
    pub(super) boot: i64,
    /// Held while minutes are written: two at once would write them in each other's way.
    pub(super) storing: tokio::sync::Mutex<()>,
}

impl History {
    pub(crate) fn new(registry: Arc<Registry>, database: Database, clock: Arc<dyn Clock>, boot: u32) -> Self {
        Self {
            recorders: registry.per_function(|_| Recorder::default()),
            registry,
            minutes: Minutes::default(),
            database,
            clock,
            boot: i64::from(boot),
            storing: tokio::sync::Mutex::default(),
        }
    }

    /// Counts a call of a function.
    pub fn record(&self, function: &Registered, ended: Ended) {
        self.recorders[function].record(ended);
    }

    /// What is asked of it, in a snapshot.
    pub fn at<'a>(&'a self, db: &'a Db) -> Performance<'a> {
        Performance::new(self, db)
    }

    /// Writes the figures of the minutes that are over into the table, and lets older ones grow coarser.
    ///
    /// # Errors
    /// A failure of the store; the next run goes on.
    pub async fn store(&self) -> Result<()> {
        let now = self.clock.now();
        stored::store(self, Millis(now.0.div_euclid(MINUTE) * MINUTE)).await
    }

    /// As [`History::store`], the present minute too: before the process ends.
    ///
    /// # Errors
    /// As [`History::store`].
    pub async fn store_all(&self) -> Result<()> {
        stored::store(self, Millis(i64::MAX)).await
    }

    /// Each function's path and recorder.
    pub(super) fn each(&self) -> impl Iterator<Item = (&Arc<str>, &Recorder)> {
        self.registry.all().map(|function| (&function.path, &self.recorders[function]))
    }
}

impl CallObserver for History {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        if let Called::Function(function) = call.called {
            let (failed, scheduled) = (call.error.is_some(), call.by == By::Scheduler);
            self.record(function, Ended { at: call.at, latency: call.elapsed, failed, scheduled });
        }
        None
    }
}
