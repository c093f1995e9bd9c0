//! Traces: the spans of requests, calls, transactions and outbound requests, and the log records of the program.
//!
//! A span is recorded when it ends, in a bounded queue that [`crate::telemetry`] empties. Without a recorder, or in a
//! trace that is not sampled, a span is an empty value: it costs neither memory nor a look at the clock.

mod record;
mod recorder;
mod span;

pub use convoke_core::trace_context::TraceContext;
pub use record::{Failure, LogRecord, Severity, SpanKind, SpanRecord, Value};
pub use recorder::{Recorder, RecorderOptions};
pub use span::Span;
