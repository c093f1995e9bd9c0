//! The steps of a run in a row: one task runs a job, and then the jobs that are handed over to it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::handover::Handover;
use super::run::{AttemptEnd, Chain};
use super::state::Scheduler;
use crate::rows::job::Job;
use crate::workflow::advance::Next;
use convoke_store::Doc;

/// Pause after the store rejected work.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

impl Scheduler {
    /// Runs a job, and then the jobs that follow it in its run.
    pub(super) async fn run_chain(self: &Arc<Self>, job: Doc<Job>) {
        let scheduler = Arc::clone(self);
        let run = move |next, handover| {
            let scheduler = Arc::clone(&scheduler);
            async move { scheduler.run_or_pause(next, &handover).await }.boxed()
        };
        let (handover, handed) =
            Handover::new(run, (self.reserved.clone(), self.parked.clone()), !self.has_other_nodes());
        let mut running = FuturesUnordered::new();
        let suspended = self.parked.take(job.id());
        let first = Next { job, suspended };
        running.push(async move { self.run_or_pause(first, &handover).await }.boxed());
        while running.next().await.is_some() {
            running.extend(handed.take());
        }
    }

    /// Runs a job. After a failure of the store, waits before the slot is used again.
    async fn run_or_pause(&self, next: Next, handover: &Handover) {
        let Next { job, suspended } = next;
        match self.run(&job, Some(Chain { handover, suspended })).await {
            Ok(AttemptEnd::Ran) => {}
            Ok(AttemptEnd::NoRoom) => tokio::time::sleep(PAUSE).await,
            Err(error) => {
                tracing::error!(target: "convoke::job", job = %job.id(), function = &*job.path, "{}", error.chain());
                self.release(&job).await;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
