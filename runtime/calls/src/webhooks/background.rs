//! The loop of a server: it sleeps until a delivery is due or is committed, and runs one lane per endpoint, so that a
//! slow endpoint does not delay the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{self, JoinSet};

use super::deliverer::Deliverer;
use super::endpoint::Endpoint;
use super::lane;
use convoke_core::clock::Millis;
use convoke_core::id::Id;

/// Longest sleep: the clock may change, and another node may commit deliveries.
const NAP: Duration = Duration::from_secs(5);
/// Pause after the store failed.
const PAUSE: Duration = Duration::from_millis(500);
/// Shortest time between two searches, which keeps their cost low while many lanes end.
const LOOK_MIN: Duration = Duration::from_millis(10);

/// The running lanes.
#[derive(Default)]
struct Lanes {
    tasks: JoinSet<()>,
    endpoints: HashMap<task::Id, Id<Endpoint>>,
}

impl Lanes {
    fn start(&mut self, deliverer: &Arc<Deliverer>, endpoint: Id<Endpoint>, stop: &watch::Receiver<bool>) {
        let lanes_max = deliverer.settings().endpoints_served_max.max(1) as usize;
        let is_running = self.endpoints.values().any(|running| *running == endpoint);
        if !is_running && self.endpoints.len() < lanes_max {
            let task = self.tasks.spawn(lane::run(deliverer.clone(), endpoint, stop.clone()));
            self.endpoints.insert(task.id(), endpoint);
        }
    }

    /// Waits for the end of one lane, and removes all lanes that have ended.
    async fn ended(&mut self) {
        let mut next = self.tasks.join_next_with_id().await;
        while let Some(ended) = next {
            let task = ended.as_ref().map_or_else(task::JoinError::id, |(task, ())| *task);
            self.endpoints.remove(&task);
            next = self.tasks.try_join_next_with_id();
        }
    }
}

/// Delivers webhooks until `stop` is set. Then waits for running tries, at most for the drain timeout. A delivery that
/// is cut off stays pending.
pub(crate) async fn run(deliverer: Arc<Deliverer>, mut stop: watch::Receiver<bool>) {
    let mut lanes = Lanes::default();
    while !*stop.borrow_and_update() {
        let alarm = deliverer.services().deliveries_alarm();
        alarm.looks();
        let now = deliverer.services().clock().now();
        let until = match deliverer.look(now).await {
            Ok(due) => {
                due.endpoints.into_iter().for_each(|endpoint| lanes.start(&deliverer, endpoint, &stop));
                due.next.unwrap_or(Millis(i64::MAX)).min(now + NAP)
            }
            // The start of a database that is closed for a migration takes this path.
            Err(error) => {
                tracing::debug!(target: "convoke::webhook", "webhooks are delayed: {}", error.chain());
                now + PAUSE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(until.since(now)) => {}
            () = alarm.woken_before(until) => {}
            () = lanes.ended(), if !lanes.endpoints.is_empty() => {}
            _ = stop.changed() => {}
        }
        tokio::time::sleep(LOOK_MIN).await;
    }
    let drain = async {
        while !lanes.endpoints.is_empty() {
            lanes.ended().await;
        }
    };
    let _ = tokio::time::timeout(deliverer.services().limits().drain_timeout, drain).await;
}
