//! The dispatch of a call, for HTTP, tests, schedules and other functions alike.
//!
//! Look up the function, decode the arguments, identify the caller, check the rights, run, encode: `steps` holds this
//! order. An identity is recorded even if its first call has invalid arguments. Earlier steps (limits, route, envelope,
//! credentials) belong to `http` and `auth`; `envelope` writes the response.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tracing::dispatcher;

use super::flow::flow_of;
use super::idempotency::{Repeatable, RepeatableCall, Replayed};
use super::provision::{self, IdentityCache, provision_identity};
use super::timestamp;
use crate::cache::{CachedResult, Plan, ResultCache};
use crate::codec::decode::{self, Body, Envelope};
use crate::codec::{Format, convex_json};
use crate::context::MutationCtx;
use crate::context::handler::{Handlers, Prepared};
use crate::context::shared::Call;
use crate::execute;
use crate::function::{Function, Kind, Visibility};
use crate::logs::{Capture, LogLines};
use crate::observe::{By, Called, CompletedCall, Observers, Rejection, Stage, UsedKey, await_all};
use crate::registry::Registered;
use crate::route::request::RouteRequest;
use crate::services::Services;
use crate::trace::{Failure, Span, SpanKind};
use convoke_core::answer::pieces::Pieces;
use convoke_core::error::{Code, Error, Result};
use convoke_core::excerpt::excerpt;
use convoke_core::identity::{Caller, DeployKeyCaller};
use convoke_store::{Commit, Flow};

/// The end of a call: the value as JSON in the call's format, or an error; and the log lines of the function.
#[derive(Debug)]
pub struct Outcome {
    /// The value's JSON.
    pub result: Result<Pieces>,
    /// The lines.
    pub log_lines: LogLines,
    /// True if the value is that of an earlier call that the client sent again.
    pub is_replayed: bool,
}

/// The function that a request names, and its arguments.
pub enum Request<'a> {
    /// `/api/run/<path>`, with the envelope.
    Run {
        /// `module/path/function`.
        path: &'a str,
        /// The whole body.
        body: &'a [u8],
    },
    /// `/api/query` and its siblings: the path is in the envelope.
    OfKind {
        /// The kind the route names.
        kind: Kind,
        /// The whole body.
        body: &'a [u8],
    },
    /// `/api/query_at_ts`: as the query route, and the envelope has the commit on whose state the query is run.
    QueryAtTs {
        /// The whole body.
        body: &'a [u8],
    },
    /// A message on an open connection: the members of the body above, as separate parts.
    Parts {
        /// The kind that the message names.
        kind: Kind,
        /// `module/path:function` or `module/path/function`.
        path: &'a str,
        /// The arguments' JSON: an object that is already validated.
        args: &'a str,
        /// Format of values.
        format: Format,
    },
    /// The request of a route.
    Route {
        /// The function of the route.
        function: &'a Registered,
        /// The request.
        request: &'a RouteRequest,
    },
    /// A call from this process: the arguments alone.
    Args {
        /// `module/path/function`.
        path: &'a str,
        /// The arguments' JSON.
        args: &'a str,
    },
}

impl Request<'_> {
    /// Returns the path or route that it names before its body is read.
    fn asked(&self) -> &str {
        match self {
            Request::Run { path, .. } | Request::Args { path, .. } | Request::Parts { path, .. } => path,
            Request::Route { function, .. } => &function.path,
            Request::OfKind { kind, .. } => kind.as_str(),
            Request::QueryAtTs { .. } => Kind::Query.as_str(),
        }
    }
}

/// The id of a call in logs, and the span of its request.
pub struct Origin {
    /// The request id.
    pub request_id: Arc<str>,
    /// The span of the request. Without it, the call begins a trace.
    pub span: Option<Span>,
}

impl From<Arc<str>> for Origin {
    fn from(request_id: Arc<str>) -> Self {
        Self { request_id, span: None }
    }
}

/// The request of a call to its function.
struct FunctionRequest<'a> {
    args: Body<'a>,
    format: Format,
    sent: Option<RepeatableCall>,
    /// The commit at which a query runs, if it is not the latest one.
    as_of: Option<Commit>,
}

