//! The records that a collector receives.

use std::borrow::Cow;
use std::sync::Arc;

use convoke_core::error::Error;
use convoke_core::trace_context::TraceContext;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(Arc<str>),
    /// An integer.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}

/// The role of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work inside of the program.
    Internal,
    /// A request from outside.
    Server,
    /// A request to another service.
    Client,
    /// Scheduled work.
    Consumer,
}

/// The failure of a span, which becomes an event `exception`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The type, such as the code of an error.
    pub kind: Cow<'static, str>,
    /// The message for the operator.
    pub message: String,
}

impl Failure {
    /// Returns the failure of an error, or `None` if a rule rejected the work.
    pub fn of(error: &Error) -> Option<Self> {
        let code = error.code();
        let message = if code.status() >= 500 { error.chain() } else { error.message().to_owned() };
        code.is_failure().then(|| Self { kind: code.as_str().into(), message })
    }
}

/// A span that has ended.
#[derive(Clone, Debug)]
pub struct SpanRecord {
    /// Its ids.
    pub context: TraceContext,
    /// The id of its parent, if it has one.
    pub parent_id: Option<u64>,
    /// True if the parent is a span of another program.
    pub is_parent_remote: bool,
    /// Its name, from a small set.
    pub name: Arc<str>,
    /// Its role.
    pub kind: SpanKind,
    /// Start, in nanoseconds since the epoch.
    pub start_ns: u64,
    /// End, in nanoseconds since the epoch.
    pub end_ns: u64,
    /// Its attributes.
    pub attributes: Vec<(&'static str, Value)>,
    /// The span that caused it, in another trace.
    pub link: Option<TraceContext>,
    /// Its failure.
    pub failure: Option<Failure>,
}

/// The severity of a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Details of the code.
    Trace,
    /// Details for a developer.
    Debug,
    /// Information.
    Info,
    /// A problem that may need a reaction.
    Warn,
    /// A failure.
    Error,
}

impl Severity {
    /// Returns the name, as in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Trace => "TRACE",
            Severity::Debug => "DEBUG",
            Severity::Info => "INFO",
            Severity::Warn => "WARN",
            Severity::Error => "ERROR",
        }
    }
}

impl From<tracing::Level> for Severity {
    fn from(level: tracing::Level) -> Self {
        match level {
            tracing::Level::ERROR => Severity::Error,
            tracing::Level::WARN => Severity::Warn,
            tracing::Level::INFO => Severity::Info,
            tracing::Level::DEBUG => Severity::Debug,
            tracing::Level::TRACE => Severity::Trace,
        }
    }
}

/// A line of the operator's log.
#[derive(Clone, Debug)]
pub struct LogRecord {
    /// Time, in nanoseconds since the epoch.
    pub time_ns: u64,
    /// Severity.
    pub severity: Severity,
    /// Part of the program that wrote it.
    pub target: &'static str,
    /// The message.
    pub message: String,
    /// The fields.
    pub fields: Vec<(&'static str, String)>,
    /// The span in which it was written.
    pub context: Option<TraceContext>,
}
