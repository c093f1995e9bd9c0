//! HTTP/2 with prior knowledge.

use std::sync::atomic::Ordering::{self, Relaxed};
use std::time::Duration;

use bytes::Bytes;
use convoke_http::DrainOutcome;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::frames::{
    DATA, END_STREAM, Frame, Frames, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::harness::{PATIENCE, Running, serve, until};

// Error codes (RFC 9113 §7).
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const REFUSED_STREAM: u32 = 7;

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
async fn calls_of_one_connection_run_concurrently() {
    let server = serve(|_| {}).await;
    let (sender, _driver) = connect(&server).await;
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let mut sender = sender.clone();
            tokio::spawn(async move { sender.send_request(post("/api/run/t/wait", "{}")).await.unwrap() })
        })
        .collect();
    server.reached(20).await;
    assert_eq!(server.seen.ended.load(Ordering::SeqCst), 0);
    server.seen.release.notify_waiters();
    for call in calls {
        let response = call.await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn rejections_are_envelopes() {
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
    let rejected = sender.send_request(large).await;
    assert!(rejected.map_or(true, |response| response.status() == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
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
async fn call_of_a_reset_stream_continues_and_the_drain_waits_for_it() {
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
async fn stream_above_the_limit_waits_in_the_client() {
    let server = serve(|options| options.limits.http2_streams_max = 2).await;
    let (mut sender, _driver) = connect(&server).await;
    // The client learns the limit from the settings frame.
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
    until(|| {
        server.seen.release.notify_one();
        server.seen.ended.load(Ordering::SeqCst) == 5
    })
    .await;
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn stream_above_the_limit_is_refused() {
    let server = serve(|options| options.limits.http2_streams_max = 2).await;
    let mut frames = Frames::to(server.addr).await;
    // The limit applies once the client has acknowledged the settings.
    frames.next_of(SETTINGS).await.unwrap();
    frames.send(SETTINGS, 1, 0, &[]).await;
    frames.until_read().await;
    for stream in [1, 3, 5] {
        assert!(frames.call(stream, "/api/run/t/wait").await);
    }
    let reset = frames.next_of(RST_STREAM).await.expect("a reset");
    assert_eq!((reset.stream, reset.error()), (5, REFUSED_STREAM));
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn immediately_reset_streams_cause_little_work_and_close_the_connection() {
    let server = serve(|options| options.limits.http2_streams_max = 8).await;
    let mut frames = Frames::to(server.addr).await;
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
    assert!(frames.answer_pings().await, "the server sends a GOAWAY and closes the connection");
    assert!(server.seen.calls.load(Ordering::SeqCst) <= 8, "no more calls run than a connection may have streams");
}

#[tokio::test]
async fn calls_that_are_reset_while_they_run_close_the_connection() {
    let server = serve(|options| options.limits.http2_streams_max = 8).await;
    let mut frames = Frames::to(server.addr).await;
    let mut has_goaway = false;
    for call in 0..100 {
        let stream = 2 * call + 1;
        let before = server.seen.calls.load(Ordering::SeqCst);
        frames.call(stream, "/api/run/t/wait").await;
        if !frames.are_read(&mut has_goaway).await {
            break;
        }
        until(|| server.seen.calls.load(Ordering::SeqCst) > before).await;
        frames.send(RST_STREAM, 0, stream, &8_u32.to_be_bytes()).await;
        if !frames.are_read(&mut has_goaway).await {
            break;
        }
        // Each reset call ends before the next call, so the next call is accepted.
        server.seen.release.notify_one();
        until(|| server.seen.ended.load(Ordering::SeqCst) > before).await;
    }
    assert!(has_goaway, "the server sends a GOAWAY and closes the connection");
    assert!(server.seen.calls.load(Ordering::SeqCst) <= 20);
}

#[tokio::test]
async fn client_that_reads_no_response_is_disconnected_though_it_pings_and_calls() {
    let server = serve(|options| options.limits.response_stall_timeout = Duration::from_millis(200)).await;
    // The response may be small. With a running call, the connection is not idle.
    let mut frames = Frames::with(server.addr, &[(INITIAL_WINDOW_SIZE, 0)]).await;
    assert!(frames.call(1, "/api/query").await);
    assert!(frames.call(3, "/api/run/t/wait").await);
    server.reached(2).await;
    assert!(frames.answer_pings().await, "the server sends a GOAWAY and closes the connection");
    server.seen.release.notify_one();
    until(|| server.traffic.open.load(Relaxed) == 0).await;
    assert_eq!((server.traffic.stalled.load(Relaxed), server.answer_bytes()), (1, 0));
}

#[tokio::test]
async fn response_that_is_read_to_its_end_does_not_stall() {
    // A client on a busy machine may pause for a second.
    let server = serve(|options| options.limits.response_stall_timeout = Duration::from_secs(1)).await;
    let (mut sender, _driver) = connect(&server).await;
    for path in ["/api/query", "/api/run/t/page", "/api/run/t/wait"] {
        let (response, ()) = tokio::join!(sender.send_request(post(path, "{}")), async {
            if path.ends_with("wait") {
                server.reached(3).await;
                tokio::time::sleep(Duration::from_millis(1_500)).await;
                server.seen.release.notify_one();
            }
        });
        assert!(!response.unwrap().into_body().collect().await.unwrap().to_bytes().is_empty());
        tokio::time::sleep(Duration::from_millis(1_500)).await;
    }
    assert_eq!((server.traffic.stalled.load(Relaxed), server.answer_bytes()), (0, 0));
}

#[tokio::test]
async fn connection_with_unread_responses_cannot_make_further_calls() {
    let server = serve(|_| {}).await;
    let mut frames = Frames::to(server.addr).await;
    // One response is larger than the limit of a connection, and the window lets only a part of it pass.
    assert!(frames.call(1, "/api/run/t/large").await);
    server.reached(1).await;
    until(|| server.seen.ended.load(Ordering::SeqCst) == 1).await;
    for stream in (3..200).step_by(2) {
        if !frames.call(stream, "/api/run/t/large").await {
            break;
        }
    }
    // Each request gets a response or the connection ends; none reaches the handler.
    let mut rejected = 0;
    while rejected < 50 {
        match frames.next().await {
            Some(frame) if frame.kind == HEADERS && frame.stream > 1 => rejected += 1,
            Some(_) => {}
            None => break,
        }
    }
    assert!(rejected > 0);
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn idle_connection_is_closed_though_it_pings() {
    let server = serve(|options| options.limits.idle_timeout = Duration::from_millis(200)).await;
    let (mut sender, driver) = connect(&server).await;
    let start = Instant::now();
    assert!(
        sender.send_request(post("/api/run/t/slow", "{}")).await.is_ok(),
        "a call may take longer than the idle timeout"
    );
    timeout(PATIENCE, driver).await.unwrap().unwrap();
    // The call takes 300 ms.
    assert!(start.elapsed() >= Duration::from_millis(450));
    until(|| server.traffic.open.load(Relaxed) == 0).await;
}

#[tokio::test]
async fn slow_body_is_408() {
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

/// Sends the beginning of a request whose response does not need the body, and waits until the server has read it.
async fn unfinished(server: &Running, fields: &[(&str, &str)]) -> Frames {
    let mut frames = Frames::to(server.addr).await;
    assert!(frames.begin(1, "/nothing", fields).await);
    for _ in 0..3 {
        let early = frames.until_read().await;
        assert!(early.iter().all(|frame| frame.stream == 0), "a response before the end of the request: {early:?}");
    }
    frames
}

/// Reads up to the reset of the stream or the end of the connection.
async fn refused(mut frames: Frames) -> Frame {
    loop {
        let frame = frames.next().await.expect("a reset, or the connection's end with its reason");
        match frame.kind {
            RST_STREAM | GOAWAY => return frame,
            HEADERS => panic!("a response: {frame:?}"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn errors_of_an_unused_body_are_reported() {
    let server = serve(|_| {}).await;
    for pieces in [&[&b"test"[..]][..], &[b"test", b"test"]] {
        let mut frames = unfinished(&server, &[("content-length", "1")]).await;
        for (index, piece) in pieces.iter().enumerate() {
            let last = if index + 1 == pieces.len() { END_STREAM } else { 0 };
            assert!(frames.send(DATA, last, 1, piece).await);
        }
        assert_eq!(refused(frames).await.error(), PROTOCOL_ERROR, "the length differs from the declared one");
    }
    let mut frames = unfinished(&server, &[]).await;
    assert!(frames.send(DATA, 0, 1, b"test").await);
    assert!(frames.headers(1, 0, &[(":method", "POST")]).await);
    assert_eq!(refused(frames).await.error(), PROTOCOL_ERROR, "trailers that do not end the stream");
    let mut frames = unfinished(&server, &[]).await;
    for _ in 0..2 {
        assert!(frames.send(WINDOW_UPDATE, 0, 1, &(u32::MAX >> 1).to_be_bytes()).await);
    }
    assert_eq!(refused(frames).await.error(), FLOW_CONTROL_ERROR, "a window above its limit");
}

#[tokio::test]
async fn frames_after_the_reset_of_an_unfinished_request_are_rejected() {
    let server = serve(|_| {}).await;
    for kind in [DATA, HEADERS] {
        let mut frames = unfinished(&server, &[]).await;
        assert!(frames.send(RST_STREAM, 0, 1, &8_u32.to_be_bytes()).await);
        match kind {
            DATA => assert!(frames.send(DATA, END_STREAM, 1, b"test").await),
            _ => assert!(frames.headers(1, END_STREAM, &[("x-trailer", "1")]).await),
        }
        let refused = refused(frames).await;
        assert!(refused.kind == GOAWAY || refused.error() == STREAM_CLOSED, "{refused:?}");
    }
}

#[tokio::test]
async fn response_that_needs_no_body_waits_for_little_of_it() {
    let server = serve(|_| {}).await;
    let mut frames = unfinished(&server, &[]).await;
    frames.send_more_than_is_discarded(1).await;
    let response = frames.next_of(HEADERS).await.expect("a response");
    assert_eq!((response.stream, response.payload[0]), (1, 0x8d), "`:status` 404");
}

#[tokio::test]
async fn endless_request_gets_a_response_after_the_body_timeout() {
    let server = serve(|options| options.limits.body_timeout = Duration::from_millis(150)).await;
    let mut frames = Frames::to(server.addr).await;
    assert!(frames.begin(1, "/nothing", &[]).await);
    assert_eq!(frames.next_of(HEADERS).await.expect("a response").stream, 1);
}

#[tokio::test]
async fn client_that_reads_a_few_bytes_at_a_time_and_answers_pings_is_disconnected() {
    let server = serve(|options| {
        options.limits.response_stall_timeout = Duration::from_secs(2);
        options.limits.response_bytes_per_second_min = 1_000;
    })
    .await;
    // Ten bytes at a time: 200 bytes per second, and 20,000.
    for (bytes, is_dropped, seconds) in [(10u32, true, 60), (1_000, false, 8)] {
        let mut frames = Frames::with(server.addr, &[(INITIAL_WINDOW_SIZE, 0)]).await;
        assert!(frames.call(1, "/api/run/t/page").await);
        let start = Instant::now();
        let mut is_open = true;
        while is_open && start.elapsed() < Duration::from_secs(seconds) {
            // The windows of the connection and of the stream.
            for stream in [0, 1] {
                is_open = is_open && frames.send(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes()).await;
            }
            is_open = is_open && frames.are_read(&mut false).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(is_open, !is_dropped, "{bytes} bytes at a time");
    }
    assert_eq!(server.traffic.stalled.load(Relaxed), 1);
    until(|| server.answer_bytes() == 0).await;
}
