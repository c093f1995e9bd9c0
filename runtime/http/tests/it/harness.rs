//! A server with a handler that echoes its requests, and a client that writes raw bytes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use convoke_core::answer::budget::Budget;
use convoke_http::{Body, Class, DrainOutcome, Ending, Handler, HttpOptions, Incoming, Reply, Routes, Server, Traffic};
use hyper::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Longest wait of a test. Only a failure takes so long, also on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A timeout that no test reaches, because it exceeds [`PATIENCE`].
pub(super) const LONG: Duration = Duration::from_secs(600);

/// Bytes of the response to `t/page`.
pub(super) const PAGE_BYTES: usize = 1024 * 1024;

/// Bytes of the response to `t/part`, which the system buffers completely if the client reads nothing.
pub(super) const PART_BYTES: usize = 60 * 1024;

/// Echoes its requests. Some paths below `/api/run/` have special behavior.
#[derive(Clone, Default)]
pub(super) struct Echo(pub Arc<Seen>);

#[derive(Default)]
pub(super) struct Seen {
    pub calls: AtomicUsize,
    pub ended: AtomicUsize,
    pub unready: AtomicBool,
    pub release: Notify,
    /// True if calls are rejected as overload.
    pub is_full: AtomicBool,
    /// The memory for responses.
    pub answers: OnceLock<Arc<Budget>>,
    /// Streams whose producer has got the error of a cut stream.
    pub gone: AtomicUsize,
}

/// A table like that of a server. Each endpoint is its own name.
static ROUTES: LazyLock<Routes<&'static str>> = LazyLock::new(|| {
    let mut routes = Routes::new();
    routes.add(Method::POST, "/api/run/{*path}", Class::CALL, "run");
    routes.add(Method::POST, "/api/query", Class::CALL, "query");
    routes.add(Method::POST, "/api/mutation", Class::CALL, "mutation");
    routes.add(Method::POST, "/api/action", Class::CALL, "action");
    routes.add(Method::GET, "/openapi.json", Class::DOCUMENT, "openapi");
    routes.add(Method::GET, "/docs", Class::DOCUMENT, "docs");
    routes.add(Method::GET, "/docs/{*page}", Class::DOCUMENT, "docs");
    routes.add(Method::GET, "/metrics", Class::METRICS, "metrics");
    routes.add_fallback("/api/admin/{*path}", Class::ADMIN, "admin");
    routes
});

impl Handler for Echo {
    type Endpoint = &'static str;

    fn routes(&self) -> &Routes<&'static str> {
        &ROUTES
    }

    async fn call(&self, request: Box<Incoming<&'static str>>) -> Reply {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        let reply = self.reply(*request).await;
        self.0.ended.fetch_add(1, Ordering::SeqCst);
        reply
    }

    fn ready(&self) -> Result<(), String> {
        if self.0.unready.load(Ordering::SeqCst) { Err("the store is closed".to_owned()) } else { Ok(()) }
    }

    fn room(&self, _request: &Incoming<&'static str>) -> Result<(), &'static str> {
        if self.0.is_full.load(Ordering::SeqCst) { Err("Too many calls.") } else { Ok(()) }
    }

    fn answers(&self) -> Option<Arc<Budget>> {
        self.0.answers.get().cloned()
    }
}