/// The end of a call of a function.
pub(crate) struct CallEnd<'a> {
    pub function: &'a Registered,
    pub by: By,
    pub key: Option<UsedKey<'a>>,
    pub error: Option<&'a Error>,
    pub log_lines: &'a LogLines,
    pub arguments: Option<Body<'a>>,
    pub result_bytes: Option<usize>,
}

/// Dispatches calls to their functions, and reports each completed call to the observers.
pub struct Dispatcher {
    services: Services,
    handlers: Handlers,
    observers: Observers,
    identities: IdentityCache,
    cache: ResultCache,
    /// True if this process has applied the schema changes that a migration needs.
    is_expanded: AtomicBool,
}

impl Dispatcher {
    pub(crate) fn new(services: Services, observers: Observers) -> Self {
        Self {
            handlers: Handlers::collect(services.registry()),
            cache: ResultCache::new(services.registry(), services.limits(), services.store()),
            services,
            observers,
            identities: IdentityCache::new(provision::CACHED_MAX),
            is_expanded: AtomicBool::new(false),
        }
    }

    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    pub(crate) fn cache(&self) -> &ResultCache {
        &self.cache
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// Runs a call from this process, such as a test. Never panics, and returns exactly one outcome. The format is that
    /// of the request.
    pub async fn call(&self, request: Request<'_>, caller: Caller, request_id: Arc<str>) -> (Outcome, Format) {
        let flow = flow_of(&caller, None);
        self.call_of(request, None, caller, flow, None, request_id.into()).await
    }

    /// As [`Dispatcher::call`], for a call from outside: its address may select the `flow`, a client may send it again,
    /// and it may use a key.
    pub async fn call_of(
        &self,
        request: Request<'_>,
        repeatable: Option<Repeatable>,
        caller: Caller,
        flow: Flow,
        key: Option<UsedKey<'_>>,
        origin: Origin,
    ) -> (Outcome, Format) {
        let Origin { request_id, span } = origin;
        let reach = Reach::of(key.map(|used| used.key));
        let read = match &request {
            Request::Args { args, .. } => Ok((Format::Json, *args)),
            Request::Route { .. } => Ok((Format::Json, "")),
            Request::Parts { args, format, .. } => Ok((*format, *args)),
            Request::Run { body, .. } | Request::OfKind { body, .. } | Request::QueryAtTs { body } => self.read(body),
        };
        let (format, found) = match read {
            Ok((format, text)) => (
                format,
                self.look_up(&request, text, reach).and_then(|(function, args, as_of)| {
                    let sent = delivery(&request)?
                        .or(repeatable)
                        .map(|repeatable| repeatable_call(repeatable, &function, args, &caller))
                        .transpose()?;
                    Ok((function, FunctionRequest { args, format, sent, as_of }))
                }),
            ),
            Err(error) => (Format::Json, Err(error)),
        };
        let (function, wanted) = match found {
            Ok(found) => found,
            Err(error) => {
                let rejection = Rejection { stage: Stage::Envelope, asked: request.asked(), peer: None };
                await_all(self.observe_rejection(rejection, &request_id, &caller, key, &error)).await;
                let (result, log_lines) = (Err(error), LogLines::default());
                return (Outcome { result, log_lines, is_replayed: false }, format);
            }
        };
        let span = match span {
            Some(request) => request.child_with(SpanKind::Internal, || function.path.clone()),
            None => self.root_span(&function),
        };
        let call = Call::new(self.services.clone(), function.def, caller, flow, request_id).within(span.clone());
        let call = Arc::new(call);
        let capture = Capture::new(self.services.limits(), call.request_id.clone(), function.path.clone(), span);
        let (mut is_replayed, args) = (false, wanted.args);
        let ran = self.steps(&function, wanted, call.clone(), &capture).await;
        let mut result = ran.map(|(value, replayed)| {
            is_replayed = replayed;
            value
        });
        if format == Format::ConvexEncoded {
            let encode =
                |value: Pieces| convex_json::encode(&value.joined(), function.bytes_within(), self.services.writer());
            result = result.and_then(encode);
        }
        let log_lines = capture.take();
        let ended = CallEnd {
            function: &function,
            by: By::Caller,
            key,
            error: result.as_ref().err(),
            log_lines: &log_lines,
            arguments: Some(args),
            result_bytes: result.as_ref().ok().map(Pieces::len),
        };
        await_all(self.completed(&call, ended, &capture)).await;
        (Outcome { result, log_lines, is_replayed }, format)
    }

    /// Begins the span of a call that begins a trace.
    fn root_span(&self, function: &Registered) -> Span {
        Span::root(self.services.recorder(), &function.path, SpanKind::Server, None)
    }

    /// Reports a completed call of a function to the observers. Await the returned futures before the response.
    #[must_use]
    pub(crate) fn completed(&self, call: &Call, ended: CallEnd<'_>, capture: &Capture) -> Vec<BoxFuture<'static, ()>> {
        let completed = self.completed_call(call, ended);
        end_span(&completed);
        dispatcher::with_default(capture.operator(), || self.observers.completed(&completed))
    }

    /// Ends the span of a run that is not a call of its own, such as the next run of a live query.
    pub(crate) fn end_span(&self, call: &Call, ended: CallEnd<'_>) {
        end_span(&self.completed_call(call, ended));
    }

    fn completed_call<'a>(&self, call: &'a Call, ended: CallEnd<'a>) -> CompletedCall<'a> {
        let CallEnd { function, by, key, error, log_lines, arguments, result_bytes } = ended;
        let clock = self.services.clock();
        CompletedCall {
            called: Called::Function(function),
            request_id: &call.request_id,
            caller: &call.caller,
            by,
            key,
            at: clock.now(),
            elapsed: clock.monotonic().saturating_sub(call.began),
            error,
            log_lines,
            is_cached: call.is_cached.load(Ordering::Relaxed),
            arguments,
            result_bytes: result_bytes.map(|bytes| bytes as u64),
            rows_read: call.work.rows_read.load(Ordering::Relaxed),
            rows_written: call.work.rows_written.load(Ordering::Relaxed),
            waited: call.work.waited(),
            span: &call.span,
        }
    }

    /// Reports a request that the layer before the calls rejected, before a function was found.
    pub fn rejected(&self, rejection: Rejection<'_>, request_id: &Arc<str>, caller: &Caller, error: &Error) {
        // Only the use of a key returns a future to await, and there is no key here.
        drop(self.observe_rejection(rejection, request_id, caller, None, error));
    }

    fn observe_rejection(
        &self,
        rejection: Rejection<'_>,
        request_id: &Arc<str>,
        caller: &Caller,
        key: Option<UsedKey<'_>>,
        error: &Error,
    ) -> Vec<BoxFuture<'static, ()>> {
        self.observers.completed(&CompletedCall {
            called: Called::Rejected(rejection),
            request_id,
            caller,
            by: By::Caller,
            key,
            at: self.services.clock().now(),
            elapsed: Duration::ZERO,
            error: Some(error),
            log_lines: &LogLines::default(),
            is_cached: false,
            arguments: None,
            result_bytes: None,
            rows_read: 0,
            rows_written: 0,
            waited: Duration::ZERO,
            span: &Span::default(),
        })
    }

    /// Validates a body once, and finds its format before a function runs.
    fn read<'a>(&self, body: &'a [u8]) -> Result<(Format, &'a str)> {
        let text = decode::strict(body, self.services.limits().json_depth_max)?;
        // A body without a format is plain JSON: the common case is one search of bytes.
        if memchr::memmem::find(body, b"format").is_none() && memchr::memchr(b'\\', body).is_none() {
            return Ok((Format::Json, text));
        }
        Ok((Format::named(Envelope::read(text)?.format.as_deref())?, text))
    }

