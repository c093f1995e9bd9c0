//! Checks one request, and rejects it, responds itself, or passes it to the [`Handler`].
//!
//! Only this file defines the order of the checks: a rejection by the wire, the route, the drain, the rate, the content
//! type, the body. After these checks the handler gets the request.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use hyper::body::Body as _;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use super::body::{self, BodyLimits};
use super::body_stream::BodyStream;
use super::browser::{self, Browser};
use super::compression;
use super::connection::Connection;
use super::convex_compat;
use super::cors;
use super::drain::Phase;
use super::handler::{Handler, RejectedRequest};
use super::headers::{Field, Headers};
use super::reply::{JSON, Reply};
use super::request::{Authorization, Incoming};
use super::request_id::{RequestId, X_REQUEST_ID};
use super::response_body::{Body, ResponseBody};
use super::routes::{BodyRule, Caching, Class, Destination, Found, Listener, Next};
use super::web_socket::{Upgrade, UpgradeContext};
use crate::wire::head;
use crate::wire::rejection::Rejection;
use convoke_core::error::{Code, INTERNAL_MESSAGE};
use convoke_core::trace_context::TraceContext;

/// Responds to one request of `connection`. Never fails: every error becomes a response.
pub(crate) async fn answer<H: Handler>(
    connection: Arc<Connection<H>>,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    if request.version() != Version::HTTP_2 {
        // A client that does not read its responses gets no further ones, regardless of how many requests it has
        // pipelined.
        connection.activity.backlog.writable().await;
    }
    let call = connection.activity.begin();
    let (parts, body) = request.into_parts();
    let fields = Headers::of(&parts.headers);
    let is_convex_client = convex_compat::is_convex_client(&parts.headers);
    let (id, id_field) = RequestId::of(fields.request_id.once());
    let local = browser::is_local(&connection.facts, &parts, &fields);
    let found = connection.server.handler.routes().find(connection.facts.listener, local, &parts.method, &parts.uri);
    log_rejected_origin(&connection, &parts, found.class, &fields);
    let mut response_head = ResponseHead::of(&connection, &parts.method, found.class, &fields);
    let mut body = Some(body);
    let exchanged = exchange(&connection, &parts, found, &fields, &mut body, id, &mut response_head).await;
    if let Some(unread) = body {
        let rejected = exchanged.as_ref().err().map(|rejection| rejection.code);
        response_head.close |= discard_body(&connection, parts.version, unread, rejected).await;
    }
    let mut reply = match exchanged {
        Ok(reply) => reply,
        Err(rejection) => {
            connection.server.traffic.refusals.fetch_add(1, Ordering::Relaxed);
            let peer = connection.server.proxies.client(connection.facts.peer, &parts.headers);
            let (method, path) = (&parts.method, parts.uri.path());
            let Rejection { code, message } = rejection;
            let request = RejectedRequest { code, message, request_id: &id, method, path, peer };
            connection.server.handler.rejections().rejected(request);
            response_head.close |= rejection.closes();
            rejection.into()
        }
    };
    if is_convex_client {
        reply = convex_compat::in_convex_form(reply);
    }
    if reply.body.is_stream() {
        let server = Arc::clone(&connection.server);
        reply.body = reply.body.until(async move { server.drain.draining().await });
    }
    if connection.server.compression {
        reply = compression::compressed(reply, &parts.headers).await;
    }
    reply.body.charge(&connection.server.answers);
    let activity = Arc::clone(&connection.activity);
    Ok(response_head.apply(reply, id_field).map(|body| ResponseBody::new(body, call, activity)))
}

/// Time that a drain waits for the rest of a request's body. The call has not begun, so the client can send it to
/// another server.
const BODY_GRACE: Duration = Duration::from_millis(500);

const DRAINING: Rejection = Rejection { code: Code::NotReady, message: "The server is shutting down." };
const OVERRUN: Rejection = Rejection {
    code: Code::Overloaded,
    message: "Too many calls or responses of this connection are still in progress.",
};
const TOO_MANY: Rejection = Rejection { code: Code::TooManyRequests, message: "Too many calls from this address." };
const WRONG_METHOD: Rejection = Rejection { code: Code::MethodNotAllowed, message: "This route has no such method." };
const NOT_JSON: Rejection =
    Rejection { code: Code::UnsupportedMediaType, message: "The body must be declared as application/json." };
const COMPRESSED: Rejection =
    Rejection { code: Code::UnsupportedMediaType, message: "The body must not be compressed." };
const TWO_CREDENTIALS: Rejection =
    Rejection { code: Code::BadRequest, message: "The request has more than one Authorization field." };
const TWO_HOSTS: Rejection = Rejection { code: Code::BadRequest, message: "The request has more than one Host field." };
const TWO_KEYS: Rejection =
    Rejection { code: Code::BadRequest, message: "The request has more than one Idempotency-Key field." };