impl Echo {
    async fn reply(&self, request: Incoming<&'static str>) -> Reply {
        if request.endpoint == "docs" {
            return Reply { content_type: "text/html; charset=utf-8", ..Reply::json(200, "<!doctype html>") };
        }
        let path = if request.endpoint == "run" { request.param(0).to_owned() } else { String::new() };
        match &*path {
            "t/wait" => self.0.release.notified().await,
            "t/brief" => tokio::time::sleep(Duration::from_millis(20)).await,
            "t/slow" => tokio::time::sleep(Duration::from_millis(300)).await,
            "t/panic" => panic!("the handler panics"),
            "t/large" => return Reply::json(200, Bytes::from(vec![b' '; 32 * 1024 * 1024])),
            "t/page" => return Reply::json(200, Bytes::from(vec![b' '; PAGE_BYTES])),
            "t/part" => return Reply::json(200, Bytes::from(vec![b' '; PART_BYTES])),
            "t/denied" => {
                let challenge = Some(r#"Bearer error="invalid_token""#.to_owned());
                return Reply { www_authenticate: challenge, ..Reply::json(401, "{}") };
            }
            "t/stream" | "t/download" | "t/broken" | "t/endless" | "t/quiet" => return self.stream(&path),
            "t/busy" => return Reply { retry_after_s: Some(7), ..Reply::json(503, "{}") },
            _ => {}
        }
        let shown = json!({
            "target": format!("{} {}", request.endpoint, request.param(0)),
            "authorization": request.authorization.map(|value| String::from_utf8(value.as_bytes().to_vec()).unwrap()),
            "requestId": &*request.request_id,
            "traceParent": request.trace_parent.map(|parent| parent.to_string()),
            "peer": request.peer,
            "bytes": request.body.len(),
            "body": String::from_utf8_lossy(&request.body[..request.body.len().min(100)]),
        });
        Reply::json(200, shown.to_string())
    }
}

impl Echo {
    fn stream(&self, path: &str) -> Reply {
        let ending = if path == "t/endless" { Ending::Never } else { Ending::Whole };
        let (sender, body) = Body::stream(ending);
        let (seen, path) = (self.0.clone(), path.to_owned());
        let body = if path == "t/download" { body.with_length(4_000_000) } else { body };
        tokio::spawn(async move {
            let (pieces, piece) = match &*path {
                "t/stream" => (1_000, Bytes::from_static(b"{}\n")),
                "t/download" => (400, Bytes::from(vec![7; 10_000])),
                "t/endless" => (usize::MAX, Bytes::from(vec![b'x'; 1_000])),
                _ => (1, Bytes::from_static(b"{}\n")),
            };
            for _ in 0..pieces {
                if sender.send(piece.clone()).await.is_err() {
                    seen.gone.fetch_add(1, Ordering::SeqCst);
                    return;
                }
            }
            match &*path {
                "t/broken" => return,
                "t/quiet" => {
                    seen.release.notified().await;
                    sender.send("late\n").await.unwrap();
                }
                _ => {}
            }
            sender.finish();
        });
        Reply::of(200, "application/x-ndjson", body)
    }
}

/// A server that runs until it is stopped.
pub(super) struct Running {
    pub addr: SocketAddr,
    pub ops: Option<SocketAddr>,
    pub seen: Arc<Seen>,
    pub traffic: Arc<Traffic>,
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<DrainOutcome>,
}

/// Starts a server on a free port of this machine, with the options that `change` sets. Without them no timeout but that of
/// a head passes, so an effect of a timeout has one cause.
pub(super) async fn serve(change: impl FnOnce(&mut HttpOptions)) -> Running {
    let mut options = HttpOptions::new("127.0.0.1:0".parse().unwrap());
    let limits = &mut options.limits;
    (limits.first_byte_timeout, limits.idle_timeout, limits.body_timeout) = (LONG, LONG, LONG);
    (limits.request_room_timeout, limits.response_stall_timeout, limits.drain_timeout) = (LONG, LONG, LONG);
    change(&mut options);
    let echo = Echo::default();
    let _ = echo.0.answers.set(Budget::new(options.limits.response_bytes_total_max));
    let server = Server::bind(options, echo.clone()).await.unwrap();
    let (addr, ops, traffic) = (server.local_addr(), server.ops_addr(), server.traffic());
    let (stop, stopped) = oneshot::channel::<()>();
    let ended = tokio::spawn(server.run(async move {
        let _ = stopped.await;
    }));
    Running { addr, ops, seen: echo.0, traffic, stop: Some(stop), ended }
}

impl Running {
    pub(super) async fn client(&self) -> Client {
        Client::to(self.addr).await
    }

    /// Response bytes that clients have not read.
    pub(super) fn answer_bytes(&self) -> usize {
        self.seen.answers.get().unwrap().bytes()
    }

