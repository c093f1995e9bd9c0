//! The memory limits of request bodies and responses, over all connections.

use std::sync::atomic::Ordering::{self, Relaxed};
use std::time::Duration;

use super::frames::{DATA, Frames, HEADERS, INITIAL_WINDOW_SIZE};
use super::harness::{Client, PAGE_BYTES, PATIENCE, Running, connect_narrowly, get, post, post_with, serve, until};

/// Connects a client that requests a page and does not read it.
async fn stalled(server: &Running) -> Frames {
    let calls = server.seen.calls.load(Ordering::SeqCst);
    let mut frames = Frames::with(server.addr, &[(INITIAL_WINDOW_SIZE, 0)]).await;
    assert!(frames.call(1, "/api/run/t/page").await);
    server.reached(calls + 1).await;
    frames.next_of(HEADERS).await.expect("the head of the response");
    frames
}

/// Reads until the server closes the connection.
async fn closed(mut frames: Frames) {
    while frames.next().await.is_some() {}
}

#[tokio::test]
async fn unread_responses_close_the_slowest_connections_and_no_others() {
    let server = serve(|options| options.limits.response_bytes_total_max = 4 * PAGE_BYTES).await;
    let mut slow = Vec::new();
    for connections in 1..=12 {
        slow.push(stalled(&server).await);
        let held = u64::try_from(slow.len()).unwrap();
        until(|| server.answer_bytes() <= 4 * PAGE_BYTES).await;
        until(|| server.traffic.given_up.load(Relaxed) == held.saturating_sub(4)).await;
        assert_eq!(server.traffic.open.load(Relaxed) + server.traffic.given_up.load(Relaxed), connections);
    }
    // The connections that waited longest are closed.
    for frames in slow.drain(..8) {
        closed(frames).await;
    }
    let mut other = server.client().await;
    for _ in 0..5 {
        assert_eq!(other.ask(post("/api/run/t/page", "{}")).await.body.len(), PAGE_BYTES);
    }
    assert!(
        server.traffic.given_up.load(Relaxed) <= 9,
        "at most one more connection is closed for the page of the other client"
    );
    drop((slow, other));
    until(|| server.traffic.open.load(Relaxed) == 0).await;
    assert_eq!(server.answer_bytes(), 0);
}

#[tokio::test]
async fn client_that_reads_its_response_is_not_the_slowest() {
    let server = serve(|options| options.limits.response_bytes_total_max = 3 * PAGE_BYTES).await;
    let first = stalled(&server).await;
    let second = stalled(&server).await;
    let mut reading = stalled(&server).await;
    for stream in [0, 1] {
        let bytes = u32::try_from(PAGE_BYTES / 2).unwrap();
        assert!(reading.send(super::frames::WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes()).await);
    }
    let mut taken = 0;
    while taken < PAGE_BYTES / 2 {
        taken += reading.next_of(DATA).await.expect("more of the response").payload.len();
    }
    // Half of a page is free now. Two more pages need the memory of clients that read nothing.
    let _third = stalled(&server).await;
    closed(first).await;
    let _fourth = stalled(&server).await;
    closed(second).await;
    assert_eq!(server.traffic.given_up.load(Relaxed), 2);
    reading.until_read().await;
}

#[tokio::test]
async fn unread_response_over_http_1_closes_its_connection_too() {
    // Larger than the system's buffers for a client that does not read.
    const LARGE: usize = 32 * 1024 * 1024;
    let server = serve(|options| options.limits.response_bytes_total_max = LARGE * 3 / 2).await;
    let mut first = server.client().await;
    first.send(post("/api/run/t/large", "{}")).await;
    server.reached(1).await;
    until(|| server.answer_bytes() > 0).await;
    let mut second = server.client().await;
    second.send(post("/api/run/t/large", "{}")).await;
    until(|| server.traffic.given_up.load(Relaxed) == 1).await;
    let response = second.response().await;
    assert_eq!((response.status, response.body.len()), (200, LARGE));
    until(|| server.answer_bytes() == 0).await;
}

