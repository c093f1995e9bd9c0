//! The operator's log of calls: one line a call, of every caller: function, kind, outcome, duration, request id, and the
//! subject of the identity. No token and no key is known here.

use futures_util::future::BoxFuture;

use crate::observe::{By, CallObserver, Called, CompletedCall};

/// Tells the operator of each call; of a failure that is no function's doing also the cause. A call that was rejected for
/// now has its line and is counted, and no more: such calls come by the thousand.
pub(crate) struct CallLog;

impl CallObserver for CallLog {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        let Called::Function(function) = call.called else { return None };
        let (request_id, path) = (&**call.request_id, &*function.path);
        if let Some(error) = call.error
            && error.code().status() == 500
        {
            tracing::error!(target: "convoke::call", request_id, function = path, "{}", error.chain());
        }
        if tracing::enabled!(target: "convoke::call", tracing::Level::INFO) {
            tracing::info!(
                target: "convoke::call",
                request_id,
                function = path,
                kind = function.kind().as_str(),
                outcome = call.outcome().map_or("OK", |code| code.as_str()),
                took_us = u64::try_from(call.elapsed.as_micros()).unwrap_or(u64::MAX),
                subject = call.caller.identity().map(|identity| identity.subject.as_str()),
                deploy_key = call.caller.deploy_key().map(|key| key.name.as_str()),
                scheduled = (call.by == By::Scheduler).then_some(true),
                "call"
            );
        }
        None
    }
}
