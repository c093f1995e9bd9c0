//! The lane of one endpoint: its due deliveries, a few at a time, until none is due.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{self, JoinSet};

use super::deliverer::{Deliverer, Turn};
use super::delivery::Delivery;
use super::endpoint::Endpoint;
use convoke_core::error::Result;
use convoke_core::id::Id;

/// Pause after the store failed.
const PAUSE: Duration = Duration::from_millis(500);

/// Sends the due deliveries of an endpoint, and waits for their results. Starts no more after `stop` is set.
pub(super) async fn run(deliverer: Arc<Deliverer>, endpoint: Id<Endpoint>, stop: watch::Receiver<bool>) {
    let mut tries = Tries::default();
    let tries_max = deliverer.settings().requests_per_endpoint_max.max(1) as usize;
    loop {
        let started = match *stop.borrow() || tries.running.len() >= tries_max {
            true => Ok(()),
            false => tries.start(&deliverer, endpoint, tries_max).await,
        };
        if let Err(error) = started {
            tracing::warn!(target: "convoke::webhook", endpoint = %endpoint, "webhooks are delayed: {}", error.chain());
            tokio::time::sleep(PAUSE).await;
        }
        if !tries.ended().await {
            return;
        }
    }
}

/// The running tries of a lane.
#[derive(Default)]
struct Tries {
    tasks: JoinSet<()>,
    running: HashMap<task::Id, Id<Delivery>>,
}

impl Tries {
    async fn start(&mut self, deliverer: &Arc<Deliverer>, endpoint: Id<Endpoint>, tries_max: usize) -> Result<()> {
        // The rows of running tries are still pending and may come first.
        match deliverer.turn(endpoint, tries_max + self.running.len()).await? {
            Turn::Send(endpoint, deliveries) => {
                let endpoint = Arc::new(*endpoint);
                for delivery in deliveries {
                    let is_running = self.running.values().any(|running| *running == delivery.id());
                    if is_running || self.running.len() >= tries_max {
                        continue;
                    }
                    let (deliverer, endpoint, id) = (deliverer.clone(), endpoint.clone(), delivery.id());
                    let task = self.tasks.spawn(async move {
                        if let Err(error) = deliverer.attempt(&endpoint, &delivery).await {
                            tracing::warn!(target: "convoke::webhook", delivery = %id, "a webhook is delayed: {}", error.chain());
                            tokio::time::sleep(PAUSE).await;
                        }
                    });
                    self.running.insert(task.id(), id);
                }
            }
            Turn::Removed => deliverer.drop_pending(endpoint).await?,
            Turn::Nothing => {}
        }
        Ok(())
    }

    /// Waits for the end of one try. Returns false if none is running.
    async fn ended(&mut self) -> bool {
        let Some(ended) = self.tasks.join_next_with_id().await else { return false };
        let task = ended.as_ref().map_or_else(task::JoinError::id, |(task, ())| *task);
        self.running.remove(&task);
        true
    }
}
