//! One request: refused, answered here, or handed to the [`Handler`]; and its response.
//!
//! The order of the checks is written here and only here: what the wire refused, draining, the route, the rate, the
//! content type, the body. Only then does the handler hear of the request.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::Full;
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST,
    HeaderName, HeaderValue, REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use super::connection::Connection;
use super::handler::{Handler, Incoming, JSON, Reply, Target};
use super::refusal::Refused;
use super::request_id::{RequestId, X_REQUEST_ID};
use super::route::{self, Allow, Route};
use super::server::Phase;
use super::{body, cors, head, peers, trace::TraceParent};
use crate::error::{Code, INTERNAL_MESSAGE};

/// Answers one request of `connection`. It never fails: whatever goes wrong is a response.
pub(super) async fn answer<H: Handler>(
    connection: Arc<Connection<H>>,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let _call = connection.activity.begin();
    let (parts, body) = request.into_parts();
    let id = RequestId::of(&parts.headers);
    let mut dressing = Dressing::of(&connection, &parts);
    let reply = match exchange(&connection, parts, body, &id, &mut dressing).await {
        Ok(reply) => reply,
        Err(refused) => {
            connection.server.traffic.count_refusal();
            tracing::debug!(request_id = %id.text, peer = %connection.peer, code = %refused.code, refused.message);
            dressing.close |= refused.closes();
            refused.reply()
        }
    };
    Ok(dressing.put_on(reply, id.field))
}

const DRAINING: Refused = Refused { code: Code::NotReady, message: "The server is shutting down." };
const OVERRUN: Refused =
    Refused { code: Code::Overloaded, message: "Too many calls of this connection are still running." };
const TOO_MANY: Refused = Refused { code: Code::TooManyRequests, message: "Too many calls from this address." };
const WRONG_METHOD: Refused = Refused { code: Code::MethodNotAllowed, message: "This route has no such method." };
const NOT_JSON: Refused =
    Refused { code: Code::UnsupportedMediaType, message: "The body must be declared as application/json." };
const TWO_CREDENTIALS: Refused =
    Refused { code: Code::BadRequest, message: "The request has more than one Authorization field." };
const TWO_HOSTS: Refused = Refused { code: Code::BadRequest, message: "The request has more than one Host field." };
const PANICKED: Refused = Refused { code: Code::Internal, message: INTERNAL_MESSAGE };