    /// Returns the function that a request names, its arguments as a part of `text`, and the commit that it names.
    fn look_up<'a>(
        &self,
        request: &Request<'a>,
        text: &'a str,
        reach: Reach,
    ) -> Result<(Registered, Body<'a>, Option<Commit>)> {
        match *request {
            Request::Run { path, .. } => Ok((self.find(path, reach)?.clone(), Body::Envelope(text), None)),
            Request::Route { function, request } => Ok((function.clone(), Body::Route(request), None)),
            Request::Args { path, .. } => {
                decode::strict(text.as_bytes(), self.services.limits().json_depth_max)?;
                Ok((self.find(path, reach)?.clone(), Body::Args(text, Format::Json), None))
            }
            Request::Parts { kind, path, format, .. } => {
                Ok((self.find_of(kind, path, reach)?, Body::Args(text, format), None))
            }
            Request::OfKind { kind, .. } => {
                self.look_up_of(kind, text, reach).map(|(function, args, _)| (function, args, None))
            }
            Request::QueryAtTs { .. } => {
                let (function, args, ts) = self.look_up_of(Kind::Query, text, reach)?;
                let as_of = ts.as_deref().and_then(timestamp::read).ok_or_else(|| {
                    Error::new(Code::InvalidEnvelope, "ts must be the text that POST /api/query_ts returned")
                })?;
                Ok((function, args, Some(as_of)))
            }
        }
    }

    /// Returns the function that the envelope of a generic route names, its arguments, and its `ts`.
    fn look_up_of<'a>(
        &self,
        kind: Kind,
        text: &'a str,
        reach: Reach,
    ) -> Result<(Registered, Body<'a>, Option<String>)> {
        let envelope = Envelope::read(text)?;
        let format = Format::named(envelope.format.as_deref())?;
        let path = envelope.path.as_deref().ok_or_else(|| {
            Error::new(Code::InvalidEnvelope, "path is missing; send {\"path\": \"module/path:function\", …}")
        })?;
        Ok((self.find_of(kind, path, reach)?, Body::Args(envelope.args_or_array()?, format), envelope.ts))
    }

    /// Returns the function of this kind at a path in either notation.
    fn find_of(&self, kind: Kind, path: &str, reach: Reach) -> Result<Registered> {
        let function = self.find(&slashed(path), reach)?.clone();
        if function.kind() != kind {
            let is = function.kind();
            let (is, asked, route) = (is.with_article(), kind.with_article(), is.as_str());
            let message = format!("{} is {is}, not {asked}; call it by /api/{route}", function.path);
            return Err(Error::new(Code::WrongFunctionKind, message));
        }
        Ok(function)
    }

    /// Returns the function at a path, for a caller from outside. Without a key that reaches internal functions, an
    /// internal function is reported as missing.
    fn find(&self, path: &str, reach: Reach) -> Result<&Registered> {
        let registry = self.services.registry();
        match registry.get(path) {
            Some(function)
                if function.is_callable_from_outside()
                    || (reach == Reach::Internal && function.def.route.is_none()) =>
            {
                Ok(function)
            }
            _ => {
                let mut message = format!("No function {:?}", excerpt(path));
                let nearest = registry.nearest(path);
                if let Some(nearest) = nearest {
                    message.push_str(&format!("; did you mean {nearest:?}?"));
                }
                let error = Error::new(Code::FunctionNotFound, message);
                Err(match nearest {
                    Some(nearest) => error.with("nearest", nearest),
                    None => error,
                })
            }
        }
    }

    async fn steps(
        &self,
        function: &Registered,
        wanted: FunctionRequest<'_>,
        call: Arc<Call>,
        capture: &Capture,
    ) -> Result<Replayed> {
        let FunctionRequest { args, format, sent, as_of } = wanted;
        let cacheable = if as_of.is_none() { self.cache.request(function, args) } else { None };
        if let Some(cacheable) = &cacheable
            && let Some(cached) = self.cache.find(cacheable, &call)
        {
            // The same arguments were valid before. Recording an identity may change the data that the result depends
            // on.
            provision_identity(&self.identities, &self.handlers, &call).await?;
            require_rights(function, &call.caller)?;
            if cached.is_valid(call.now) {
                return self.serve_cached(&cached, &call, capture).map(first_result);
            }
        }
        let prepared = match self.handlers.prepare(function, args) {
            // A body without an object of arguments is not a call: its caller is not recorded.
            Err(error) if error.code().status() == 400 => return Err(error),
            prepared => prepared,
        };
        provision_identity(&self.identities, &self.handlers, &call).await?;
        let prepared = prepared?;
        require_rights(function, &call.caller)?;
        let capture = capture.clone();
        match prepared {
            Prepared::Query(query) => {
                let services = self.services.clone();
                let work = move |ctx: &_| {
                    let mut out = services.writer();
                    query.run(ctx, &mut out)?;
                    out.finish()
                };
                if let Some(as_of) = as_of {
                    return execute::query_as_of(call, capture, function, as_of, work).await.map(first_result);
                }
                let Some(cacheable) = cacheable else {
                    return execute::query(call, capture, function, work).await.map(first_result);
                };
                let result = match self.cache.plan(cacheable, &call).await {
                    Err(cached) => self.serve_cached(&cached, &call, &capture),
                    Ok(Plan::Run) => execute::query(call, capture, function, work).await,
                    Ok(Plan::RunAndCache(pending)) => {
                        let ran = execute::recorded_query(call.clone(), capture.clone(), function, work).await;
                        ran.map(|(result, reads)| {
                            pending.store(&result, &capture.so_far(), reads, &call);
                            result
                        })
                    }
                };
                result.map(first_result)
            }
            Prepared::Mutation(mutation) => {
                if function.is_migration() {
                    self.services.before_migration(&self.is_expanded).await?;
                }
                let services = self.services.clone();
                let run = move |ctx: &mut MutationCtx| {
                    let mut out = services.writer();
                    mutation.run(ctx, &mut out)?;
                    let value = out.finish()?;
                    if format == Format::ConvexEncoded {
                        // A result that the client cannot read is an error, and an error rolls back the writes.
                        convex_json::require_encodable(&value.joined())?;
                    }
                    Ok(value)
                };
                let work = move |ctx: &mut MutationCtx| match &sent {
                    Some(sent) => ctx.once_sent(sent, &run),
                    None => run(ctx).map(first_result),
                };
                let done = execute::mutation(call.clone(), capture, function, work).await;
                if done.is_ok() && function.def.visibility == Visibility::Admin {
                    self.services.after_admin_mutation(&call).await;
                }
                done
            }
            Prepared::Action(action) => {
                // It may do its work outside, and then fail at its first mutation.
                self.services.store().may_write()?;
                let permit = self.services.action_permit()?;
                let out = self.services.writer();
                let done = execute::action(call, capture, permit, move |ctx| action.run(ctx, out)).await;
                done.map(first_result).map_err(started_error)
            }
        }
    }

    /// Returns a cached result for a call, if the store may serve it.
    fn serve_cached(&self, cached: &CachedResult, call: &Call, capture: &Capture) -> Result<Pieces> {
        self.services.store().may_read(execute::access(call))?;
        let (result, log_lines) = self.cache.serve(cached, call)?;
        capture.append(log_lines);
        Ok(result)
    }

    /// Returns the query at a path, for a caller from outside.
    pub(crate) fn query(&self, path: &str, caller: &Caller) -> Result<Registered> {
        let function = self.find(&slashed(path), Reach::of(caller.deploy_key()))?;
        match function.kind() {
            Kind::Query => Ok(function.clone()),
            kind => {
                let message = format!("{} is {}, and only queries are live", function.path, kind.with_article());
                Err(Error::new(Code::WrongFunctionKind, message))
            }
        }
    }

    /// Records the identity of a call whose function runs later, and checks the rights that the function does not check
    /// itself.
    pub(crate) async fn admit(&self, function: &Registered, call: &Arc<Call>) -> Result<()> {
        provision_identity(&self.identities, &self.handlers, call).await?;
        require_rights(function, &call.caller)
    }

    /// Runs a function, named by its type, as `caller`: for tests and programs that embed the runtime.
    ///
    /// # Errors
    /// Those of the function and of the runtime.
    pub async fn run<F: Function>(&self, caller: Caller, args: impl Into<F::Args>) -> Result<F::Output>
    where
        F::Kind: execute::Run<F>,
    {
        let function = self.services.function::<F>()?;
        let request_id = self.services.request_id();
        let span = self.root_span(&function);
        let capture = Capture::new(self.services.limits(), request_id.clone(), function.path.clone(), span.clone());
        let flow = flow_of(&caller, None);
        let call = Call::new(self.services.clone(), F::DEF, caller, flow, request_id).within(span);
        let call = Arc::new(call);
        let steps = async {
            provision_identity(&self.identities, &self.handlers, &call).await?;
            require_rights(&function, &call.caller)?;
            <F::Kind as execute::Run<F>>::start(call.clone(), capture.clone(), args.into()).await
        };
        let result = steps.await;
        let log_lines = capture.take();
        let ended = CallEnd {
            function: &function,
            by: By::Caller,
            key: None,
            error: result.as_ref().err(),
            log_lines: &log_lines,
            arguments: None,
            result_bytes: None,
        };
        await_all(self.completed(&call, ended, &capture)).await;
        result
    }
}

