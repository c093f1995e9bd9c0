//! The loop of a task that sends waiting records in batches.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// Longest pause after failures.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Sends waiting records in batches.
pub(crate) trait SendBatches: Send + Sync {
    /// Interval between two looks at the waiting records.
    const INTERVAL: Duration;

    /// Waits until many records wait.
    fn many(&self) -> impl Future<Output = ()> + Send;

    /// Sends until no record waits. Returns the pause before the next try after a failure. If the future is dropped, no
    /// record is lost.
    fn send_waiting(&self) -> impl Future<Output = Option<Duration>> + Send;
}

/// Sends waiting records until the server stops.
pub(crate) async fn send_until_stopped<S: SendBatches>(sender: Arc<S>, mut stop: watch::Receiver<bool>) {
    let mut pause = S::INTERVAL;
    while !*stop.borrow_and_update() {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            // After a failure, many records are no reason to try earlier.
            () = sender.many(), if pause <= S::INTERVAL => {}
            _ = stop.changed() => return,
        }
        tokio::select! {
            failed = sender.send_waiting() => pause = failed.unwrap_or(S::INTERVAL),
            _ = stop.changed() => return,
        }
    }
}