const FOREIGN_PAGE: Rejection = Rejection {
    code: Code::BadRequest,
    message: "A page of this origin may not call this route; the setting cors_origins (--cors-origin) allows it.",
};
const PANICKED: Rejection = Rejection { code: Code::Internal, message: INTERNAL_MESSAGE };

async fn exchange<H: Handler>(
    connection: &Arc<Connection<H>>,
    parts: &Parts,
    found: Found<'_, H::Endpoint>,
    fields: &Headers<'_>,
    body: &mut Option<hyper::body::Incoming>,
    id: RequestId,
    response_head: &mut ResponseHead,
) -> Result<Reply, Rejection> {
    if is_stand_in(&parts.method, &parts.uri)
        && let Some(rejection) = connection.activity.closing.rejection()
    {
        return Err(rejection);
    }
    check_head(connection, parts, fields)?;
    let server = &connection.server;
    let (destination, params) = match found.next? {
        Next::Destination(destination, params) => (destination, params),
        Next::Options(allow) => {
            response_head.answer_options(allow.into_owned());
            let field = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let fields = found.class.options.iter().map(field).collect();
            return Ok(Reply { fields, ..Reply::json(204, Bytes::new()) });
        }
        Next::NotAllowed(allow) => {
            response_head.allow = Some(allow.clone());
            return Err(WRONG_METHOD);
        }
    };
    let class = found.class;
    if !class.while_draining && (connection.facts.is_late || server.drain.phase() != Phase::Serving) {
        return Err(DRAINING);
    }
    let endpoint = match destination {
        Destination::Handler(endpoint) => endpoint,
        Destination::Liveness => return Ok(Reply::json(200, &br#"{"status":"ok"}"#[..])),
        Destination::Readiness => return Ok(readiness(connection)),
        Destination::Nowhere(why) => return Err(why),
    };
    let peer = server.proxies.client(connection.facts.peer, &parts.headers);
    let is_operator = connection.facts.listener == Listener::Control;
    if class.is_counted && !is_operator && server.rate.as_ref().is_some_and(|rate| !rate.admits(peer)) {
        return Err(TOO_MANY);
    }
    if class.rejects_foreign_pages && !is_of_allowed_page(connection, fields) {
        return Ok(Reply { status: 403, ..FOREIGN_PAGE.into() });
    }
    let is_document = class.caching == Caching::Revalidated;
    // The request is on the heap because it is large and would be copied into each future on its way.
    let mut request = Box::new(Incoming {
        endpoint,
        method: if parts.method == Method::HEAD { Method::GET } else { parts.method.clone() },
        uri: parts.uri.clone(),
        params,
        authorization: fields.authorization.once().cloned().map(Authorization),
        is_operator,
        act_as: fields.act_as.once().filter(|_| is_operator || class.for_own_pages).cloned(),
        request_id: Arc::from(&*id),
        trace_parent: fields.trace_parent.once().and_then(|field| TraceContext::parse(field.as_bytes())),
        peer,
        is_of_proxy: server.proxies.trust(peer),
        upgrade: None,
        body: Bytes::new(),
        stream: None,
        idempotency_key: fields.idempotency_key.once().cloned(),
        if_none_match: is_document.then(|| parts.headers.get(IF_NONE_MATCH).cloned()).flatten(),
        last_event: class.resumes.then(|| parts.headers.get("last-event-id").cloned()).flatten(),
        accepts_gzip: is_document && accepts_gzip(&parts.headers),
        browser: class.for_own_pages.then(|| Box::new(Browser::of(&connection.facts, parts, fields))),
        headers: if class.whole_head { parts.headers.clone() } else { HeaderMap::new() },
        fields: further_fields(class, &parts.headers),
    });
    if class.upgrades {
        let origin = fields.origin.once();
        let is_foreign = fields.origin.is_repeated()
            || origin.is_some_and(|origin| {
                server.cors.allowed(Some(origin)).is_none()
                    && !browser::is_own(&connection.facts, parts, fields, origin)
            });
        let context = UpgradeContext {
            bare: connection.bare.get().copied(),
            activity: Arc::clone(&connection.activity),
            stall_timeout: server.limits.response_stall_timeout,
            message_bytes_max: server.limits.live_message_bytes_max,
            connection: Arc::clone(connection) as _,
        };
        match Upgrade::of(parts, origin, is_foreign, context)? {
            Ok(upgrade) => request.upgrade = Some(Box::new(upgrade)),
            Err(foreign) => return Ok(foreign),
        }
    }
    if class.body == BodyRule::Stream {
        // An unread rest of the stream closes an HTTP/1 connection after the response.
        request.stream = body.take().map(|body| BodyStream::new(body, &server.limits));
    } else if class.body != BodyRule::None {
        let is_bodiless = body.as_ref().is_none_or(|body| body.is_end_stream());
        let limits = match class.body {
            BodyRule::Bytes { bytes_max, time_min } => BodyLimits::of(&server.limits).widened(bytes_max, time_min),
            BodyRule::Json | BodyRule::JsonOrNothing | BodyRule::Stream | BodyRule::None => {
                if class.body == BodyRule::Json || !is_bodiless {
                    check_content(fields)?;
                }
                BodyLimits::of(&server.limits)
            }
        };
        if let Some(unread) = body.as_mut() {
            let may_call = || {
                let room = server.handler.room(&request);
                room.map_err(|message| Rejection { code: Code::Overloaded, message })
            };
            let given_up = async {
                server.drain.draining().await;
                tokio::time::sleep(BODY_GRACE).await;
                DRAINING
            };
            let whole = body::read(unread, &server.body_memory, limits, may_call, given_up).await?;
            request.body = whole;
            *body = None;
        }
    }
    // The call is on the heap because it is large and would be copied from future to future before it runs.
    let call = Box::pin(server.handler.call(request));
    AssertUnwindSafe(call).catch_unwind().await.map_err(|_| {
        tracing::error!(request_id = %id, "a call panicked outside of its function");
        PANICKED
    })
}

/// True if no page sent the request, or a page of an allowed origin. The server's own origin is not allowed as such: a
/// name that an attacker points to this machine makes a page of the attacker look like a page of this server.
fn is_of_allowed_page<H: Handler>(connection: &Connection<H>, fields: &Headers<'_>) -> bool {
    match fields.origin {
        Field::Absent => true,
        Field::Once(origin) => connection.server.cors.allowed(Some(origin)).is_some(),
        Field::Repeated => false,
    }
}

/// Returns the fields that the class names.
fn further_fields(class: Class, headers: &HeaderMap) -> Vec<(&'static str, HeaderValue)> {
    let named = class.fields.iter().flat_map(|name| headers.get_all(*name).iter().map(|value| (*name, value.clone())));
    named.collect()
}

/// Logs the origin of a page that may not call.
fn log_rejected_origin<H: Handler>(connection: &Connection<H>, parts: &Parts, class: Class, fields: &Headers<'_>) {
    let cors = &connection.server.cors;
    if let Some(origin) = fields.origin.once().filter(|_| class.for_pages || class.upgrades)
        && cors.allowed(Some(origin)).is_none()
        && (class.rejects_foreign_pages || !browser::is_own(&connection.facts, parts, fields, origin))
    {
        cors.log_rejected(origin);
    }
}

/// Discards a body that was not read to its end. Returns true if the connection must close.
async fn discard_body<H: Handler>(
    connection: &Connection<H>,
    version: Version,
    mut unread: hyper::body::Incoming,
    rejected: Option<Code>,
) -> bool {
    let server = &connection.server;
    match version {
        Version::HTTP_2 if unread.is_end_stream() || rejected == Some(Code::RequestTimeout) => false,
        // hyper closes a stream after its response. Errors of the client on it would then go unnoticed: a wrong length,
        // invalid trailers, an overflow of the window.
        Version::HTTP_2 => {
            tokio::select! {
                biased;
                () = body::discard(&mut unread, server.limits.body_timeout) => {}
                // A drain does not wait for an unused body.
                () = server.drain.draining() => {}
            }
            false
        }
        // An overload is reported immediately. The server reads only a little of a body for which it has no memory.
        _ if rejected.is_some_and(|code| code.status() == 503) && !unread.is_end_stream() => {
            connection.activity.closing.linger_for(body::DISCARDED_BYTES_MAX);
            true
        }
        _ => false,
    }
}

/// True if `Accept-Encoding` has `gzip` with a weight above 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(ACCEPT_ENCODING).into_iter().filter_map(|field| field.to_str().ok());
    codings.flat_map(|field| field.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_excluded =
            weight.trim().strip_prefix("q=").is_some_and(|weight| weight.trim_matches(['0', '.']).is_empty());
        name.trim().eq_ignore_ascii_case("gzip") && !is_excluded
    })
}

