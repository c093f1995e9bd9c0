//! The background work of a server: scheduled work, metrics, retention.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

#[cfg(feature = "otel")]
use crate::batches::send_until_stopped;
use crate::recent_calls;
use crate::runtime::Runtime;
use crate::scheduler;
use crate::transfers;
#[cfg(feature = "outbound")]
use crate::webhooks;
use convoke_core::error::Error;

/// Interval between two writes of metrics.
pub const STATS: Duration = Duration::from_secs(60);
/// Interval between two counts of blocked runs.
const BLOCKED_RUNS: Duration = Duration::from_secs(10);
/// Interval between two removals of expired rows.
pub const RETENTION: Duration = Duration::from_secs(60 * 60);

/// The background work of a runtime. Dropping it cuts the work off; [`Background::stop`] ends it in order.
#[must_use = "the background work ends when this is dropped"]
pub struct Background {
    runtime: Runtime,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Runtime {
    /// Starts scheduled work, the recording of metrics and the removal of expired rows. Must be called in a tokio
    /// runtime.
    pub fn start_background(&self) -> Background {
        let stop = watch::Sender::new(false);
        let mut tasks = JoinSet::new();
        if let Some(streams) = self.log_streams() {
            streams.start(&mut tasks, &stop);
        }
        #[cfg(feature = "otel")]
        if let Some(telemetry) = self.telemetry() {
            for sender in telemetry.senders() {
                tasks.spawn(send_until_stopped(sender, stop.subscribe()));
            }
        }
        let mut background = Background { runtime: self.clone(), stop, tasks };
        let runtime = self.clone();
        background.every(recent_calls::WRITE, move || {
            let calls = runtime.recent_calls().clone();
            async move {
                match calls.is_due() {
                    true => tokio::task::spawn_blocking(move || calls.write()).await.map_err(Error::internal),
                    false => Ok(()),
                }
            }
        });
        // Jobs, webhooks and expired rows are the work of the server that a follower follows.
        if !self.store().follows() {
            background.write_rows();
        }
        background
    }
}

impl Background {
    /// Starts the work that changes rows.
    fn write_rows(&mut self) {
        let runtime = self.runtime.clone();
        self.tasks.spawn(scheduler::background::run(runtime.scheduler().clone(), self.stop.subscribe()));
        #[cfg(feature = "outbound")]
        self.tasks.spawn(webhooks::background::run(runtime.deliverer().clone(), self.stop.subscribe()));
        self.every(STATS, move || {
            let runtime = runtime.clone();
            async move { runtime.store_performance().await }
        });
        let scheduler = self.runtime.scheduler().clone();
        self.every(BLOCKED_RUNS, move || {
            let scheduler = scheduler.clone();
            async move { scheduler.count_blocked_runs().await }
        });
        let runtime = self.runtime.clone();
        self.every(RETENTION, move || {
            let runtime = runtime.clone();
            async move {
                runtime.remove_expired().await?;
                transfers::sweep(&runtime).await.map(drop)
            }
        });
        #[cfg(feature = "outbound")]
        {
            let deliverer = self.runtime.deliverer().clone();
            self.every(STATS, move || {
                let deliverer = deliverer.clone();
                async move { deliverer.remove_expired().await }
            });
        }
    }

    /// Adds periodic work: it runs immediately and then with a pause of `period`.
    pub fn every<F>(&mut self, period: Duration, work: impl Fn() -> F + Send + 'static)
    where
        F: Future<Output = convoke_core::error::Result<()>> + Send + 'static,
    {
        self.tasks.spawn(every(period, self.stop.subscribe(), work));
    }

    /// Starts no more work; [`Background::stop`] waits for running work.
    pub fn wind_down(&self) {
        // The tasks may have ended by themselves.
        let _ = self.stop.send(true);
    }

    /// Starts no more work, waits for running work (at most the drain timeout), and writes the remaining metrics. Call
    /// it after the last response and before the store is closed.
    pub async fn stop(mut self) {
        self.wind_down();
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(target: "convoke::background", "a background task failed: {error}");
            }
        }
        if !self.runtime.store().follows()
            && let Err(error) = self.runtime.store_all_performance().await
        {
            tracing::warn!(target: "convoke::background", "the latest metrics are lost: {}", error.chain());
        }
        // Both have their own time limit, and run concurrently.
        let streams = async {
            if let Some(streams) = self.runtime.log_streams() {
                streams.flush().await;
            }
        };
        #[cfg(feature = "otel")]
        let telemetry = async {
            if let Some(telemetry) = self.runtime.telemetry() {
                telemetry.flush().await;
            }
        };
        #[cfg(not(feature = "otel"))]
        let telemetry = std::future::ready(());
        tokio::join!(streams, telemetry);
        let calls = self.runtime.recent_calls().clone();
        if tokio::task::spawn_blocking(move || calls.write()).await.is_err() {
            tracing::warn!(target: "convoke::background", "the latest calls are not recorded");
        }
    }
}

async fn every<F: Future<Output = convoke_core::error::Result<()>>>(
    period: Duration,
    mut stop: watch::Receiver<bool>,
    work: impl Fn() -> F,
) {
    while !*stop.borrow_and_update() {
        if let Err(error) = work().await {
            tracing::warn!(target: "convoke::background", "background work failed; it is retried later: {}", error.chain());
        }
        tokio::select! {
            () = tokio::time::sleep(period) => {}
            _ = stop.changed() => {}
        }
    }
}
