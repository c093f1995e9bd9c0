//! The memory that bodies and answers may take, over all connections.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::frames::{DATA, Frames, HEADERS, INITIAL_WINDOW_SIZE};
use super::harness::{Client, PAGE_BYTES, Running, connect_narrowly, get, post, post_with, serve, until};

/// Longer than any deadline of a test that must not be hit.
const LONG: Duration = Duration::from_secs(60);

/// A client that takes nothing of a page.
async fn stalled(server: &Running) -> Frames {
    let calls = server.seen.calls.load(Ordering::SeqCst);
    let mut frames = Frames::with(server.addr, &[(INITIAL_WINDOW_SIZE, 0)]).await;
    assert!(frames.call(1, "/api/run/t/page").await);
    server.reached(calls + 1).await;
    frames.next_of(HEADERS).await.expect("the head of the answer");
    frames
}

/// Waits until the server closes, and reads what it sends before.
async fn closed(mut frames: Frames) {
    while frames.next().await.is_some() {}
}

#[tokio::test]
async fn answers_that_nobody_takes_cost_the_slowest_their_connections_and_others_nothing() {
    let server = serve(|options| options.limits.response_bytes_total_max = 4 * PAGE_BYTES).await;
    let mut slow = Vec::new();
    for connections in 1..=12 {
        slow.push(stalled(&server).await);
        let held = u64::try_from(slow.len()).unwrap();
        until(|| server.answer_bytes() <= 4 * PAGE_BYTES).await;
        until(|| server.traffic.connections_given_up() == held.saturating_sub(4)).await;
        assert_eq!(server.traffic.connections_open() + server.traffic.connections_given_up(), connections);
    }
    // Those that waited longest went.
    for frames in slow.drain(..8) {
        closed(frames).await;
    }
    let mut other = server.client().await;
    for _ in 0..5 {
        assert_eq!(other.ask(post("/api/run/t/page", "{}")).await.body.len(), PAGE_BYTES);
    }
    assert!(
        server.traffic.connections_given_up() <= 9,
        "one more went for the page of the other, and then there was room"
    );
    drop((slow, other));
    until(|| server.traffic.connections_open() == 0).await;
    assert_eq!(server.answer_bytes(), 0);
}

#[tokio::test]
async fn whoever_takes_his_answer_is_not_the_slowest() {
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
        taken += reading.next_of(DATA).await.expect("the answer goes on").payload.len();
    }
    // Half of a page is free now; two more need the room of those that take nothing.
    let _third = stalled(&server).await;
    closed(first).await;
    let _fourth = stalled(&server).await;
    closed(second).await;
    assert_eq!(server.traffic.connections_given_up(), 2);
    reading.until_read().await;
}