/// True if the wire sent this request in place of one that it rejected. No other request with this target reaches the
/// service.
fn is_stand_in(method: &Method, uri: &Uri) -> bool {
    uri.path() == "*" && method == Method::GET
}

/// Checks the fields of a request. For HTTP/1, the wire has checked some of them before.
fn check_head<H: Handler>(connection: &Connection<H>, parts: &Parts, fields: &Headers<'_>) -> Result<(), Rejection> {
    if connection.activity.is_overrun() {
        connection.activity.strike();
        return Err(OVERRUN);
    }
    if fields.authorization.is_repeated() {
        return Err(TWO_CREDENTIALS);
    }
    if fields.host.is_repeated() {
        return Err(TWO_HOSTS);
    }
    if fields.idempotency_key.is_repeated() {
        return Err(TWO_KEYS);
    }
    if parts.headers.len() > connection.server.limits.header_fields_max {
        return Err(head::TOO_MANY);
    }
    Ok(())
}

/// Requires `application/json`, in any case and with any parameters, without compression.
fn check_content(fields: &Headers<'_>) -> Result<(), Rejection> {
    let declared = fields.content_type.once().map_or(&b""[..], HeaderValue::as_bytes);
    let essence = declared.split(|byte| *byte == b';').next().unwrap_or_default();
    if !essence.trim_ascii_end().eq_ignore_ascii_case(JSON.as_bytes()) {
        return Err(NOT_JSON);
    }
    match fields.content_encoding {
        Field::Absent => Ok(()),
        Field::Once(coding) if coding.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(()),
        Field::Once(_) | Field::Repeated => Err(COMPRESSED),
    }
}

