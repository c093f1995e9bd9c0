//! One request: refused, answered here, or handed to the [`Handler`]; and its response.
//!
//! The order of the checks is written here and only here: what the wire refused, draining, the route, the rate, the
//! content type, the body. Only then does the handler hear of the request.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use hyper::body::Body as _;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderMap, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use super::connection::Connection;
use super::convention;
use super::fields::{Field, Fields};
use super::handler::{Handler, Incoming, JSON, Refusal, Reply, Target};
use super::outgoing::{Body, Outgoing};
use super::refusal::Refused;
use super::request_id::{RequestId, X_REQUEST_ID};
use super::route::{self, Allow, Listener, Route};
use super::server::Phase;
use super::{body, cors, head, trace::TraceParent};
use crate::error::{Code, INTERNAL_MESSAGE};

/// Answers one request of `connection`. It never fails: whatever goes wrong is a response.
pub(super) async fn answer<H: Handler>(
    connection: Arc<Connection<H>>,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let call = connection.activity.begin();
    let (mut parts, body) = request.into_parts();
    let uri = std::mem::take(&mut parts.uri);
    let fields = Fields::of(&parts.headers);
    let is_of_the_convention = convention::speaks(&parts.headers);
    let (id, id_field) = RequestId::of(fields.request_id.once());
    let mut dressing = Dressing::of(&connection, &parts.method, uri.path(), &fields);
    let mut reply = match exchange(&connection, &parts, uri.clone(), &fields, body, id, &mut dressing).await {
        Ok(reply) => reply,
        Err(refused) => {
            connection.server.traffic.count_refusal();
            let peer = connection.server.proxies.client(connection.peer, &parts.headers);
            let (method, path) = (&parts.method, uri.path());
            let Refused { code, message } = refused;
            connection.server.handler.refused(Refusal { code, message, request_id: &id, method, path, peer });
            dressing.close |= refused.closes();
            refused.reply()
        }
    };
    if is_of_the_convention {
        reply = convention::retold(reply);
    }
    if reply.body.is_stream() {
        let server = Arc::clone(&connection.server);
        reply.body = reply.body.until(async move { server.draining().await });
    }
    if parts.version == Version::HTTP_2 {
        reply.body = reply.body.map_whole(|whole| connection.activity.hold(whole));
    }
    Ok(dressing.put_on(reply, id_field).map(|body| Outgoing::new(body, call)))
}

const DRAINING: Refused = Refused { code: Code::NotReady, message: "The server is shutting down." };
const OVERRUN: Refused =
    Refused { code: Code::Overloaded, message: "Too many calls or responses of this connection are still under way." };
const TOO_MANY: Refused = Refused { code: Code::TooManyRequests, message: "Too many calls from this address." };
const WRONG_METHOD: Refused = Refused { code: Code::MethodNotAllowed, message: "This route has no such method." };
const NOT_JSON: Refused =
    Refused { code: Code::UnsupportedMediaType, message: "The body must be declared as application/json." };
const COMPRESSED: Refused = Refused { code: Code::UnsupportedMediaType, message: "The body must not be compressed." };
const TWO_CREDENTIALS: Refused =
    Refused { code: Code::BadRequest, message: "The request has more than one Authorization field." };
const TWO_HOSTS: Refused = Refused { code: Code::BadRequest, message: "The request has more than one Host field." };
const PANICKED: Refused = Refused { code: Code::Internal, message: INTERNAL_MESSAGE };

