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
    sending: tokio::sync::Mutex<Sending>,
    /// Records that the collector rejected or that were not sent before the end, by signal.
    unsent: [AtomicU64; 3],
    sent: [AtomicU64; 3],
}

/// The state of the task that sends.
#[derive(Default)]
struct Sending {
    /// The batch that is sent. It stays here until the collector has accepted or rejected it.
    batch: Option<Batch>,
    /// Number of failures in a row.
    failures: u32,
    /// Signals that the collector has rejected. Only the first rejection is logged.
    is_rejected: [bool; 3],
}

#[derive(Clone)]
struct Batch {
    signal: Signal,
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
            sending: tokio::sync::Mutex::default(),
            unsent: Default::default(),
            sent: Default::default(),
            destination,
        })))
    }

    /// Returns the queues of records.
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// Returns the host and port of the collector.
    pub fn address(&self) -> (String, u16) {
        self.destination.address()
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
        let batch = Batch { signal: Signal::Metrics, records, body: body.into() };
        if let Some(replaced) = self.metrics.lock().replace(batch) {
            self.count_unsent(&replaced, replaced.records);
        }
    }

    /// Sends the waiting records at the end of the process, for at most 5 s. The rest is lost.
    pub(crate) async fn flush(&self) {
        // A failure or the end of the time leaves records behind, which are counted below.
        let _ = tokio::time::timeout(FLUSH, self.send_waiting()).await;
        let mut sending = self.sending.lock().await;
        let mut left = 0;
        while let Some(batch) = sending.batch.take().or_else(|| self.next_batch()) {
            left += batch.records;
            self.count_unsent(&batch, batch.records);
        }
        if left > 0 {
            let (host, port) = self.address();
            tracing::warn!(target: "convoke::telemetry", "{left} records were not sent to {host}:{port} before the end");
        }
    }

    fn next_batch(&self) -> Option<Batch> {
        let resource = &self.destination.resource;
        let of = |signal, records: usize, body: Vec<u8>| Batch { signal, records: records as u64, body: body.into() };
        let spans = self.recorder.take_spans(BATCH_MAX);
        if !spans.is_empty() {
            return Some(of(Signal::Traces, spans.len(), encode::spans(resource, spans)));
        }
        let logs = self.recorder.take_logs(BATCH_MAX);
        if !logs.is_empty() {
            return Some(of(Signal::Logs, logs.len(), encode::logs(resource, logs)));
        }
        self.metrics.lock().take()
    }

    /// Sends a batch. Returns the number of records that the collector rejected.
    async fn send(&self, batch: &Batch) -> Result<u64, SendError> {
        let sent = self.destination.post(batch.signal).body(batch.body.clone()).send().await;
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
            200..=299 => Ok(rejected(batch.signal, &body)),
            // The statuses that the protocol names as temporary.
            429 | 502..=504 => Err(SendError::Later(format!("status {status}"), retry_after.map(Duration::from_secs))),
            _ => Err(SendError::Rejected(format!("status {status}"))),
        }
    }

    fn count_unsent(&self, batch: &Batch, records: u64) {
        self.unsent[batch.signal as usize].fetch_add(records, Relaxed);
    }
}

impl SendBatches for Telemetry {
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn many(&self) {
        self.recorder.many().await;
    }

    async fn send_waiting(&self) -> Option<Duration> {
        // The lock is held over the requests: there is one sender at a time. If this future is dropped, the batch stays.
        let mut sending = self.sending.lock().await;
        loop {
            if sending.batch.is_none() {
                sending.batch = self.next_batch();
            }
            let batch = sending.batch.clone()?;
            let result = self.send(&batch).await;
            let (host, port) = self.address();
            match result {
                Ok(rejected) => {
                    self.sent[batch.signal as usize].fetch_add(batch.records.saturating_sub(rejected), Relaxed);
                    self.count_unsent(&batch, rejected.min(batch.records));
                    if sending.failures > 0 {
                        tracing::info!(target: "convoke::telemetry", "{host}:{port} accepts telemetry again");
                    }
                    sending.failures = 0;
                    sending.batch = None;
                }
                Err(SendError::Rejected(reason)) => {
                    let signal = batch.signal.as_str();
                    if !std::mem::replace(&mut sending.is_rejected[batch.signal as usize], true) {
                        tracing::warn!(
                            target: "convoke::telemetry",
                            "{host}:{port} rejects {signal}: {reason}; set telemetry.{signal} = false if it takes none"
                        );
                    }
                    self.count_unsent(&batch, batch.records);
                    sending.batch = None;
                }
                Err(SendError::Later(reason, wanted)) => {
                    if sending.failures == 0 {
                        tracing::warn!(target: "convoke::telemetry", "{host}:{port} does not accept telemetry: {reason}; retrying");
                    }
                    let pause = Self::INTERVAL * 2u32.pow(sending.failures.min(5));
                    sending.failures += 1;
                    return Some(wanted.unwrap_or(pause).clamp(Self::INTERVAL, PAUSE_MAX));
                }
            }
        }
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
    let mut reason = error.to_string();
    let mut next = std::error::Error::source(&error);
    while let Some(source) = next {
        reason = format!("{reason}: {source}");
        next = source.source();
    }
    reason
}

fn nanoseconds(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now().0).unwrap_or(0).saturating_mul(1_000_000)
}
