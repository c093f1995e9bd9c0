//! The performance history of a runtime: in memory until a minute is over, then in the table.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::minutes::Minutes;
use super::recorder::{Ended, Recorder};
use crate::observe::{By, CallObserver, Called, CompletedCall};
use crate::registry::{PerFunction, Registered, Registry};
use convoke_core::clock::Clock;
use convoke_store::Database;

/// The calls of a runtime over time.
pub struct History {
    pub(super) registry: Arc<Registry>,
    pub(super) recorders: PerFunction<Recorder>,
    pub(super) minutes: Minutes,
    pub(super) database: Database,
    pub(super) clock: Arc<dyn Clock>,
    /// The number of this process.
    pub(super) boot: i64,
    /// Held while minutes are written: two concurrent writes would conflict.
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

    /// Records a call of a function.
    pub fn record(&self, function: &Registered, ended: Ended) {
        self.recorders[function].record(ended);
    }

    /// Returns each function's path and recorder.
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
