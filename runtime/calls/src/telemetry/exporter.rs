//! The exporter: sends the waiting records in batches.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use parking_lot::Mutex;
use prost::Message as _;

use super::destination::Destination;
use super::encode;
use super::metric::Metric;
use super::settings::TelemetrySettings;
use super::signal::Signal;
use crate::batches::{PAUSE_MAX, SendBatches};
use crate::trace::{Recorder, RecorderOptions};
use convoke_core::clock::Clock;

/// Maximum records of one request.
const BATCH_MAX: usize = 512;
/// Time within which the waiting records are sent at the end of the process.
const FLUSH: Duration = Duration::from_secs(5);
/// Maximum bytes of a response that are read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Sends traces, logs and metrics to a collector.
pub struct Telemetry {
    recorder: Arc<Recorder>,
    destination: Destination,
    clock: Arc<dyn Clock>,
    /// Start of the process, in nanoseconds since the epoch.
    started_ns: u64,
    /// The metrics that are sent next. Later ones replace them.
    metrics: Mutex<Option<Batch>>,
    /// The state of the task of each signal.
    sending: [tokio::sync::Mutex<Sending>; 3],
    /// Records that the collector rejected or that were not sent before the end, by signal.
    unsent: [AtomicU64; 3],
    sent: [AtomicU64; 3],
}

/// The task that sends the records of a signal. Each signal has its own, because they may have different collectors.
pub(crate) struct SignalSender {
    telemetry: Arc<Telemetry>,
    signal: Signal,
}

/// The state of the task that sends the records of a signal.
#[derive(Default)]
struct Sending {
    /// The batch that is sent. It stays here until the collector has accepted or rejected it.
    batch: Option<Batch>,
    /// Number of failures in a row.
    failures: u32,
    /// True if the collector has rejected a batch. Only the first rejection is logged.
    is_rejected: bool,
}

#[derive(Clone)]
struct Batch {
    records: u64,
    body: Bytes,
}

/// Reason why a batch was not accepted.
enum SendError {
    /// It may be accepted later.
    Later(String, Option<Duration>),
    /// It will not be accepted.
    Rejected(String),
}

impl Telemetry {
    /// Returns the exporter of the settings and the standard variables; `None` if there is no collector.
    ///
    /// # Errors
    /// A sentence about the invalid setting or variable.
    pub(crate) fn configured(
        settings: &TelemetrySettings,
        data: &Path,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Arc<Self>>, String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(destination) = Destination::resolve(settings, data, variable)? else { return Ok(None) };
        let settings = &destination.settings;
        let options = RecorderOptions {
            sampling: settings.sampling.0,
            continues_traces: settings.continues_traces,
            spans: settings.traces,
            logs: settings.logs,
            waiting_max: settings.waiting_max.max(1) as usize,
        };
        Ok(Some(Arc::new(Self {
            recorder: Arc::new(Recorder::new(clock.clone(), options)),
            started_ns: nanoseconds(&**clock),
            clock: clock.clone(),
            metrics: Mutex::default(),
            sending: Default::default(),
            unsent: Default::default(),
            sent: Default::default(),
            destination,
        })))
    }

    /// Returns the queues of records.
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// Returns the host and port of the collector of a signal; `None` if the signal is not sent.
    pub fn address(&self, signal: Signal) -> Option<(String, u16)> {
        self.destination.address(signal)
    }

    /// Returns the tasks that send.
    pub(crate) fn senders(self: &Arc<Self>) -> [Arc<SignalSender>; 3] {
        Signal::ALL.map(|signal| Arc::new(SignalSender { telemetry: self.clone(), signal }))
    }

    /// Returns the interval between two transmissions of metrics; `None` if metrics are not sent.
    pub fn metrics_interval(&self) -> Option<Duration> {
        let settings = &self.destination.settings;
        settings.metrics.then(|| Duration::from_secs(settings.metrics_seconds.max(1).into()))
    }

    /// Returns the number of accepted records of a signal.
    pub fn sent(&self, signal: Signal) -> u64 {
        self.sent[signal as usize].load(Relaxed)
    }

    /// Returns the number of lost records of a signal: the queue was full, the collector rejected them, or the process
    /// ended.
    pub fn lost(&self, signal: Signal) -> u64 {
        let (spans, logs) = self.recorder.dropped();
        let dropped = match signal {
            Signal::Traces => spans,
            Signal::Logs => logs,
            Signal::Metrics => 0,
        };
        dropped + self.unsent[signal as usize].load(Relaxed)
    }

    /// Sets the metrics that are sent next. Metrics that were not sent yet are lost.
    pub fn set_metrics(&self, metrics: Vec<Metric>) {
        let records = metrics.len() as u64;
        let body = encode::metrics(&self.destination.resource, metrics, (self.started_ns, nanoseconds(&*self.clock)));
        let batch = Batch { records, body: self.destination.body(body) };
        if let Some(replaced) = self.metrics.lock().replace(batch) {
            self.count_unsent(Signal::Metrics, replaced.records);
        }
    }

    /// Sends the waiting records at the end of the process, for at most 5 s. The rest is lost.
    pub(crate) async fn flush(&self) {
        let [traces, logs, metrics] = Signal::ALL.map(|signal| self.flush_signal(signal));
        tokio::join!(traces, logs, metrics);
    }