async fn exchange<H: Handler>(
    connection: &Connection<H>,
    parts: &Parts,
    uri: Uri,
    fields: &Fields<'_>,
    body: hyper::body::Incoming,
    id: RequestId,
    dressing: &mut Dressing,
) -> Result<Reply, Refused> {
    if is_stand_in(&parts.method, &uri)
        && let Some(refused) = connection.activity.refusal()
    {
        return Err(refused);
    }
    check_head(connection, parts, fields)?;
    let server = &connection.server;
    let local = connection.peer.is_loopback() && !fields.is_forwarded;
    let target = match route::find(connection.listener, local, &parts.method, uri)? {
        Route::Handled(target) => target,
        Route::Alive => return Ok(Reply::json(200, &br#"{"status":"ok"}"#[..])),
        Route::Ready => return Ok(readiness(connection)),
        Route::Options(allow) => {
            dressing.answer_options(allow);
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
    let is_operator = connection.listener == Listener::Control;
    let is_call = matches!(target, Target::Run(_) | Target::Kind(_) | Target::Admin { .. });
    let is_document = matches!(target, Target::OpenApi | Target::Docs(_));
    if is_call && !is_operator && server.rate.as_ref().is_some_and(|rate| !rate.admits(peer)) {
        return Err(TOO_MANY);
    }
    let body = if is_call {
        // An admin request may have no body, and then declares none.
        if !matches!(target, Target::Admin { .. }) || !body.is_end_stream() {
            check_content(fields)?;
        }
        body::read(body, server.limits.request_body_bytes_max, server.limits.body_timeout).await?
    } else {
        Bytes::new()
    };
    let request = Incoming {
        target,
        authorization: fields.authorization.once().cloned(),
        is_operator,
        act_as: fields.act_as.once().filter(|_| is_operator).cloned(),
        request_id: Arc::from(&*id),
        trace_parent: fields.trace_parent.once().and_then(|field| TraceParent::parse(field.as_bytes())),
        peer,
        body,
        if_none_match: parts.headers.get(IF_NONE_MATCH).filter(|_| is_document).cloned(),
        accepts_gzip: is_document && accepts_gzip(&parts.headers),
    };
    AssertUnwindSafe(server.handler.call(request)).catch_unwind().await.map_err(|_| {
        tracing::error!(request_id = %id, "a call panicked outside of its function");
        PANICKED
    })
}

/// Whether `gzip` is among the codings of `Accept-Encoding`, and not with a weight of nothing.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(ACCEPT_ENCODING).into_iter().filter_map(|field| field.to_str().ok());
    codings.flat_map(|field| field.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|weight| weight.trim_matches(['0', '.']).is_empty());
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// Whether the wire put this request in place of one that it refused. No other reaches the service with this target.
fn is_stand_in(method: &Method, uri: &Uri) -> bool {
    uri.path() == "*" && method == Method::GET
}

/// What the wire has checked already where it could (HTTP/1), and what it leaves.
fn check_head<H: Handler>(connection: &Connection<H>, parts: &Parts, fields: &Fields<'_>) -> Result<(), Refused> {
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
    if parts.headers.len() > connection.server.limits.header_fields_max {
        return Err(head::TOO_MANY);
    }
    Ok(())
}

/// `application/json`, in any case and with any parameters, and not compressed.
fn check_content(fields: &Fields<'_>) -> Result<(), Refused> {
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
    fn of<H: Handler>(connection: &Connection<H>, method: &Method, path: &str, fields: &Fields<'_>) -> Self {
        let document = path == "/openapi.json" || path.starts_with("/docs");
        // Deploy keys have no business in a page.
        let for_pages = !connection.server.cors.is_off() && !path.starts_with("/api/admin/");
        Self {
            head_only: method == Method::HEAD,
            close: connection.late,
            document,
            allow: None,
            preflight: false,
            cors: for_pages.then(|| connection.server.cors.allowed(fields.origin.once())),
        }
    }

    fn answer_options(&mut self, allow: Allow) {
        self.allow = Some(allow);
        self.preflight = self.cors.as_ref().is_some_and(Option::is_some);
    }

    fn put_on(self, reply: Reply, id: HeaderValue) -> Response<Body> {
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let length = reply.body.length();
        let mut response = Response::new(if self.head_only { Body::default() } else { reply.body });
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.reserve(6);
        if status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED {
            headers.insert(CONTENT_TYPE, content_type(reply.content_type));
            if let Some(length) = length.filter(|_| self.head_only) {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
        }
        headers.insert(X_REQUEST_ID, id);
        headers.insert(X_CONTENT_TYPE_OPTIONS, const { HeaderValue::from_static("nosniff") });
        let cache = match self.document {
            true => const { HeaderValue::from_static("no-cache") },
            false => const { HeaderValue::from_static("no-store") },
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
        for (name, value) in reply.fields {
            headers.insert(name, value);
        }
        if self.close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The usual one was checked when this was compiled.
fn content_type(text: &'static str) -> HeaderValue {
    if text == JSON { const { HeaderValue::from_static(JSON) } } else { HeaderValue::from_static(text) }
}

/// A page of ours loads nothing and is framed by nobody, unless its reply has a policy of its own.
fn protect_page(headers: &mut HeaderMap) {
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    );
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}
