//! The bounded queues between the calls and the exporter.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::record::{LogRecord, SpanRecord};
use convoke_core::clock::Clock;

/// Records that make the exporter send immediately.
const EAGER: usize = 512;
/// Maximum bytes of a log message or of one field.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// The options of a [`Recorder`].
#[derive(Clone, Copy, Debug)]
pub struct RecorderOptions {
    /// Part of the new traces that are recorded, from 0 to 1.
    pub sampling: f64,
    /// True if a trace of a client is continued.
    pub continues_traces: bool,
    /// True if spans are recorded.
    pub spans: bool,
    /// True if log records are recorded.
    pub logs: bool,
    /// Maximum spans that wait, and maximum log records.
    pub waiting_max: usize,
}

/// Receives spans and log records. It never blocks: a full queue drops them and counts them.
pub struct Recorder {
    clock: Arc<dyn Clock>,
    options: RecorderOptions,
    spans: Queue<SpanRecord>,
    logs: Queue<LogRecord>,
    start: u64,
    next: AtomicU64,
}

struct Queue<T> {
    waiting: Mutex<VecDeque<T>>,
    dropped: AtomicU64,
    /// Notified when many records wait.
    many: Notify,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), dropped: AtomicU64::new(0), many: Notify::new() }
    }
}

impl<T> Queue<T> {
    /// Adds a record if there is room for it.
    fn add(&self, record: T, waiting_max: usize) {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= waiting_max {
            drop(waiting);
            self.dropped.fetch_add(1, Relaxed);
            return;
        }
        waiting.push_back(record);
        let are_many = waiting.len() == EAGER;
        drop(waiting);
        if are_many {
            self.many.notify_one();
        }
    }

    fn take(&self, count: usize) -> Vec<T> {
        let mut waiting = self.waiting.lock();
        let count = count.min(waiting.len());
        waiting.drain(..count).collect()
    }
}

impl Recorder {
    /// Creates a recorder.
    pub fn new(clock: Arc<dyn Clock>, options: RecorderOptions) -> Self {
        Self {
            clock,
            options,
            spans: Queue::default(),
            logs: Queue::default(),
            start: RandomState::new().hash_one(0u8),
            next: AtomicU64::new(0),
        }
    }

    pub(super) fn has_spans(&self) -> bool {
        self.options.spans
    }

    pub(crate) fn has_logs(&self) -> bool {
        self.options.logs
    }

    pub(super) fn continues_traces(&self) -> bool {
        self.options.continues_traces
    }

    /// Returns the time since an arbitrary start, and the time of day minus it, in nanoseconds.
    pub(super) fn anchor(&self) -> (Duration, i128) {
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        (monotonic, i128::from(now.0) * 1_000_000 - i128::try_from(monotonic.as_nanos()).unwrap_or(0))
    }

    pub(super) fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    /// Returns a random id that is not 0. Ids are not secret: a mixed counter with a random start is enough, and needs
    /// no system call.
    pub(super) fn id(&self) -> u64 {
        loop {
            let id = mix(self.start.wrapping_add(self.next.fetch_add(1, Relaxed)));
            if id != 0 {
                return id;
            }
        }
    }

    /// Returns the id of a new trace, or `None` if the trace is not sampled.
    pub(super) fn new_trace(&self) -> Option<u128> {
        let low = self.id();
        self.samples(low).then(|| u128::from(self.id()) << 64 | u128::from(low))
    }

    /// Decides by the lower half of a trace id, so that all programs of a trace decide alike.
    fn samples(&self, low: u64) -> bool {
        // The comparison with 1 is exact: every trace is sampled then.
        self.options.sampling >= 1.0 || ((low >> 11) as f64) < self.options.sampling * (1u64 << 53) as f64
    }

    pub(super) fn add_span(&self, span: SpanRecord) {
        self.spans.add(span, self.options.waiting_max);
    }

    /// Adds a log record. Long texts are truncated.
    pub fn add_log(&self, mut log: LogRecord) {
        if !self.options.logs {
            return;
        }
        log.message.truncate(log.message.floor_char_boundary(TEXT_BYTES_MAX));
        for (_, text) in &mut log.fields {
            text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        }
        self.logs.add(log, self.options.waiting_max);
    }

    /// Waits until many spans wait.
    pub async fn many_spans(&self) {
        self.spans.many.notified().await;
    }

    /// Waits until many log records wait.
    pub async fn many_logs(&self) {
        self.logs.many.notified().await;
    }

    /// Removes and returns the oldest spans, at most `count`.
    pub fn take_spans(&self, count: usize) -> Vec<SpanRecord> {
        self.spans.take(count)
    }

    /// Removes and returns the oldest log records, at most `count`.
    pub fn take_logs(&self, count: usize) -> Vec<LogRecord> {
        self.logs.take(count)
    }

    /// Returns the numbers of spans and log records that were dropped because the queues were full.
    pub fn dropped(&self) -> (u64, u64) {
        (self.spans.dropped.load(Relaxed), self.logs.dropped.load(Relaxed))
    }
}

/// A bijection of 64 bits that looks random (the finalizer of splitmix64).
fn mix(counter: u64) -> u64 {
    let mut x = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::{Span, SpanKind};
    use super::*;
    use convoke_core::clock::SystemClock;

    fn recorder(sampling: f64, waiting_max: usize) -> Arc<Recorder> {
        let options = RecorderOptions { sampling, continues_traces: true, spans: true, logs: true, waiting_max };
        Arc::new(Recorder::new(Arc::new(SystemClock::new()), options))
    }

    #[test]
    fn share_of_sampled_traces_is_that_of_the_setting() {
        for (sampling, from, to) in [(0.0, 0, 0), (0.01, 60, 140), (0.5, 4_700, 5_300), (1.0, 10_000, 10_000)] {
            let recorder = recorder(sampling, 1);
            let sampled = (0..10_000).filter(|_| recorder.new_trace().is_some()).count();
            assert!((from..=to).contains(&sampled), "{sampling}: {sampled}");
        }
    }

    #[test]
    fn full_queue_drops_and_counts_new_spans() {
        let recorder = recorder(1.0, 3);
        for _ in 0..5 {
            Span::root(Some(&recorder), &"root".into(), SpanKind::Internal, None).end(None);
        }
        assert_eq!(recorder.dropped(), (2, 0));
        assert_eq!(recorder.take_spans(2).len(), 2);
        assert_eq!(recorder.take_spans(9).len(), 1);
    }
}