/// Bytes in the system's send buffers of connections to this server.
#[cfg(target_os = "linux")]
fn queued(server: &Running) -> usize {
    let port = format!(":{:04X}", server.addr.port());
    let list = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let fields = list.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let queues = fields.filter(|fields| fields[1].ends_with(&port));
    queues.map(|fields| usize::from_str_radix(fields[4].split(':').next().unwrap(), 16).unwrap()).sum()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn unread_responses_of_an_address_stay_within_its_limit_in_the_system_too() {
    const CONNECTIONS: usize = 100;
    const PIPELINED: usize = 20;
    const BOUND: usize = 4 * PAGE_BYTES;
    let server = serve(|options| {
        options.limits.unread_bytes_per_address_max = BOUND;
        options.limits.response_bytes_total_max = 1024 * PAGE_BYTES;
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = server.client().await;
        // The server may reset or reject the connection during the write.
        let _ = client.stream.try_write(post("/api/run/t/page", "{}").repeat(PIPELINED).as_bytes());
        silent.push(client);
        // A connection has the unsent bytes that the system buffers, and one more piece of a write.
        assert!(queued(&server) <= silent.len() * 256 * 1024, "{} bytes of {}", queued(&server), silent.len());
    }
    until(|| server.traffic.unread_closed.load(Relaxed) > 0 && queued(&server) + server.answer_bytes() <= BOUND).await;
    assert!(
        server.seen.calls.load(Ordering::SeqCst) <= 3 * CONNECTIONS,
        "no call runs ahead of a client that reads nothing"
    );

    // Another address is served at any time, and this address again once its bytes are freed.
    let mut other = connect_narrowly("127.0.0.2:0", server.addr).await;
    assert_eq!(other.ask(post("/api/run/t/page", "{}")).await.body.len(), PAGE_BYTES);
    drop(silent);
    until(|| queued(&server) == 0).await;
    // The server samples the system's list periodically and rejects connections until the next sample.
    let start = tokio::time::Instant::now();
    let response = loop {
        let mut client = server.client().await;
        client.send(get("/healthz")).await;
        if let Some(response) = client.maybe_response(false).await {
            break response;
        }
        assert!(start.elapsed() < PATIENCE, "the address is still rejected");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(response.status, 200);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn closed_connections_whose_bytes_the_system_still_holds_count_for_their_address() {
    const BOUND: usize = 4 * PAGE_BYTES;
    let server = serve(|options| options.limits.unread_bytes_per_address_max = BOUND).await;
    let mut silent = Vec::new();
    let mut rejected = 0;
    for _ in 0..500 {
        let client = connect_narrowly("127.0.0.1:0", server.addr).await;
        let request = post_with("/api/run/t/part", "Connection: close\r\n", "{}");
        let _ = client.stream.try_write(request.as_bytes());
        silent.push(client);
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(queued(&server) <= 4 * BOUND, "{}", queued(&server));
        rejected = server.traffic.turned_away.load(Relaxed);
    }
    assert!(rejected > 0, "new connections are rejected while the system holds too many bytes");
}

/// Begins a call with a body of `bytes`, of which only `sent` are sent.
async fn begin(server: &Running, bytes: usize, sent: usize) -> Client {
    let mut client = server.client().await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    client.send(format!("{head}Content-Length: {bytes}\r\n\r\n{}", "x".repeat(sent))).await;
    client
}

#[tokio::test]
async fn large_bodies_wait_for_memory_or_are_rejected_and_small_ones_pass() {
    const LARGE: usize = 400_000;
    let server = serve(|options| {
        // An eighth is for small bodies. The rest is enough for two large bodies.
        options.limits.request_bytes_total_max = 1_000_000;
    })
    .await;
    let (mut admitted, mut waiting) = (Vec::new(), Vec::new());
    for bodies in 1..=2 {
        admitted.push(begin(&server, LARGE, 1000).await);
        until(|| server.traffic.request_bytes() == bodies * LARGE).await;
    }
    for bodies in 1..=2 {
        waiting.push(begin(&server, LARGE, 1000).await);
        until(|| server.traffic.request_waits() == bodies).await;
    }
    for _ in 0..20 {
        // The waiting bodies need the whole memory. A further request is rejected immediately, before its body is sent.
        let rejected = begin(&server, LARGE, 1000).await.response().await;
        assert_eq!((rejected.status, &*rejected.code()), (503, "OVERLOADED"));
        assert_eq!((rejected.field("retry-after"), rejected.field("connection")), (Some("1"), Some("close")));
    }
    let mut small = server.client().await;
    assert_eq!(small.ask(post("/api/query", "{}")).await.status, 200);
    let mut in_pieces = begin(&server, 10_000, 10).await;
    // The first waiting body has reserved the rest of the memory already.
    until(|| server.traffic.request_bytes() >= 2 * LARGE + 10_000).await;
    in_pieces.send("x".repeat(9_990)).await;
    assert_eq!(in_pieces.response().await.json()["bytes"], 10_000);

    for mut client in admitted.into_iter().chain(waiting) {
        client.send("x".repeat(LARGE - 1000)).await;
        assert_eq!(client.response().await.json()["bytes"], LARGE);
    }
    until(|| server.traffic.request_bytes() == 0).await;
}

#[tokio::test]
async fn body_is_rejected_after_the_wait_for_memory() {
    let server = serve(|options| {
        options.limits.request_bytes_total_max = 500_000;
        options.limits.request_room_timeout = Duration::from_millis(100);
    })
    .await;
    let _admitted = begin(&server, 400_000, 1).await;
    until(|| server.traffic.request_bytes() > 0).await;
    let rejected = begin(&server, 400_000, 1).await.response().await;
    assert_eq!((rejected.status, &*rejected.code()), (503, "OVERLOADED"));
    assert_eq!(server.traffic.request_waits(), 1);
}

#[tokio::test]
async fn body_holds_its_memory_until_its_call_ends() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    client.send(post("/api/run/t/wait", &"x".repeat(100_000))).await;
    server.reached(1).await;
    assert_eq!(server.traffic.request_bytes(), 100_000);
    server.seen.release.notify_one();
    assert_eq!(client.response().await.json()["bytes"], 100_000);
    until(|| server.traffic.request_bytes() == 0).await;
    // A body without a declared length reserves the largest length while it is read.
    client.send("POST /api/run/t/wait HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n").await;
    client.send("Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n").await;
    until(|| server.traffic.request_bytes() == 1024 * 1024).await;
    client.send("2\r\n1}\r\n0\r\n\r\n").await;
    server.reached(2).await;
    assert_eq!(server.traffic.request_bytes(), 7);
    server.seen.release.notify_one();
    assert_eq!(client.response().await.json()["body"], r#"{"a":1}"#);
}

#[tokio::test]
async fn overload_is_reported_before_the_body_is_read() {
    let server = serve(|_| {}).await;
    server.seen.is_full.store(true, Ordering::SeqCst);
    for fields in ["", "Expect: 100-continue\r\n"] {
        let mut client = server.client().await;
        let head = "POST /api/mutation HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
        let rejected = client.ask(format!("{head}{fields}Content-Length: 1000000\r\n\r\n")).await;
        assert_eq!((rejected.status, &*rejected.code()), (503, "OVERLOADED"), "{fields}");
        assert_eq!((rejected.field("retry-after"), rejected.field("connection")), (Some("1"), Some("close")));
        client.closed().await;
    }
    // Over HTTP/2 the connection stays open, and the server reads only a little of the body.
    let mut frames = Frames::to(server.addr).await;
    assert!(frames.begin(1, "/api/mutation", &[("content-length", "1000000")]).await);
    frames.send_more_than_is_discarded(1).await;
    assert_eq!(frames.next_of(HEADERS).await.expect("a response").stream, 1);
    frames.until_read().await;
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
    assert_eq!(server.traffic.request_bytes(), 0);
    // A body that arrived with its head is already read, so the handler decides about the call.
    assert_eq!(server.client().await.ask(post("/api/mutation", "{}")).await.status, 200);
    assert_eq!(server.client().await.ask(get("/healthz")).await.status, 200);
}