/// Ends the span of a call. Arguments and identities are not attributes: collectors store them for long.
fn end_span(call: &CompletedCall<'_>) {
    let span = call.span;
    let Called::Function(function) = &call.called else { return };
    if !span.is_recorded() {
        return;
    }
    span.set("convoke.function", &*function.path);
    span.set("convoke.kind", function.kind().as_str());
    span.set("convoke.request_id", &**call.request_id);
    span.set("convoke.outcome", call.outcome().map_or("OK", Code::as_str));
    span.set("convoke.cached", call.is_cached);
    span.set("convoke.rows_read", call.rows_read);
    span.set("convoke.rows_written", call.rows_written);
    span.set("convoke.waited_us", u64::try_from(call.waited.as_micros()).unwrap_or(u64::MAX));
    span.end(call.error.and_then(Failure::of));
}

/// The functions that a caller from outside can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Callable,
    Internal,
}

impl Reach {
    fn of(key: Option<&DeployKeyCaller>) -> Self {
        if key.is_some_and(DeployKeyCaller::may_call_internal) { Reach::Internal } else { Reach::Callable }
    }
}

/// Converts a path to the registered form. The Convex clients separate a function from its module by a colon, and some
/// of them name the module's file when they reconnect: `a/b:c`, `a/b.js:c`.
fn slashed(path: &str) -> String {
    path.replace(".js:", "/").replace(':', "/")
}

