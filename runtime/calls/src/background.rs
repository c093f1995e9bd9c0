//! What a server does by itself, beside answering calls: scheduled work, figures, retention.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::recent_calls;
use crate::runtime::Runtime;
use crate::scheduler;
use convoke_core::error::Error;

/// Between two writes of figures.
pub const STATS: Duration = Duration::from_secs(60);
/// Between two removals of what has expired.
pub const RETENTION: Duration = Duration::from_secs(60 * 60);

/// The work in the background of a runtime. Dropped, it is cut off; [`Background::stop`] ends it in order.
#[must_use = "dropped, the background work ends at once"]
pub struct Background {
    runtime: Runtime,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Runtime {
    /// Begins to run scheduled work, to keep figures and to remove what has expired. Needs a tokio runtime around it.
    pub fn start_background(&self) -> Background {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(scheduler::background::run(self.scheduler().clone(), stopped));
        let mut background = Background { runtime: self.clone(), stop, tasks };
        let runtime = self.clone();
        background.every(STATS, move || {
            let runtime = runtime.clone();
            async move { runtime.store_performance().await }
        });
        let runtime = self.clone();
        background.every(recent_calls::WRITE, move || {
            let runtime = runtime.clone();
            async move {
                match runtime.has_calls_to_write() {
                    true => tokio::task::spawn_blocking(move || runtime.write_calls()).await.map_err(Error::internal),
                    false => Ok(()),
                }
            }
        });
        let runtime = self.clone();
        background.every(RETENTION, move || {
            let runtime = runtime.clone();
            async move { runtime.remove_expired().await }
        });
        background
    }
}

impl Background {
    /// Does this too, at once and then again and again with a pause of `period`.
    pub fn every<F>(&mut self, period: Duration, work: impl Fn() -> F + Send + 'static)
    where
        F: Future<Output = convoke_core::error::Result<()>> + Send + 'static,
    {
        self.tasks.spawn(every(period, self.stop.subscribe(), work));
    }

    /// Starts no more work from now on; [`Background::stop`] waits for what is running.
    pub fn wind_down(&self) {
        // The tasks may have ended by themselves.
        let _ = self.stop.send(true);
    }

    /// Starts no more work, waits for what is running (at most the drain time), and writes the figures that are left.
    /// To be called after the last call was answered and before the store is closed.
    pub async fn stop(mut self) {
        self.wind_down();
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(target: "convoke::background", "a background task broke off: {error}");
            }
        }
        if let Err(error) = self.runtime.store_all_performance().await {
            tracing::warn!(target: "convoke::background", "the last figures are lost: {}", error.chain());
        }
        let runtime = self.runtime;
        if tokio::task::spawn_blocking(move || runtime.write_calls()).await.is_err() {
            tracing::warn!(target: "convoke::background", "the last calls are not recorded");
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
            tracing::warn!(target: "convoke::background", "tried again later: {}", error.chain());
        }
        tokio::select! {
            () = tokio::time::sleep(period) => {}
            _ = stop.changed() => {}
        }
    }
}
