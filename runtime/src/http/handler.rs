//! The seam between the listener and what answers calls.
//!
//! The listener hands on requests that are whole, within their limits and addressed to a route; everything that a
//! route *means* is the handler's.

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Uri};

use super::outgoing::Body;
use super::server::Traffic;
use super::trace::TraceParent;
use crate::error::Code;

/// Answers the requests of a [`Server`](super::Server).
///
/// # Dropped calls
/// A call over HTTP/1 is polled in its connection's own task, so that a short query pays for no task of its own. A
/// client that goes away does not stop it: the connection waits for the call and only then notices. Over HTTP/2 a
/// stream that is reset leaves its call running in a task of its own. So a future returned here is dropped early in
/// two cases only: the drain's time is over, or the socket broke while an earlier pipelined answer was being written.
/// Work that must not stop half-way (a mutation) must therefore not live in the future itself: hand it to the thread
/// that executes it and let the future only wait for the outcome.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request. A panic in it becomes a 500 for this request alone.
    fn call(&self, request: Incoming) -> impl Future<Output = Reply> + Send;

    /// Whether a call would be served now; if not, why, for `/readyz`.
    ///
    /// # Errors
    /// One sentence that an operator understands.
    fn ready(&self) -> Result<(), String>;

    /// Hears of a request that the listener answered with an error itself. It must not wait.
    fn refused(&self, _refusal: Refusal<'_>) {}

    /// Is handed the listener's counters, once, before the first request.
    fn bound(&self, _traffic: &Arc<Traffic>) {}
}

/// A request that never became an [`Incoming`].
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// What the client reads as `errorData.code`.
    pub code: Code,
    /// What it reads as the message.
    pub message: &'static str,
    /// Its id.
    pub request_id: &'a str,
    /// Its method.
    pub method: &'a Method,
    /// Its path, as sent; without the query, which may hold a secret.
    pub path: &'a str,
    /// The client, as far as it is known by then.
    pub peer: IpAddr,
}

impl<H: Handler> Handler for Arc<H> {
    fn call(&self, request: Incoming) -> impl Future<Output = Reply> + Send {
        H::call(self, request)
    }

    fn ready(&self) -> Result<(), String> {
        H::ready(self)
    }

    fn refused(&self, refusal: Refusal<'_>) {
        H::refused(self, refusal);
    }

    fn bound(&self, traffic: &Arc<Traffic>) {
        H::bound(self, traffic);
    }
}

/// One request whose body is whole and within its limits.
#[derive(Debug)]
pub struct Incoming {
    /// What it is addressed to.
    pub target: Target,
    /// The `Authorization` field; a request with two of them never gets here.
    pub authorization: Option<HeaderValue>,
    /// Whether it came by the control socket: whoever can open that holds the data folder.
    pub is_operator: bool,
    /// The `X-Convoke-Act-As` field, of a request by the control socket only: the base64 JSON of an identity.
    pub act_as: Option<HeaderValue>,
    /// The caller's `X-Request-Id` if it had a usable one, else one made here. The listener echoes it.
    pub request_id: Arc<str>,
    /// The caller's W3C trace context.
    pub trace_parent: Option<TraceParent>,
    /// The client: the socket's peer, or what a trusted proxy says it forwards for.
    pub peer: IpAddr,
    /// The whole body; empty for GET and HEAD.
    pub body: Bytes,
    /// What the client has of a document already: its `If-None-Match`. Not read of a call.
    pub if_none_match: Option<HeaderValue>,
    /// Whether the client takes a document in gzip. Not read of a call.
    pub accepts_gzip: bool,
}

/// What a request is addressed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `POST /api/run/{module/path}/{function}`.
    Run(RunPath),
    /// `POST /api/query`, `/api/mutation`, `/api/action`: the body names the function.
    Kind(RouteKind),
    /// Anything below `/api/admin/`, with the method and the path and query behind that prefix.
    Admin {
        /// As sent; HEAD arrives as GET.
        method: Method,
        /// What follows `/api/admin/`, percent-decoded, without the query.
        path: String,
        /// The query as sent, without its `?`.
        query: Option<String>,
    },
    /// `GET /metrics`, from the ops listener or this machine.
    Metrics,
    /// `GET /openapi.json`.
    OpenApi,
    /// `GET /docs`, with what follows `/docs/`, percent-decoded; empty for the page itself.
    Docs(String),
}

impl Target {
    /// What it is addressed to, for the log: the function's path where the route has it.
    pub fn asked(&self) -> &str {
        match self {
            Target::Run(path) => path,
            Target::Kind(RouteKind::Query) => "query",
            Target::Kind(RouteKind::Mutation) => "mutation",
            Target::Kind(RouteKind::Action) => "action",
            Target::Admin { path, .. } => path,
            Target::Metrics => "metrics",
            Target::OpenApi => "openapi.json",
            Target::Docs(_) => "docs",
        }
    }
}

/// The kind of function that a generic route runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RouteKind {
    /// `/api/query`.
    Query,
    /// `/api/mutation`.
    Mutation,
    /// `/api/action`.
    Action,
}

/// What follows `/api/run/`, percent-decoded and never empty: `module/path/function`.
///
/// It borrows from the request line where nothing had to be decoded, which is every call of a well-made client.
#[derive(Clone)]
pub struct RunPath(Inner);

#[derive(Clone)]
enum Inner {
    Line { uri: Uri, skip: usize },
    Decoded(String),
}

impl RunPath {
    /// The path of `uri` behind its first `skip` bytes, which nothing has to be decoded in.
    pub(super) fn of(uri: Uri, skip: usize) -> Self {
        Self(Inner::Line { uri, skip })
    }

    /// A path that stands for itself.
    pub(super) fn decoded(path: Cow<'_, str>) -> Self {
        Self(Inner::Decoded(path.into_owned()))
    }
}

impl Deref for RunPath {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Inner::Line { uri, skip } => uri.path().get(*skip..).unwrap_or_default(),
            Inner::Decoded(path) => path,
        }
    }
}

impl std::fmt::Debug for RunPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for RunPath {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for RunPath {}

/// What goes back. For `/api/*` the body is always an envelope.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body: whole, or a stream.
    pub body: Body,
    /// As it stands in `Content-Type`.
    pub content_type: &'static str,
    /// The challenge of a 401 (RFC 6750 §3).
    pub www_authenticate: Option<String>,
    /// Seconds after which a retry makes sense.
    pub retry_after_s: Option<u32>,
    /// Further fields, which stand in place of those that the listener would set.
    pub fields: Vec<(HeaderName, HeaderValue)>,
}

/// The content type of every envelope.
pub const JSON: &str = "application/json";

impl Reply {
    /// A JSON body with this status.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self::of(status, JSON, Body::from(body.into()))
    }

    /// A body of this type, which may be a stream.
    pub fn of(status: u16, content_type: &'static str, body: Body) -> Self {
        Self { status, body, content_type, www_authenticate: None, retry_after_s: None, fields: vec![] }
    }
}
