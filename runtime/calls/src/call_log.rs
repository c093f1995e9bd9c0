//! The operator's log of calls: one line a call, of every caller: function, kind, outcome, duration, request id, and the
//! subject of the identity. No token and no key is known here.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::observe::{By, CallObserver, Called, CompletedCall};
use convoke_core::clock::Millis;

/// The line of a call that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallLine<'a> {
    /// When it ended.
    #[serde(skip)]
    pub at: Millis,
    /// Under which id the caller knows it.
    pub request_id: &'a str,
    /// The function's path.
    pub function: &'a str,
    /// `query`, `mutation` or `action`.
    pub kind: &'static str,
    /// The code of its error, else `OK`.
    pub outcome: &'static str,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// The subject of the identity it ran as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
    /// The name of the deploy key that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deploy_key: Option<&'a str>,
    /// Whether the scheduler made it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scheduled: bool,
    /// Whether it was given a result that was kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

impl CallLine<'_> {
    /// Hands it to the log of the program, as an event.
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

/// Writes the lines of calls to the operator's log, without an event for each.
pub trait CallLines: Send + Sync + 'static {
    /// Takes one; must not wait.
    fn write(&self, line: &CallLine<'_>);
}

/// Tells the operator of each call; of a failure that is no function's doing also the cause. A call that was rejected for
/// now has its line and is counted, and no more: such calls come by the thousand.
pub(crate) struct CallLog {
    lines: Option<Arc<dyn CallLines>>,
}

impl CallLog {
    /// Writes to `lines`, if there are any, else to the log of the program.
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
            tracing::error!(target: "convoke::call", request_id, function = path, "{}", error.chain());
        }
        // In the caller's trace, it is the log of the program that knows how its lines show it.
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
            cached: call.is_kept,
        };
        match lines {
            Some(lines) => lines.write(&line),
            None => line.emit(),
        }
        None
    }
}
