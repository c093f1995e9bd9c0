//! HTTP/2 by prior knowledge.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use convoke::http::DrainOutcome;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::harness::{Running, serve, until};

type Client = (SendRequest<Full<Bytes>>, JoinHandle<()>);

async fn connect(server: &Running) -> Client {
    let stream = TcpStream::connect(server.addr).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let driver = tokio::spawn(async move {
        let _ = connection.await;
    });
    (sender, driver)
}

fn post(path: &str, body: &'static str) -> Request<Full<Bytes>> {
    Request::post(format!("http://test{path}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(body.as_bytes())))
        .unwrap()
}

async fn code(response: Response<hyper::body::Incoming>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let envelope: serde_json::Value = serde_json::from_slice(&body).unwrap();
    envelope["errorData"]["code"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn calls_of_one_connection_run_side_by_side() {
    let server = serve(|_| {}).await;
    let (sender, _driver) = connect(&server).await;
    let start = Instant::now();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let mut sender = sender.clone();
            tokio::spawn(async move { sender.send_request(post("/api/run/t/slow", "{}")).await.unwrap() })
        })
        .collect();
    for call in calls {
        let response = call.await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    }
    assert!(start.elapsed() < Duration::from_secs(3), "twenty calls of 0.3 s each");
}

#[tokio::test]
async fn refusals_are_envelopes_here_too() {
    let server = serve(|options| {
        options.limits.request_body_bytes_max = 10;
        options.limits.header_fields_max = 20;
    })
    .await;
    let (mut sender, _driver) = connect(&server).await;
    let response = sender.send_request(post("/nothing", "{}")).await.unwrap();
    assert_eq!((response.status(), &*code(response).await), (StatusCode::NOT_FOUND, "ROUTE_NOT_FOUND"));
    let response = sender.send_request(post("/api/query", "12345678901")).await.unwrap();
    assert_eq!((response.status(), &*code(response).await), (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"));
    let mut many = post("/api/query", "{}");
    for _ in 0..20 {
        many.headers_mut().append("x", "y".parse().unwrap());
    }
    let response = sender.send_request(many).await.unwrap();
    assert_eq!(response.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    assert_eq!(code(response).await, "HEADERS_TOO_LARGE");
    let mut large = post("/api/query", "{}");
    large.headers_mut().insert("x", "y".repeat(20_000).parse().unwrap());
    let refused = sender.send_request(large).await;
    assert!(refused.map_or(true, |response| response.status() == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
}

#[tokio::test]
async fn head_has_a_length_and_no_body() {
    let server = serve(|_| {}).await;
    let (mut sender, _driver) = connect(&server).await;
    let request = Request::head("http://test/healthz").body(Full::default()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.headers()["content-length"], "15");
    assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
}

#[tokio::test]
async fn a_reset_stream_leaves_its_call_running_and_the_drain_waits_for_it() {
    let mut server = serve(|_| {}).await;
    let (mut sender, driver) = connect(&server).await;
    let call = tokio::spawn(async move {
        let _ = sender.send_request(post("/api/run/t/wait", "{}")).await;
    });
    server.reached(1).await;
    call.abort();
    let _ = call.await;
    driver.abort();
    let _ = driver.await;
    server.stop();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(server.seen.ended.load(Ordering::SeqCst), 0);
    server.seen.release.notify_one();
    let seen = server.seen.clone();
    assert_eq!(server.outcome().await, DrainOutcome { cut: 0 });
    assert_eq!(seen.ended.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_stream_past_the_limit_waits_or_is_refused() {
    let server = serve(|options| options.limits.http2_streams_max = 2).await;
    let (mut sender, _driver) = connect(&server).await;
    // The settings have to arrive before the limit is known.
    assert!(sender.send_request(post("/api/query", "{}")).await.is_ok());
    let calls: Vec<_> = (0..4)
        .map(|_| {
            let mut sender = sender.clone();
            tokio::spawn(async move { sender.send_request(post("/api/run/t/wait", "{}")).await })
        })
        .collect();
    server.reached(3).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 3, "two run, two wait in the client");
    for _ in 0..200 {
        server.seen.release.notify_one();
        tokio::time::sleep(Duration::from_millis(2)).await;
        if server.seen.ended.load(Ordering::SeqCst) == 5 {
            break;
        }
    }
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
}

/// A client that keeps no rules: it writes frames as it likes.
struct Frames(TcpStream);

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;

impl Frames {
    async fn to(server: &Running) -> Self {
        let mut frames = Self(TcpStream::connect(server.addr).await.unwrap());
        frames.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        assert!(frames.send(SETTINGS, 0, 0, &[]).await);
        frames
    }

    /// Writes a frame; `false` once the server has closed.
    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).await.is_ok()
    }

    /// Calls a function without a body: `:method: POST`, `:scheme: http`, and the rest as literals (RFC 7541).
    async fn call(&mut self, stream: u32, path: &str) -> bool {
        let mut block = vec![0x83, 0x86];
        for (name, value) in [(&[0x04][..], path), (&[0x01], "test"), (&[0x0f, 0x10], "application/json")] {
            block.extend(name);
            block.push(u8::try_from(value.len()).unwrap());
            block.extend(value.as_bytes());
        }
        self.send(HEADERS, 0b101, stream, &block).await
    }

    /// The next frame's kind, stream and payload; `None` at the end.
    async fn next(&mut self) -> Option<(u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        timeout(Duration::from_secs(10), self.0.read_exact(&mut head)).await.expect("a frame").ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        Some((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
    }
}

#[tokio::test]
async fn a_stream_past_the_limit_is_refused() {
    let server = serve(|options| options.limits.http2_streams_max = 2).await;
    let mut frames = Frames::to(&server).await;
    // The limit binds a client once it has been told.
    while frames.next().await.unwrap().0 != SETTINGS {}
    frames.send(SETTINGS, 1, 0, &[]).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    for stream in [1, 3, 5] {
        assert!(frames.call(stream, "/api/run/t/wait").await);
    }
    let refused_stream = 7_u32.to_be_bytes().to_vec();
    loop {
        let (kind, stream, payload) = frames.next().await.expect("a reset");
        if kind == RST_STREAM {
            assert_eq!((stream, payload), (5, refused_stream));
            break;
        }
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn streams_that_are_reset_at_once_make_little_work_and_end_the_connection() {
    let server = serve(|options| options.limits.http2_streams_max = 8).await;
    let mut frames = Frames::to(&server).await;
    for call in 0..2000 {
        let stream = 2 * call + 1;
        let sent = frames.call(stream, "/api/run/t/wait").await
            && frames.send(RST_STREAM, 0, stream, &8_u32.to_be_bytes()).await;
        if !sent {
            break;
        }
        if call % 10 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut told = false;
    while let Some((kind, ..)) = frames.next().await {
        told |= kind == GOAWAY;
    }
    assert!(told, "the connection ends, and says so");
    assert!(server.seen.calls.load(Ordering::SeqCst) <= 8, "calls under way stay within a connection's streams");
}

#[tokio::test]
async fn calls_that_are_reset_while_they_run_end_the_connection() {
    let server = serve(|options| options.limits.http2_streams_max = 8).await;
    let mut frames = Frames::to(&server).await;
    for call in 0..100 {
        let stream = 2 * call + 1;
        if !frames.call(stream, "/api/run/t/slow").await {
            break;
        }
        let before = server.seen.calls.load(Ordering::SeqCst);
        for _ in 0..100 {
            tokio::task::yield_now().await;
            if server.seen.calls.load(Ordering::SeqCst) > before {
                break;
            }
        }
        if !frames.send(RST_STREAM, 0, stream, &8_u32.to_be_bytes()).await {
            break;
        }
    }
    let mut told = false;
    while let Some((kind, ..)) = frames.next().await {
        told |= kind == GOAWAY;
    }
    assert!(told);
    assert!(server.seen.calls.load(Ordering::SeqCst) <= 20);
}

#[tokio::test]
async fn a_client_that_keeps_its_window_shut_is_dropped() {
    let server = serve(|options| options.limits.idle_timeout = Duration::from_millis(150)).await;
    let mut frames = Frames::to(&server).await;
    assert!(frames.call(1, "/api/run/t/large").await);
    server.reached(1).await;
    // It reads and answers pings, so that only its window stands in the way.
    let reading = tokio::spawn(async move {
        while let Some((kind, _, payload)) = frames.next().await {
            if kind == PING {
                frames.send(PING, 1, 0, &payload).await;
            }
        }
    });
    until(|| server.traffic.connections_open() == 0).await;
    reading.await.unwrap();
}

#[tokio::test]
async fn responses_that_are_not_taken_keep_a_connection_from_asking_for_more() {
    let server = serve(|_| {}).await;
    let mut frames = Frames::to(&server).await;
    // One response is larger than a connection may hold; its window lets a part of it through.
    assert!(frames.call(1, "/api/run/t/large").await);
    server.reached(1).await;
    until(|| server.seen.ended.load(Ordering::SeqCst) == 1).await;
    for stream in (3..200).step_by(2) {
        if !frames.call(stream, "/api/run/t/large").await {
            break;
        }
    }
    // Every request is answered or the connection ends; none of them reaches the handler.
    let mut refused = 0;
    while refused < 50 {
        match frames.next().await {
            Some((HEADERS, stream, _)) if stream > 1 => refused += 1,
            Some(_) => {}
            None => break,
        }
    }
    assert!(refused > 0);
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_idle_connection_is_closed_though_it_pings() {
    let server = serve(|options| options.limits.idle_timeout = Duration::from_millis(200)).await;
    let (mut sender, driver) = connect(&server).await;
    assert!(sender.send_request(post("/api/run/t/slow", "{}")).await.is_ok(), "a call may take longer than a pause");
    let start = Instant::now();
    timeout(Duration::from_secs(5), driver).await.unwrap().unwrap();
    assert!(start.elapsed() >= Duration::from_millis(150));
    until(|| server.traffic.connections_open() == 0).await;
}

#[tokio::test]
async fn a_slow_body_is_408() {
    let server = serve(|options| options.limits.body_timeout = Duration::from_millis(150)).await;
    let stream = TcpStream::connect(server.addr).await.unwrap();
    let (mut sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let body = http_body_util::StreamBody::new(futures_util::stream::pending::<
        Result<hyper::body::Frame<Bytes>, std::convert::Infallible>,
    >());
    let request = Request::post("http://test/api/query").header("content-type", "application/json").body(body).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!((response.status(), &*code(response).await), (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT"));
}