    /// Begins the drain.
    pub(super) fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits for the end of the drain.
    pub(super) async fn outcome(self) -> DrainOutcome {
        timeout(PATIENCE, self.ended).await.unwrap().unwrap()
    }

    /// Drops the server while it runs.
    pub(super) async fn abort(self) {
        self.ended.abort();
        let _ = self.ended.await;
    }

    /// Waits until so many calls have reached the handler.
    pub(super) async fn reached(&self, calls: usize) {
        until(|| self.seen.calls.load(Ordering::SeqCst) >= calls).await;
    }
}

/// Waits until `condition` is true. Fails after [`PATIENCE`].
pub(super) async fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "the condition is still false after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Connects from this address with the smallest receive buffer.
pub(super) async fn connect_narrowly(from: &str, to: SocketAddr) -> Client {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(from.parse().unwrap()).unwrap();
    Client::over(socket.connect(to).await.unwrap())
}

/// A raw HTTP/1 client.
pub(super) struct Client<S = TcpStream> {
    pub stream: S,
    input: Vec<u8>,
}

/// A response as on the wire.
#[derive(Debug)]
pub(super) struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Client {
    pub(super) async fn to(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self::over(stream)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(super) fn over(stream: S) -> Self {
        Self { stream, input: Vec::new() }
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Sends a request and reads its response.
    pub(super) async fn ask(&mut self, bytes: impl AsRef<[u8]>) -> Response {
        self.send(bytes).await;
        self.response().await
    }

    /// Reads the next response. Fails if none arrives within [`PATIENCE`].
    pub(super) async fn response(&mut self) -> Response {
        self.maybe_response(false).await.expect("a response")
    }

    /// Reads the next response to a HEAD request.
    pub(super) async fn response_to_head(&mut self) -> Response {
        self.maybe_response(true).await.expect("a response")
    }

    /// Reads the next response, or returns `None` if the connection ends before it.
    pub(super) async fn maybe_response(&mut self, to_head: bool) -> Option<Response> {
        let end = loop {
            if let Some(at) = self.input.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.read_more().await {
                assert!(self.input.is_empty(), "the head is incomplete: {:?}", String::from_utf8_lossy(&self.input));
                return None;
            }
        };
        let head = String::from_utf8(self.input.drain(..end).collect()).unwrap();
        let mut response = Response { status: head[9..12].parse().unwrap(), head, body: Vec::new() };
        if let Some(length) = response.field("content-length").filter(|_| !to_head) {
            let length = length.parse().unwrap();
            while self.input.len() < length {
                assert!(self.read_more().await, "the body is incomplete");
            }
            response.body = self.input.drain(..length).collect();
        }
        Some(response)
    }

    async fn read_more(&mut self) -> bool {
        let read = timeout(PATIENCE, self.stream.read_buf(&mut self.input)).await;
        read.expect("data, or the end of the connection").unwrap_or(0) > 0
    }

    /// Waits until the server closes the connection, and returns the time of the wait. Fails if data arrives before.
    pub(super) async fn closed(&mut self) -> Duration {
        let start = Instant::now();
        while self.read_more().await {}
        assert!(self.input.is_empty(), "data before the end: {:?}", String::from_utf8_lossy(&self.input));
        start.elapsed()
    }
}

impl Response {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (field, value) = line.split_once(": ")?;
            field.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Checks the form of an envelope and returns its code.
    pub(super) fn code(&self) -> String {
        let envelope = self.json();
        assert_eq!(envelope["status"], "error");
        assert_eq!(envelope["logLines"], json!([]));
        assert!(!envelope["errorMessage"].as_str().unwrap().is_empty());
        assert!(self.field("x-request-id").is_some());
        assert_eq!(self.field("content-type"), Some("application/json"));
        envelope["errorData"]["code"].as_str().unwrap().to_owned()
    }
}

/// Returns a call with this body.
pub(super) fn post(path: &str, body: &str) -> String {
    post_with(path, "", body)
}

/// Returns a call with further fields, each ending in CRLF.
pub(super) fn post_with(path: &str, fields: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n{fields}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns a request without a body.
pub(super) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}
