//! One stream and its task.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::sync::Mutex;

use super::file::RotatingFile;
use super::line::{self, Line};
use super::queue::Queue;
#[cfg(feature = "outbound")]
use super::webhook::Webhook;
use crate::batches::{PAUSE_MAX, SendBatches};

/// Maximum lines of a batch.
const BATCH_MAX: usize = 1_000;

/// The destination of a stream.
pub(super) enum Destination {
    File(RotatingFile),
    #[cfg(feature = "outbound")]
    Webhook(Box<Webhook>),
}

pub(super) struct Stream {
    pub(super) queue: Queue,
    pub(super) calls: bool,
    pub(super) events: bool,
    /// Its name in messages: the file or the host.
    pub(super) name: String,
    pub(super) destination: Destination,
    /// Makes the ids of batches unique: a number of this process.
    pub(super) process: u32,
    sending: Mutex<Sending>,
}

#[derive(Default)]
struct Sending {
    /// The batch that is written. It stays here until it is written.
    batch: Option<Batch>,
    batches: u64,
    failures: u32,
}

struct Batch {
    id: String,
    text: Arc<[u8]>,
    lines: u64,
}

impl Stream {
    pub(super) fn new((calls, events): (bool, bool), name: String, destination: Destination, process: u32) -> Self {
        let (queue, sending) = (Queue::default(), Mutex::default());
        Self { queue, calls, events, name, destination, process, sending }
    }

    /// Writes the waiting lines at the end of the process. After `time`, the rest is lost.
    pub(super) async fn flush(&self, time: Duration) {
        // A failure or the end of the time leaves lines behind, which are counted below.
        let _ = tokio::time::timeout(time, self.send_waiting()).await;
        let mut sending = self.sending.lock().await;
        let left = sending.batch.take().map_or(0, |batch| batch.lines) + self.queue.take(usize::MAX).len() as u64;
        if left > 0 {
            self.queue.lost.fetch_add(left, Relaxed);
            tracing::warn!(target: "convoke::log_stream", "{left} lines were not written to {} before the end", self.name);
        }
    }

    #[cfg_attr(not(feature = "outbound"), expect(unused_variables, reason = "only webhooks use the ids of batches"))]
    async fn write(&self, id: &str, text: Arc<[u8]>) -> Result<(), String> {
        match &self.destination {
            Destination::File(file) => {
                let file = file.clone();
                let appended = tokio::task::spawn_blocking(move || file.append(&text)).await;
                appended.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
            }
            #[cfg(feature = "outbound")]
            Destination::Webhook(webhook) => webhook.send(id, &text).await,
        }
    }
}

impl SendBatches for Stream {
    const INTERVAL: Duration = Duration::from_millis(250);

    async fn many(&self) {
        self.queue.wake.notified().await;
    }

    async fn send_waiting(&self) -> Option<Duration> {
        // The lock is held over the writes: they are in order. If this future is dropped, the batch stays.
        let mut sending = self.sending.lock().await;
        loop {
            if sending.batch.is_none() {
                let lines: Vec<Line> = self.queue.take(BATCH_MAX);
                if lines.is_empty() {
                    return None;
                }
                sending.batches += 1;
                let id = format!("msg_{:08x}{:x}", self.process, sending.batches);
                sending.batch = Some(Batch { id, text: line::text(&lines).into(), lines: lines.len() as u64 });
            }
            let Some(batch) = &sending.batch else { return None };
            let lines = batch.lines;
            match self.write(&batch.id, batch.text.clone()).await {
                Ok(()) => {
                    self.queue.written.fetch_add(lines, Relaxed);
                    if std::mem::take(&mut sending.failures) > 0 {
                        tracing::info!(target: "convoke::log_stream", "lines are written to {} again", self.name);
                    }
                    sending.batch = None;
                }
                Err(reason) => {
                    if sending.failures == 0 {
                        tracing::warn!(
                            target: "convoke::log_stream",
                            "lines cannot be written to {}: {reason}; retrying", self.name
                        );
                    }
                    let pause = 2 * Self::INTERVAL * 2u32.pow(sending.failures.min(6));
                    sending.failures += 1;
                    return Some(pause.min(PAUSE_MAX));
                }
            }
        }
    }
}
