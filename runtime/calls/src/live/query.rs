//! One live query: a function with its arguments, and one run of it on a snapshot.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;

use super::AskedQuery;
use crate::call::dispatch::{CallEnd, Dispatcher};
use crate::call::envelope;
use crate::codec::decode::Body;
use crate::codec::{Format, convex_json};
use crate::context::QueryCtx;
use crate::context::handler::Prepared;
use crate::context::shared::Call;
use crate::inputs::Inputs;
use crate::logs::Capture;
use crate::observe::By;
use crate::registry::Registered;
use crate::trace::{Span, SpanKind};
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error, Result};
use convoke_core::identity::Caller;
use convoke_store::{Commit, Flow, PageEnds, ReadSet, RecordingReader};

/// The key of a live query, the same for every caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueryKey {
    /// The function.
    pub path: Arc<str>,
    /// The arguments' JSON, members by name.
    pub args: Arc<str>,
    /// Format of the values in the arguments and in the result.
    pub format: Format,
    /// The end of its pages, if it reads pages again.
    pub journal: Option<Arc<str>>,
}

/// One run of a query.
pub(crate) struct Run {
    /// Its result: the members of a result's object after `"query":N,`, and the closing brace.
    pub json: Bytes,
    /// Its error, if it failed.
    pub failed: Option<Code>,
    /// The end of its pages, if it read any.
    pub journal: Option<Arc<str>>,
    /// Its reads.
    pub reads: ReadSet,
    /// The other inputs that its result may depend on.
    pub inputs: Inputs,
    /// The time at which its result changes without a change of its reads or inputs.
    pub until: Millis,
    /// The commit of its snapshot.
    pub commit: Commit,
}

impl Run {
    /// Returns true if other subscriptions to the same query may share its result.
    pub(crate) fn is_for_everybody(&self) -> bool {
        self.inputs.is_none() && !self.reads.is_unannounced && !self.failed.is_some_and(is_transient_error)
    }

    /// Returns true if its result becomes outdated without a commit.
    pub(crate) fn ages(&self) -> bool {
        self.inputs.has(Inputs::UNANNOUNCED) || self.reads.is_unannounced || self.failed.is_some_and(is_transient_error)
    }
}