/// Returns the value of a first request.
fn first_result(value: Pieces) -> Replayed {
    (value, false)
}

/// Returns the record of a call that the client may send again.
fn repeatable_call(
    repeatable: Repeatable,
    function: &Registered,
    args: Body<'_>,
    caller: &Caller,
) -> Result<RepeatableCall> {
    if function.kind() != Kind::Mutation {
        let (path, kind) = (&function.path, function.kind().with_article());
        let message = format!("Only a mutation may carry an Idempotency-Key, and {path} is {kind}");
        return Err(Error::new(Code::WrongFunctionKind, message));
    }
    repeatable.check(caller)?;
    RepeatableCall::new(repeatable, args)
}

/// Returns the sender's id of an event, if the route of the request has one.
///
/// # Errors
/// `INVALID_ARGUMENT`: the request has no such id.
fn delivery(request: &Request<'_>) -> Result<Option<Repeatable>> {
    let Request::Route { function, request } = request else { return Ok(None) };
    let once = function.def.route.and_then(|route| route.once);
    once.map(|once| Repeatable::delivery(once, request)).transpose()
}

/// Converts the error of an action: a 503 says that nothing was started, so an error that occurs within the action
/// becomes its own.
fn started_error(error: Error) -> Error {
    match error.code() {
        Code::Overloaded | Code::NotReady => Error::unavailable(error.message().to_owned()).caused_by(error),
        _ => error,
    }
}

/// Lets only a deploy key or an identity with the role `admin` call an admin function. The check comes before the body,
/// which runs for no other caller. The function must check the caller's row, and which data the caller may access.
///
/// Only the operator may call a migration: its first part changes the schema, whatever its body checks later.
fn require_rights(function: &Registered, caller: &Caller) -> Result<()> {
    match (function.def.visibility, caller) {
        (Visibility::Public | Visibility::Internal, _) => Ok(()),
        (Visibility::Admin, Caller::Nobody) => Err(Error::unauthenticated("Authentication required")),
        (Visibility::Admin, Caller::User(identity)) if !identity.has_role("admin") || function.is_migration() => {
            Err(Error::forbidden("Access denied: Insufficient permissions"))
        }
        (Visibility::Admin, Caller::User(_) | Caller::DeployKey(_) | Caller::System) => Ok(()),
    }
}
