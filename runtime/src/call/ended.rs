//! What follows a call that has ended: it is counted, the operator's log gets its line, and whoever follows sees it.
//!
//! One line a call, whoever made it: function, kind, outcome, duration, request id, and the subject of the identity. No
//! token and no key is known here.

use std::sync::Arc;
use std::time::Duration;

use tracing::dispatcher;

use crate::error::Error;
use crate::identity::Caller;
use crate::journal::Entry;
use crate::logs::{Capture, LogLines};
use crate::performance::recorder::{By, Ended};
use crate::registry::Registered;
use crate::runtime::Runtime;

/// A call that has ended now.
pub(crate) struct Call<'a> {
    pub function: &'a Registered,
    pub request_id: &'a Arc<str>,
    pub caller: &'a Caller,
    /// When it began, in monotonic time.
    pub began: Duration,
    pub by: By,
    pub error: Option<&'a Error>,
    pub log_lines: &'a LogLines,
}

impl Runtime {
    /// Takes in a call that has ended.
    pub(crate) fn ended(&self, call: &Call<'_>, capture: &Capture) {
        let (now, took) = (self.clock().now(), self.clock().monotonic().saturating_sub(call.began));
        let outcome = call.error.map(Error::code);
        call.function.recorder.record(Ended { at: now, latency: took, outcome, by: call.by });
        dispatcher::with_default(capture.operator(), || tell(call, took));
        self.journal().enter(Entry {
            time: now,
            request_id: call.request_id.clone(),
            function: call.function.path.clone(),
            kind: Some(call.function.kind()),
            outcome,
            took,
            subject: call.caller.identity().map(|identity| identity.subject.as_str().into()),
            deploy_key: call.caller.deploy_key().map(|key| key.name.as_str().into()),
            scheduled: call.by == By::Scheduler,
            error: call.error.map(|error| match error.code().status() {
                500.. => error.chain().into(),
                _ => error.message().into(),
            }),
            log_lines: call.log_lines.clone(),
        });
    }
}

/// Tells the operator: the cause of what is no function's doing, and one line a call.
fn tell(call: &Call<'_>, took: Duration) {
    let (request_id, path) = (&**call.request_id, &*call.function.path);
    if let Some(error) = call.error
        && error.code().status() >= 500
    {
        tracing::error!(target: "convoke::call", request_id, function = path, "{}", error.chain());
    }
    if tracing::enabled!(target: "convoke::call", tracing::Level::INFO) {
        tracing::info!(
            target: "convoke::call",
            request_id,
            function = path,
            kind = call.function.kind().as_str(),
            outcome = call.error.map_or("OK", |error| error.code().as_str()),
            took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            subject = call.caller.identity().map(|identity| identity.subject.as_str()),
            deploy_key = call.caller.deploy_key().map(|key| key.name.as_str()),
            scheduled = (call.by == By::Scheduler).then_some(true),
            "call"
        );
    }
}