#[tokio::test]
async fn an_answer_over_http_1_that_is_not_taken_costs_its_connection_too() {
    // Larger than what the system takes for a client that does not read.
    const LARGE: usize = 32 * 1024 * 1024;
    let server = serve(|options| options.limits.response_bytes_total_max = LARGE * 3 / 2).await;
    let mut first = server.client().await;
    first.send(post("/api/run/t/large", "{}")).await;
    server.reached(1).await;
    until(|| server.answer_bytes() > 0).await;
    let mut second = server.client().await;
    second.send(post("/api/run/t/large", "{}")).await;
    until(|| server.traffic.connections_given_up() == 1).await;
    let answer = second.response().await;
    assert_eq!((answer.status, answer.body.len()), (200, LARGE));
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
async fn unread_answers_of_one_address_stay_within_its_bound_in_the_system_too() {
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
        // A connection is reset while this is written, or refused.
        let _ = client.stream.try_write(post("/api/run/t/page", "{}").repeat(PIPELINED).as_bytes());
        silent.push(client);
        // A connection has what the system takes before it sends, and one piece of a write more.
        assert!(queued(&server) <= silent.len() * 256 * 1024, "{} bytes of {}", queued(&server), silent.len());
    }
    until(|| server.traffic.connections_closed_unread() > 0 && queued(&server) + server.answer_bytes() <= BOUND).await;
    assert!(
        server.seen.calls.load(Ordering::SeqCst) <= 3 * CONNECTIONS,
        "no call runs ahead of a client that reads nothing"
    );

    // Another address is served at any time, and this one again once its bytes are gone.
    let mut other = connect_narrowly("127.0.0.2:0", server.addr).await;
    assert_eq!(other.ask(post("/api/run/t/page", "{}")).await.body.len(), PAGE_BYTES);
    drop(silent);
    until(|| queued(&server) == 0).await;
    // The server reads the system's list on a timer and refuses connections until it has read it again.
    let start = tokio::time::Instant::now();
    let response = loop {
        let mut client = server.client().await;
        client.send(get("/healthz")).await;
        if let Some(response) = client.maybe_response(false).await {
            break response;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "the address is still refused");
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
    let mut turned_away = 0;
    for _ in 0..500 {
        let client = connect_narrowly("127.0.0.1:0", server.addr).await;
        let request = post_with("/api/run/t/part", "Connection: close\r\n", "{}");
        let _ = client.stream.try_write(request.as_bytes());
        silent.push(client);
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(queued(&server) <= 4 * BOUND, "{}", queued(&server));
        turned_away = server.traffic.connections_turned_away();
    }
    assert!(turned_away > 0, "new connections are refused while the system holds too much");
}

/// A call whose body of so many bytes is begun and not ended.
async fn begin(server: &Running, bytes: usize, sent: usize) -> Client {
    let mut client = server.client().await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    client.send(format!("{head}Content-Length: {bytes}\r\n\r\n{}", "x".repeat(sent))).await;
    client
}

#[tokio::test]
async fn bodies_in_the_making_wait_for_room_then_hear_of_it_and_small_ones_pass() {
    const LARGE: usize = 400_000;
    let server = serve(|options| {
        // An eighth is for the small ones; of the rest, two large ones.
        options.limits.request_bytes_total_max = 1_000_000;
        options.limits.request_room_timeout = LONG;
        options.limits.body_timeout = LONG;
    })
    .await;
    let (mut made, mut waiting) = (Vec::new(), Vec::new());
    for bodies in 1..=2 {
        made.push(begin(&server, LARGE, 1000).await);
        until(|| server.traffic.request_bytes() == bodies * LARGE).await;
    }
    for bodies in 1..=2 {
        waiting.push(begin(&server, LARGE, 1000).await);
        until(|| server.traffic.request_waits() == bodies).await;
    }
    for _ in 0..20 {
        // As many wait as there is room for; a client that comes then is told at once, before it has sent the body.
        let refused = begin(&server, LARGE, 1000).await.response().await;
        assert_eq!((refused.status, &*refused.code()), (503, "OVERLOADED"));
        assert_eq!((refused.field("retry-after"), refused.field("connection")), (Some("1"), Some("close")));
    }
    let mut small = server.client().await;
    assert_eq!(small.ask(post("/api/query", "{}")).await.status, 200);
    let mut in_pieces = begin(&server, 10_000, 10).await;
    // Whoever waits first has what is left of the room already.
    until(|| server.traffic.request_bytes() >= 2 * LARGE + 10_000).await;
    in_pieces.send("x".repeat(9_990)).await;
    assert_eq!(in_pieces.response().await.json()["bytes"], 10_000);

    for mut client in made.into_iter().chain(waiting) {
        client.send("x".repeat(LARGE - 1000)).await;
        assert_eq!(client.response().await.json()["bytes"], LARGE);
    }
    until(|| server.traffic.request_bytes() == 0).await;
}

#[tokio::test]
async fn whoever_waits_for_room_in_vain_is_told_so() {
    let server = serve(|options| {
        options.limits.request_bytes_total_max = 500_000;
        options.limits.request_room_timeout = Duration::from_millis(100);
    })
    .await;
    let _made = begin(&server, 400_000, 1).await;
    until(|| server.traffic.request_bytes() > 0).await;
    let refused = begin(&server, 400_000, 1).await.response().await;
    assert_eq!((refused.status, &*refused.code()), (503, "OVERLOADED"));
    assert_eq!(server.traffic.request_waits(), 1);
}

#[tokio::test]
async fn a_body_has_its_room_until_its_call_is_over() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    client.send(post("/api/run/t/wait", &"x".repeat(100_000))).await;
    server.reached(1).await;
    assert_eq!(server.traffic.request_bytes(), 100_000);
    server.seen.release.notify_one();
    assert_eq!(client.response().await.json()["bytes"], 100_000);
    until(|| server.traffic.request_bytes() == 0).await;
    // One that declares no length has room for the largest while it is read.
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
async fn overload_is_told_before_the_body_is_read() {
    let server = serve(|_| {}).await;
    server.seen.is_full.store(true, Ordering::SeqCst);
    for fields in ["", "Expect: 100-continue\r\n"] {
        let mut client = server.client().await;
        let head = "POST /api/mutation HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
        let refused = client.ask(format!("{head}{fields}Content-Length: 1000000\r\n\r\n")).await;
        assert_eq!((refused.status, &*refused.code()), (503, "OVERLOADED"), "{fields}");
        assert_eq!((refused.field("retry-after"), refused.field("connection")), (Some("1"), Some("close")));
        client.closed().await;
    }
    // Over HTTP/2 the connection stays, and little of the body is awaited.
    let mut frames = Frames::to(server.addr).await;
    assert!(frames.begin(1, "/api/mutation", &[("content-length", "1000000")]).await);
    frames.send_more_than_is_awaited(1).await;
    assert_eq!(frames.next_of(HEADERS).await.expect("an answer").stream, 1);
    frames.until_read().await;
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
    assert_eq!(server.traffic.request_bytes(), 0);
    // A body that came with its head is no longer to be spared; the call itself is told.
    assert_eq!(server.client().await.ask(post("/api/mutation", "{}")).await.status, 200);
    assert_eq!(server.client().await.ask(get("/healthz")).await.status, 200);
}