    async fn flush_signal(&self, signal: Signal) {
        // A failure or the end of the time leaves records behind, which are counted below.
        let _ = tokio::time::timeout(FLUSH, self.send_waiting(signal)).await;
        let mut sending = self.sending[signal as usize].lock().await;
        let mut left = 0;
        while let Some(batch) = sending.batch.take().or_else(|| self.next_batch(signal)) {
            left += batch.records;
            self.count_unsent(signal, batch.records);
        }
        if left > 0 {
            let (host, port) = self.address(signal).unwrap_or_default();
            let signal = signal.as_str();
            tracing::warn!(target: "convoke::telemetry", "{left} records of {signal} were not sent to {host}:{port} before the end");
        }
    }

    fn next_batch(&self, signal: Signal) -> Option<Batch> {
        let resource = &self.destination.resource;
        let (records, encoded) = match signal {
            Signal::Traces => {
                let spans = self.recorder.take_spans(BATCH_MAX);
                (spans.len(), (!spans.is_empty()).then(|| encode::spans(resource, spans))?)
            }
            Signal::Logs => {
                let logs = self.recorder.take_logs(BATCH_MAX);
                (logs.len(), (!logs.is_empty()).then(|| encode::logs(resource, logs))?)
            }
            Signal::Metrics => return self.metrics.lock().take(),
        };
        Some(Batch { records: records as u64, body: self.destination.body(encoded) })
    }

    /// Sends a batch. Returns the number of records that the collector rejected.
    async fn send(&self, signal: Signal, batch: &Batch) -> Result<u64, SendError> {
        let request =
            self.destination.post(signal).ok_or_else(|| SendError::Rejected("it has no address".to_owned()))?;
        let sent = request.body(batch.body.clone()).send().await;
        let mut response = sent.map_err(|error| SendError::Later(reason(error), None))?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get("retry-after").and_then(|field| field.to_str().ok()?.parse().ok());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| SendError::Later(reason(error), None))? {
            body.extend_from_slice(&chunk[..chunk.len().min(ANSWER_BYTES_MAX - body.len())]);
            if body.len() == ANSWER_BYTES_MAX {
                break;
            }
        }
        match status {
            200..=299 => Ok(rejected(signal, &body)),
            // The statuses that the protocol names as temporary.
            429 | 502..=504 => Err(SendError::Later(format!("status {status}"), retry_after.map(Duration::from_secs))),
            _ => Err(SendError::Rejected(format!("status {status}"))),
        }
    }

    /// Sends until no record of the signal waits. Returns the pause before the next try after a failure.
    async fn send_waiting(&self, signal: Signal) -> Option<Duration> {
        // The lock is held over the requests: there is one sender at a time. If this future is dropped, the batch stays.
        let mut sending = self.sending[signal as usize].lock().await;
        loop {
            if sending.batch.is_none() {
                sending.batch = self.next_batch(signal);
            }
            let batch = sending.batch.clone()?;
            let result = self.send(signal, &batch).await;
            let (host, port) = self.address(signal).unwrap_or_default();
            let name = signal.as_str();
            match result {
                Ok(rejected) => {
                    self.sent[signal as usize].fetch_add(batch.records.saturating_sub(rejected), Relaxed);
                    self.count_unsent(signal, rejected.min(batch.records));
                    if sending.failures > 0 {
                        tracing::info!(target: "convoke::telemetry", "{host}:{port} accepts {name} again");
                    }
                    sending.failures = 0;
                    sending.batch = None;
                }
                Err(SendError::Rejected(reason)) => {
                    if !std::mem::replace(&mut sending.is_rejected, true) {
                        tracing::warn!(
                            target: "convoke::telemetry",
                            "{host}:{port} rejects {name}: {reason}; set telemetry.{name} = false if it takes none"
                        );
                    }
                    self.count_unsent(signal, batch.records);
                    sending.batch = None;
                }
                Err(SendError::Later(reason, wanted)) => {
                    if sending.failures == 0 {
                        tracing::warn!(target: "convoke::telemetry", "{host}:{port} does not accept {name}: {reason}; retrying");
                    }
                    let pause = SignalSender::INTERVAL * 2u32.pow(sending.failures.min(5));
                    sending.failures += 1;
                    return Some(wanted.unwrap_or(pause).clamp(SignalSender::INTERVAL, PAUSE_MAX));
                }
            }
        }
    }

    fn count_unsent(&self, signal: Signal, records: u64) {
        self.unsent[signal as usize].fetch_add(records, Relaxed);
    }
}

impl SendBatches for SignalSender {
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn many(&self) {
        let recorder = &self.telemetry.recorder;
        match self.signal {
            Signal::Traces => recorder.many_spans().await,
            Signal::Logs => recorder.many_logs().await,
            Signal::Metrics => std::future::pending().await,
        }
    }

    async fn send_waiting(&self) -> Option<Duration> {
        self.telemetry.send_waiting(self.signal).await
    }
}

/// Returns the number of records of a partial success that were rejected.
fn rejected(signal: Signal, body: &[u8]) -> u64 {
    let rejected = match signal {
        Signal::Traces => ExportTraceServiceResponse::decode(body)
            .ok()
            .and_then(|response| Some(response.partial_success?.rejected_spans)),
        Signal::Logs => ExportLogsServiceResponse::decode(body)
            .ok()
            .and_then(|response| Some(response.partial_success?.rejected_log_records)),
        Signal::Metrics => ExportMetricsServiceResponse::decode(body)
            .ok()
            .and_then(|response| Some(response.partial_success?.rejected_data_points)),
    };
    rejected.and_then(|rejected| u64::try_from(rejected).ok()).unwrap_or(0)
}

/// Returns the reason of a failure, without the address, which the log line names.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    if error.is_timeout() {
        return "it does not respond in time".to_owned();
    }
    convoke_core::error::chain(&error)
}

fn nanoseconds(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now().0).unwrap_or(0).saturating_mul(1_000_000)
}
