//! The seam between the listener and what answers calls.
//!
//! The listener hands on requests that are whole, within their limits and addressed to a route; everything that a
//! route *means* is the handler's.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Uri};

use super::browser::Browser;
use super::credentials::Authorization;
use super::response_body::Body;
use super::routes::{Params, Routes};
use super::server::Traffic;
use super::trace::TraceParent;
use super::web_socket::Upgrade;
use convoke_core::answer::budget::Budget;
use convoke_core::error::Code;

/// Answers the requests of a [`Server`](super::Server).
///
/// # Dropped calls
/// A call over HTTP/1 is polled in its connection's own task, so that a short query pays for no task of its own. A
/// client that goes away does not stop it: the connection waits for the call and only then notices. Over HTTP/2 a
/// stream that is reset leaves its call running in a task of its own. So a future returned here is dropped early in
/// two cases only: the drain's time is over, or the connection ended while an earlier pipelined answer was being
/// written, because the socket broke or the client took too little of it.
/// Work that must not stop half-way (a mutation) must therefore not live in the future itself: hand it to the thread
/// that executes it and let the future only wait for the outcome.
pub trait Handler: Send + Sync + 'static {
    /// What its routes lead to.
    type Endpoint: Copy + Send + Sync + 'static;

    /// Its routes.
    fn routes(&self) -> &Routes<Self::Endpoint>;

    /// Answers one request. A panic in it becomes a 500 for this request alone.
    fn call(&self, request: Box<Incoming<Self::Endpoint>>) -> impl Future<Output = Reply> + Send;

    /// Whether a call would be served now; if not, why, for `/readyz`.
    ///
    /// # Errors
    /// One sentence that an operator understands.
    fn ready(&self) -> Result<(), String>;

    /// Who hears of requests that the listener rejects by itself, before there is a call.
    fn rejections(&self) -> &dyn RejectionObserver {
        &()
    }

    /// Is handed the listener's counters, once, before the first request.
    fn bound(&self, _traffic: &Arc<Traffic>) {}

    /// Whether a call would find room now, asked before its body is read. It reserves nothing.
    ///
    /// # Errors
    /// What the client of an `OVERLOADED` reads.
    fn room(&self, _request: &Incoming<Self::Endpoint>) -> Result<(), &'static str> {
        Ok(())
    }

    /// What this charges the bytes of its answers to while it makes them. Without it the listener charges them, to a
    /// budget of its own, when they are made.
    fn answers(&self) -> Option<Arc<Budget>> {
        None
    }
}

/// Hears of requests that the listener answered with an error itself.
pub trait RejectionObserver {
    /// A request was rejected. It must not wait.
    fn rejected(&self, request: RejectedRequest<'_>);
}

/// Nobody hears of them.
impl RejectionObserver for () {
    fn rejected(&self, _: RejectedRequest<'_>) {}
}

/// A request that never became an [`Incoming`].
#[derive(Clone, Copy, Debug)]
pub struct RejectedRequest<'a> {
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
    type Endpoint = H::Endpoint;

    fn routes(&self) -> &Routes<H::Endpoint> {
        H::routes(self)
    }

    fn call(&self, request: Box<Incoming<H::Endpoint>>) -> impl Future<Output = Reply> + Send {
        H::call(self, request)
    }

    fn ready(&self) -> Result<(), String> {
        H::ready(self)
    }

    fn rejections(&self) -> &dyn RejectionObserver {
        H::rejections(self)
    }

    fn bound(&self, traffic: &Arc<Traffic>) {
        H::bound(self, traffic);
    }

    fn room(&self, request: &Incoming<H::Endpoint>) -> Result<(), &'static str> {
        H::room(self, request)
    }

    fn answers(&self) -> Option<Arc<Budget>> {
        H::answers(self)
    }
}

/// One request whose body is whole and within its limits.
#[derive(Debug)]
pub struct Incoming<E> {
    /// What its route leads to.
    pub endpoint: E,
    /// Its method; HEAD arrives as GET.
    pub method: Method,
    /// What it is addressed to, as sent.
    pub uri: Uri,
    /// What stands in the path where the route leaves it open.
    pub(super) params: Params,
    /// The `Authorization` field; a request with two of them never gets here.
    pub authorization: Option<Authorization>,
    /// Whether it came by the control socket: a process that can open that holds the data folder.
    pub is_operator: bool,
    /// The `X-Convoke-Act-As` field, of a request by the control socket or by an own page: the base64 JSON of an
    /// identity.
    pub act_as: Option<HeaderValue>,
    /// The caller's `X-Request-Id` if it had a usable one, else one made here. The listener echoes it.
    pub request_id: Arc<str>,
    /// The caller's W3C trace context.
    pub trace_parent: Option<TraceParent>,
    /// The client: the socket's peer, or what a trusted proxy says it forwards for.
    pub peer: IpAddr,
    /// Whether the client is as far as is known a trusted proxy itself: it stands for many.
    pub is_of_proxy: bool,
    /// What turns the connection into a WebSocket, where the route's class says so.
    pub upgrade: Option<Box<Upgrade>>,
    /// The whole body; empty where the route takes none, and while [`Handler::room`] is asked.
    pub body: Bytes,
    /// The `Idempotency-Key` field; a request with two of them never gets here.
    pub idempotency_key: Option<HeaderValue>,
    /// What the client has of a document already: its `If-None-Match`. Not read of a call.
    pub if_none_match: Option<HeaderValue>,
    /// What the client has of a stream already: its `Last-Event-ID`. Read where the route's class says so.
    pub last_event: Option<HeaderValue>,
    /// Whether the client takes a document in gzip. Not read of a call.
    pub accepts_gzip: bool,
    /// What a browser says of the page that asks. Read where the route's class says so.
    pub browser: Option<Box<Browser>>,
}

impl<E> Incoming<E> {
    /// What stands in the path where the route leaves it open, number `place` of those; percent-decoded.
    pub fn param(&self, place: usize) -> &str {
        self.params.get(place, self.uri.path())
    }

    /// The member `name` of the query, decoded; the first if there are several, none if it is empty.
    pub fn query(&self, name: &str) -> Option<String> {
        query_member(self.uri.query().unwrap_or_default(), name)
    }
}

/// The member `name` of a query as sent, decoded; the first if there are several, none if it is empty.
pub fn query_member(query: &str, name: &str) -> Option<String> {
    let (_, value) = form_urlencoded::parse(query.as_bytes()).find(|(own, _)| own == name)?;
    (!value.is_empty()).then(|| value.into_owned())
}

/// Every member `name` of a query that is not empty, decoded, in their order.
pub fn query_members(query: &str, name: &str) -> Vec<String> {
    let members = form_urlencoded::parse(query.as_bytes());
    members.filter(|(own, value)| own == name && !value.is_empty()).map(|(_, value)| value.into_owned()).collect()
}

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
    pub fn json(status: u16, body: impl Into<Body>) -> Self {
        Self::of(status, JSON, body.into())
    }

    /// A body of this type, which may be a stream.
    pub fn of(status: u16, content_type: &'static str, body: Body) -> Self {
        Self { status, body, content_type, www_authenticate: None, retry_after_s: None, fields: vec![] }
    }
}