async fn exchange<H: Handler>(
    connection: &Connection<H>,
    mut parts: Parts,
    body: hyper::body::Incoming,
    id: &RequestId,
    dressing: &mut Dressing,
) -> Result<Reply, Refused> {
    if is_stand_in(&parts.method, &parts.uri)
        && let Some(refused) = connection.activity.refusal()
    {
        return Err(refused);
    }
    check_head(connection, &parts)?;
    let server = &connection.server;
    let local = peers::is_local(connection.peer, &parts.headers);
    let target = match route::find(connection.listener, local, &parts.method, std::mem::take(&mut parts.uri))? {
        Route::Handled(target) => target,
        Route::Alive => return Ok(Reply::json(200, &br#"{"status":"ok"}"#[..])),
        Route::Ready => return Ok(readiness(connection)),
        Route::Options(allow) => {
            dressing.answer_options(allow, connection.server.cors.is_off());
            return Ok(Reply::json(204, Bytes::new()));
        }
        Route::NotAllowed(allow) => {
            dressing.allow = Some(allow);
            return Err(WRONG_METHOD);
        }
    };
    if connection.late || server.phase() != Phase::Serving {
        return Err(DRAINING);
    }
    let peer = server.proxies.client(connection.peer, &parts.headers);
    let is_call = matches!(target, Target::Run(_) | Target::Kind(_) | Target::Admin { .. });
    if is_call && server.rate.as_ref().is_some_and(|rate| !rate.admits(peer)) {
        return Err(TOO_MANY);
    }
    let body = match &target {
        Target::Run(_) | Target::Kind(_) => {
            check_content_type(&parts)?;
            body::read(body, server.limits.request_body_bytes_max, server.limits.body_timeout).await?
        }
        Target::Admin { .. } => {
            let body = body::read(body, server.limits.request_body_bytes_max, server.limits.body_timeout).await?;
            if !body.is_empty() {
                check_content_type(&parts)?;
            }
            body
        }
        Target::Metrics | Target::OpenApi | Target::Docs(_) => Bytes::new(),
    };
    let request = Incoming {
        target,
        authorization: parts.headers.remove(AUTHORIZATION),
        request_id: Arc::clone(&id.text),
        trace_parent: TraceParent::of(&parts.headers),
        peer,
        body,
    };
    AssertUnwindSafe(server.handler.call(request)).catch_unwind().await.map_err(|_| {
        tracing::error!(request_id = %id.text, "a call panicked outside of its function");
        PANICKED
    })
}

/// Whether the wire put this request in place of one that it refused. No other reaches the service with this target.
fn is_stand_in(method: &Method, uri: &Uri) -> bool {
    uri.path() == "*" && method == Method::GET
}

/// What the wire has checked already where it could (HTTP/1), and what it leaves.
fn check_head<H: Handler>(connection: &Connection<H>, parts: &Parts) -> Result<(), Refused> {
    if connection.activity.is_overrun() {
        return Err(OVERRUN);
    }
    if has_two(parts, &AUTHORIZATION) {
        return Err(TWO_CREDENTIALS);
    }
    if parts.version == Version::HTTP_2 {
        if parts.headers.len() > connection.server.limits.header_fields_max {
            return Err(head::TOO_MANY);
        }
        if has_two(parts, &HOST) {
            return Err(TWO_HOSTS);
        }
    }
    Ok(())
}

fn has_two(parts: &Parts, name: &HeaderName) -> bool {
    parts.headers.get_all(name).iter().nth(1).is_some()
}

/// `application/json`, in any case and with any parameters.
fn check_content_type(parts: &Parts) -> Result<(), Refused> {
    let declared = parts.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let essence = declared.split(|byte| *byte == b';').next().unwrap_or_default();
    if essence.trim_ascii_end().eq_ignore_ascii_case(JSON.as_bytes()) { Ok(()) } else { Err(NOT_JSON) }
}

fn readiness<H: Handler>(connection: &Connection<H>) -> Reply {
    let ready = match connection.server.phase() {
        Phase::Serving => connection.server.handler.ready(),
        Phase::Draining | Phase::Cut => Err(DRAINING.message.to_owned()),
    };
    match ready {
        Ok(()) => Reply::json(200, &br#"{"status":"ready"}"#[..]),
        Err(reason) => {
            let body = serde_json::json!({ "status": "not ready", "reason": reason }).to_string();
            Reply { retry_after_s: Some(1), ..Reply::json(503, body) }
        }
    }
}

/// What a response gets beside its reply, decided from the request.
struct Dressing {
    head_only: bool,
    close: bool,
    /// Documents may be kept and asked about again; answers may not be kept at all.
    document: bool,
    allow: Option<Allow>,
    preflight: bool,
    /// Set where pages of other origins may call, with the origin if it is an allowed one.
    cors: Option<Option<HeaderValue>>,
}

impl Dressing {
    fn of<H: Handler>(connection: &Connection<H>, parts: &Parts) -> Self {
        let path = parts.uri.path();
        let document = path == "/openapi.json" || path.starts_with("/docs");
        // Deploy keys have no business in a page.
        let for_pages = !connection.server.cors.is_off() && !path.starts_with("/api/admin/");
        Self {
            head_only: parts.method == Method::HEAD,
            close: connection.late,
            document,
            allow: None,
            preflight: false,
            cors: for_pages.then(|| connection.server.cors.allowed(&parts.headers)),
        }
    }

    fn answer_options(&mut self, allow: Allow, cors_is_off: bool) {
        self.allow = Some(allow);
        self.preflight = !cors_is_off && self.cors.as_ref().is_some_and(Option::is_some);
    }

    fn put_on(self, reply: Reply, id: HeaderValue) -> Response<Full<Bytes>> {
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let length = reply.body.len();
        let mut response = Response::new(Full::new(if self.head_only { Bytes::new() } else { reply.body }));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.reserve(6);
        if status != StatusCode::NO_CONTENT {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
            if self.head_only {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
        }
        headers.insert(X_REQUEST_ID, id);
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let cache = if self.document { "no-cache" } else { "no-store" };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        if let Some(challenge) = reply.www_authenticate
            && let Ok(challenge) = HeaderValue::try_from(challenge)
        {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = reply.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow.as_str()));
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
        if self.close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// A page of ours loads nothing from elsewhere, sends nothing elsewhere, and is framed by nobody.
fn protect_page(headers: &mut hyper::HeaderMap) {
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
             img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    );
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}
