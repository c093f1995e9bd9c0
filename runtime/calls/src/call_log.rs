//! The operator's log of calls: one line per call, for every caller. It has the function, kind, outcome, duration,
//! request id, and the subject of the identity. Tokens and keys are not available here.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::observe::{By, CallObserver, Called, CompletedCall};
use convoke_core::clock::Millis;

/// The log line of a completed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallLine<'a> {
    /// Time at which it ended.
    #[serde(skip)]
    pub at: Millis,
    /// Request id, which the caller knows too.
    pub request_id: &'a str,
    /// The function's path.
    pub function: &'a str,
    /// `query`, `mutation` or `action`.
    pub kind: &'static str,
    /// The code of its error, else `OK`.
    pub outcome: &'static str,
    /// Duration in microseconds.
    pub took_us: u64,
    /// Subject of the identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
    /// Name of the deploy key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deploy_key: Option<&'a str>,
    /// True if the scheduler made the call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scheduled: bool,
    /// True if the call received a cached result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

impl CallLine<'_> {
    /// Writes it to the program's log, as an event.
    pub fn emit(&self) {
        let Self { at: _, request_id, function, kind, outcome, took_us, subject, deploy_key, scheduled, cached } =
            *self;
        let (scheduled, cached) = (scheduled.then_some(true), cached.then_some(true));
        tracing::info!(
            target: "convoke::call",
            request_id, function, kind, outcome, took_us, subject, deploy_key, scheduled, cached, "call"
        );
    }
}

/// A writer of call lines for the operator's log, without an event per line.
pub trait CallLines: Send + Sync + 'static {
    /// Writes one line. It must not block.
    fn write(&self, line: &CallLine<'_>);
}

/// Logs each call for the operator; a failure that is not the function's fault also with its cause. A call that was
/// rejected temporarily has only its line and its counter, since such calls come by the thousand.
pub(crate) struct CallLog {
    lines: Option<Arc<dyn CallLines>>,
}

impl CallLog {
    /// Writes to `lines`, if present, else to the program's log.
    pub(crate) fn new(lines: Option<Arc<dyn CallLines>>) -> Self {
        Self { lines }
    }
}

impl CallObserver for CallLog {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        let Called::Function(function) = call.called else { return None };
        let (request_id, path) = (&**call.request_id, &*function.path);
        if let Some(error) = call.error
            && error.code().status() == 500
        {
            let (trace_id, span_id) = call.span.ids().unzip();
            let (trace_id, span_id) = (trace_id.as_deref(), span_id.as_deref());
            tracing::error!(
                target: "convoke::call",
                request_id, function = path, trace_id, span_id, "{}", error.chain()
            );
        }
        // Within a caller's trace, the program's log decides how the line is shown.
        let lines = self.lines.as_ref().filter(|_| tracing::Span::current().is_none());
        if lines.is_none() && !tracing::enabled!(target: "convoke::call", tracing::Level::INFO) {
            return None;
        }
        let line = CallLine {
            at: call.at,
            request_id,
            function: path,
            kind: function.kind().as_str(),
            outcome: call.outcome().map_or("OK", |code| code.as_str()),
            took_us: u64::try_from(call.elapsed.as_micros()).unwrap_or(u64::MAX),
            subject: call.caller.identity().map(|identity| identity.subject.as_str()),
            deploy_key: call.caller.deploy_key().map(|key| key.name.as_str()),
            scheduled: call.by == By::Scheduler,
            cached: call.is_cached,
        };
        match lines {
            Some(lines) => lines.write(&line),
            None => line.emit(),
        }
        None
    }
}