/// Returns true for a transient error: another run may succeed.
pub(crate) fn is_transient_error(code: Code) -> bool {
    matches!(
        code,
        Code::Overloaded | Code::Timeout | Code::Unavailable | Code::NotReady | Code::RateLimited | Code::Internal
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunReason {
    /// A new subscription: the run is charged and counted as a call.
    Subscribed,
    /// A change of its reads or inputs.
    Again,
}

impl RunReason {
    const fn as_str(self) -> &'static str {
        match self {
            RunReason::Subscribed => "subscribed",
            RunReason::Again => "again",
        }
    }
}

/// The parts of a run beside its snapshot.
pub(crate) struct RunRequest {
    pub question: Arc<QueryKey>,
    pub function: Registered,
    pub caller: Caller,
    pub flow: Flow,
    pub why: RunReason,
}

impl RunRequest {
    /// Runs the query on a snapshot of `commit`. It always returns a result that can be sent.
    pub(crate) fn run(&self, dispatcher: &Dispatcher, reader: &Rc<RecordingReader>, commit: Commit) -> Run {
        let services = dispatcher.services();
        let (caller, request_id) = (self.caller.clone(), services.request_id());
        let span = Span::root(services.recorder(), &self.function.path, SpanKind::Internal, None);
        span.set("convoke.live", self.why.as_str());
        let call = Call::new(services.clone(), self.function.def, caller, self.flow, request_id.clone()).within(span);
        let call = Arc::new(match self.why {
            RunReason::Subscribed => call,
            RunReason::Again => call.paid(),
        });
        let capture = Capture::new(services.limits(), request_id, self.function.path.clone(), call.span.clone());
        let visited = reader.rows_observed();
        let within = || catch_unwind(AssertUnwindSafe(|| self.value(dispatcher, reader, &call)));
        let result = capture.within(within).unwrap_or_else(|panic| Err(Error::panicked(&*panic)));
        let (result, journal) = match result {
            Ok((value, journal)) => (Ok(value), journal),
            Err(error) => (Err(error), None),
        };
        call.work.rows_read.fetch_add(reader.rows_observed().saturating_sub(visited), Relaxed);
        let log_lines = capture.take();
        let error = result.as_ref().err();
        let ended = CallEnd {
            function: &self.function,
            by: By::Caller,
            key: None,
            error,
            log_lines: &log_lines,
            arguments: Some(Body::Args(&self.question.args, self.question.format)),
            result_bytes: result.as_ref().ok().map(Vec::len),
        };
        match self.why {
            // The returned future only records the use of a key, which the connection does itself.
            RunReason::Subscribed => drop(dispatcher.completed(&call, ended, &capture)),
            RunReason::Again => dispatcher.end_span(&call, ended),
        }
        let failed = error.map(Error::code);
        let json = match result {
            Ok(value) => {
                let mut json = Vec::with_capacity(value.len() + 32);
                json.extend_from_slice(br#""status":"success","value":"#);
                json.extend_from_slice(&value);
                json.push(b'}');
                json
            }
            // The members follow the opening brace.
            Err(error) => match self.question.format {
                Format::Json => envelope::failure(&error, &log_lines),
                Format::ConvexEncoded => envelope::failure(&envelope::encoded_error(error), &log_lines),
            }
            .split_off(1),
        };
        let (reads, inputs, until) = (reader.take(), call.inputs.used(), call.inputs.until());
        Run { json: json.into(), failed, journal, reads, inputs, until, commit }
    }

    /// Returns the value's JSON, and the end of the pages that were read.
    fn value(
        &self,
        dispatcher: &Dispatcher,
        reader: &Rc<RecordingReader>,
        call: &Arc<Call>,
    ) -> Result<(Vec<u8>, Option<Arc<str>>)> {
        let QueryKey { args, format, journal, .. } = &*self.question;
        let Prepared::Query(query) = dispatcher.handlers().prepare(&self.function, Body::Args(args, *format))? else {
            return Err(Error::internal("a live query is not a query"));
        };
        let services = dispatcher.services();
        let ends = Rc::new(PageEnds::read(journal.as_deref())?);
        let db = services.database().db(reader.clone()).with_page_ends(ends.clone());
        let ctx = QueryCtx::new(call.clone(), db);
        let mut out = services.writer();
        query.run(&ctx, &mut out)?;
        let value = out.finish()?;
        let value = match format {
            Format::Json => value,
            Format::ConvexEncoded => {
                convex_json::encode(&value.joined(), self.function.bytes_within(), services.writer())?
            }
        };
        Ok((value.joined().into_owned(), ends.journal().map(Arc::from)))
    }
}

impl QueryKey {
    /// Converts it to the client's request.
    pub(crate) fn to_asked(&self) -> AskedQuery {
        let journal = self.journal.as_deref().map(str::to_owned);
        AskedQuery { path: self.path.to_string(), args: self.args.to_string(), format: self.format, journal }
    }

    /// Creates the key from a request. Its arguments are in canonical form, so that equal arguments give equal keys.
    ///
    /// # Errors
    /// `INVALID_ENVELOPE` if the arguments are not JSON.
    pub(crate) fn new(path: Arc<str>, asked: &AskedQuery) -> Result<Self> {
        let args: serde_json::Value = serde_json::from_str(&asked.args)
            .map_err(|error| Error::new(Code::InvalidEnvelope, format!("args is not JSON: {error}")))?;
        // Objects of serde_json are ordered by name.
        let journal = asked.journal.as_deref().map(Arc::from);
        Ok(Self { path, args: args.to_string().into(), format: asked.format, journal })
    }
}
