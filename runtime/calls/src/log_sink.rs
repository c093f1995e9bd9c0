//! The receiver of the lines of the operator's log: the collector and the streams.

use std::sync::Arc;

use crate::log_streams::Streams;
use crate::runtime::Runtime;
use crate::trace::{LogRecord, Recorder, Severity, TraceContext};
use convoke_core::clock::Clock;

/// Receives the lines of the operator's log.
pub struct LogSink {
    clock: Arc<dyn Clock>,
    recorder: Option<Arc<Recorder>>,
    streams: Option<Arc<Streams>>,
}

/// A line of the operator's log.
pub struct LogLine {
    /// Severity.
    pub severity: Severity,
    /// Part of the program that wrote it.
    pub target: &'static str,
    /// The message.
    pub message: String,
    /// The fields.
    pub fields: Vec<(&'static str, String)>,
}

impl Runtime {
    /// Returns the receiver of the operator's log; `None` if no line is sent anywhere.
    pub fn log_sink(&self) -> Option<LogSink> {
        let recorder = self.recorder().filter(|recorder| recorder.has_logs()).cloned();
        let streams = self.log_streams().cloned();
        let is_wanted = recorder.is_some() || streams.is_some();
        is_wanted.then(|| LogSink { clock: self.clock().clone(), recorder, streams })
    }
}

impl LogSink {
    /// Adds a line. It never blocks. The lines of calls are omitted: spans and the records of calls say the same.
    pub fn add(&self, line: LogLine) {
        let LogLine { severity, target, message, mut fields } = line;
        if target == "convoke::call" && message == "call" {
            return;
        }
        let mut taken = |name| fields.iter().position(|(own, _)| *own == name).map(|at| fields.swap_remove(at).1);
        let ids = taken("trace_id").zip(taken("span_id"));
        let time_ns = u64::try_from(self.clock.now().0).unwrap_or(0).saturating_mul(1_000_000);
        let context = ids.and_then(|(trace, span)| TraceContext::parse(format!("00-{trace}-{span}-01").as_bytes()));
        let record = LogRecord { time_ns, severity, target, message, fields, context };
        if let Some(streams) = &self.streams {
            streams.event(&record);
        }
        if let Some(recorder) = &self.recorder {
            recorder.add_log(record);
        }
    }
}