fn readiness<H: Handler>(connection: &Connection<H>) -> Reply {
    let ready = match connection.server.drain.phase() {
        Phase::Serving => connection.server.handler.ready(),
        Phase::Draining | Phase::Cut => Err(DRAINING.message.to_owned()),
    };
    match ready {
        Ok(()) => match connection.server.handler.ready_detail() {
            None => Reply::json(200, &br#"{"status":"ready"}"#[..]),
            Some(detail) => Reply::json(200, serde_json::json!({ "status": "ready", "detail": detail }).to_string()),
        },
        Err(reason) => {
            let body = serde_json::json!({ "status": "not ready", "reason": reason }).to_string();
            Reply { retry_after_s: Some(1), ..Reply::json(503, body) }
        }
    }
}

/// The parts of a response head that the request determines.
struct ResponseHead {
    head_only: bool,
    close: bool,
    caching: Caching,
    allow: Option<HeaderValue>,
    preflight: bool,
    /// `Some` if pages of other origins may call; the inner value is the request's origin if it is allowed.
    cors: Option<Option<HeaderValue>>,
}

impl ResponseHead {
    fn of<H: Handler>(connection: &Connection<H>, method: &Method, class: Class, fields: &Headers<'_>) -> Self {
        let for_pages = class.for_pages && !connection.server.cors.is_off();
        Self {
            head_only: method == Method::HEAD,
            close: connection.facts.is_late,
            caching: class.caching,
            allow: None,
            preflight: false,
            cors: for_pages.then(|| connection.server.cors.allowed(fields.origin.once())),
        }
    }

    fn answer_options(&mut self, allow: HeaderValue) {
        self.allow = Some(allow);
        self.preflight = self.cors.as_ref().is_some_and(Option::is_some);
    }

    fn apply(self, reply: Reply, id: HeaderValue) -> Response<Body> {
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let length = reply.body.length();
        let mut response = Response::new(if self.head_only { Body::default() } else { reply.body });
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.reserve(6);
        if status != StatusCode::SWITCHING_PROTOCOLS
            && status != StatusCode::NO_CONTENT
            && status != StatusCode::NOT_MODIFIED
        {
            headers.insert(CONTENT_TYPE, content_type(reply.content_type));
            if let Some(length) = length.filter(|_| self.head_only) {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
        }
        headers.insert(X_REQUEST_ID, id);
        headers.insert(X_CONTENT_TYPE_OPTIONS, const { HeaderValue::from_static("nosniff") });
        let cache = match self.caching {
            Caching::Revalidated => const { HeaderValue::from_static("no-cache") },
            Caching::Never => const { HeaderValue::from_static("no-store") },
        };
        headers.insert(CACHE_CONTROL, cache);
        if let Some(challenge) = reply.www_authenticate
            && let Ok(challenge) = HeaderValue::try_from(challenge)
        {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = reply.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, allow);
        }
        if let Some(origin) = self.cors {
            cors::admit(origin, headers);
        }
        if self.preflight {
            cors::answer_preflight(headers);
        }
        if reply.content_type.starts_with("text/html") {
            protect_page(headers);
        }
        for (at, (name, value)) in reply.fields.iter().enumerate() {
            // Pages of other origins have added their field to `Vary`.
            if *name == VARY || reply.fields[..at].iter().any(|(earlier, _)| earlier == name) {
                headers.append(name, value.clone());
            } else {
                headers.insert(name, value.clone());
            }
        }
        if self.close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The common content type is checked at compile time.
fn content_type(text: &'static str) -> HeaderValue {
    if text == JSON { const { HeaderValue::from_static(JSON) } } else { HeaderValue::from_static(text) }
}

/// Forbids a page of this server to load anything and to be framed, unless its reply has its own policy.
fn protect_page(headers: &mut HeaderMap) {
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    );
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}
