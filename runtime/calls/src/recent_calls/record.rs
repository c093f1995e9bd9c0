//! The record of one completed call.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::arguments::Arguments;
use crate::function::Kind;
use crate::logs::LogLines;
use crate::observe::{By, Called, CompletedCall};
use convoke_core::clock::Millis;
use convoke_core::error::Code;

/// Maximum bytes of log lines in a record.
const LOG_BYTES_MAX: usize = 32 * 1024;
/// Maximum bytes of an error in a record.
const ERROR_BYTES_MAX: usize = 4 * 1024;

/// A call that ended, or a request that was rejected before it became a call. Its JSON:
///
/// `{"time":1732180000000,"requestId":"…","function":"users/queries/getCurrentUser","kind":"query","outcome":"OK",
/// "durationMs":0.41,"subject":"ada","arguments":{},"resultBytes":120,"rowsRead":1,"logLines":["[INFO] …"]}`. Members
/// that do not apply, and numbers that are 0, are omitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// Time at which it ended.
    pub time: Millis,
    /// Request id.
    pub request_id: Arc<str>,
    /// The function's path; of a rejected request, the path that it named.
    pub function: Arc<str>,
    /// The function's kind, if one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Code of its error; `OK` without an error.
    #[serde(serialize_with = "outcome", deserialize_with = "read_outcome")]
    pub outcome: Option<Code>,
    /// True if a rule rejected it: of the listener, of the call, or of the function. An error without it is a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Duration.
    #[serde(rename = "durationMs", serialize_with = "milliseconds", deserialize_with = "read_milliseconds")]
    pub elapsed: Duration,
    /// Time that it waited for a reader or for the writer.
    #[serde(
        rename = "waitedMs",
        default,
        skip_serializing_if = "Duration::is_zero",
        serialize_with = "milliseconds",
        deserialize_with = "read_milliseconds"
    )]
    pub waited: Duration,
    /// Subject of its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Box<str>>,
    /// Name of its deploy key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy_key: Option<Box<str>>,
    /// True if the scheduler made it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scheduled: bool,
    /// Arguments, without secrets and with large values truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arguments>,
    /// Bytes of its result as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    /// True if it received a cached result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Rows that it read in full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rows_read: u64,
    /// Rows that it added, changed or removed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rows_written: u64,
    /// The error for the operator. A failure includes its causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<str>>,
    /// Id of its trace in hexadecimal, if the trace is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<Box<str>>,
    /// Log lines of the function.
    #[serde(default, skip_serializing_if = "LogLines::is_empty")]
    pub log_lines: LogLines,
}

impl CallRecord {
    /// Creates the record of a completed call. The arguments are copied if `with_arguments` is true.
    pub(crate) fn of(call: &CompletedCall<'_>, with_arguments: bool) -> Self {
        let (function, kind) = match call.called {
            Called::Function(function) => (function.path.clone(), Some(function.kind())),
            Called::Rejected(rejection) => (rejection.asked_in_short().into(), None),
        };
        let arguments = match (call.called, call.arguments) {
            (Called::Function(function), Some(body)) if with_arguments => Some(Arguments::sent(function, body)),
            (Called::Function(_) | Called::Rejected(_), _) => None,
        };
        let mut log_lines = call.log_lines.clone();
        log_lines.keep(LOG_BYTES_MAX);
        Self {
            time: call.at,
            request_id: call.request_id.clone(),
            function,
            kind,
            outcome: call.outcome(),
            refused: call.outcome().is_some_and(|code| !code.is_failure()),
            elapsed: call.elapsed,
            waited: call.waited,
            subject: call.caller.identity().map(|identity| identity.subject.as_str().into()),
            deploy_key: call.caller.deploy_key().map(|key| key.name.as_str().into()),
            scheduled: call.by == By::Scheduler,
            arguments,
            result_bytes: call.result_bytes,
            cached: call.is_cached,
            rows_read: call.rows_read,
            rows_written: call.rows_written,
            error: call.error.map(|error| match (call.called, error.code().status()) {
                (Called::Function(_), 500..) => shortened(&error.chain()),
                _ => shortened(error.message()),
            }),
            trace_id: call.span.ids().map(|(trace, _)| trace.into()),
            log_lines,
        }
    }

    /// Returns the bytes of the members that may be large.
    pub(crate) fn bytes(&self) -> usize {
        self.log_lines.bytes()
            + self.error.as_ref().map_or(0, |error| error.len())
            + self.arguments.as_ref().map_or(0, Arguments::bytes)
    }
}

fn shortened(error: &str) -> Box<str> {
    error[..error.floor_char_boundary(ERROR_BYTES_MAX)].into()
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn outcome<S: Serializer>(outcome: &Option<Code>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.map_or("OK", Code::as_str))
}

fn read_outcome<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Code>, D::Error> {
    let name = std::borrow::Cow::<str>::deserialize(deserializer)?;
    if name == "OK" {
        return Ok(None);
    }
    let code = Code::ALL.iter().find(|code| code.as_str() == name);
    code.map(|code| Some(*code)).ok_or_else(|| serde::de::Error::custom(format!("{name} is not a code")))
}

fn milliseconds<S: Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(elapsed.as_micros() as f64 / 1_000.0)
}

fn read_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let ms = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(ms / 1_000.0).map_err(serde::de::Error::custom)
}
