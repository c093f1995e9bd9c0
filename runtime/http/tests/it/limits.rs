//! The limits of the listener, set to small values.

use std::sync::atomic::Ordering::{self, Relaxed};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt as _};
use tokio::time::{Instant, sleep, timeout};

use convoke_http::DrainOutcome;

use super::harness::{Client, LONG, PATIENCE, Response, get, post, post_with, serve, until};

const SHORT: Duration = Duration::from_millis(150);

#[tokio::test]
async fn silent_connection_is_closed_without_a_response() {
    let server = serve(|options| options.limits.first_byte_timeout = SHORT).await;
    let start = Instant::now();
    server.client().await.closed().await;
    assert!(start.elapsed() >= SHORT);
}

#[tokio::test]
async fn head_that_arrives_byte_by_byte_for_too_long_is_408() {
    let server = serve(|options| options.limits.header_timeout = SHORT * 2).await;
    for before in ["", &get("/healthz")] {
        let mut client = server.client().await;
        if !before.is_empty() {
            assert_eq!(client.ask(before).await.status, 200);
        }
        let start = Instant::now();
        let (mut reading, mut writing) = client.stream.into_split();
        let dripping = tokio::spawn(async move {
            let drops = format!("POST /api/query HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(4000));
            for drop in drops.bytes() {
                if tokio::io::AsyncWriteExt::write_all(&mut writing, &[drop]).await.is_err() {
                    break;
                }
                sleep(Duration::from_millis(5)).await;
            }
        });
        let mut input = Vec::new();
        timeout(PATIENCE, reading.read_to_end(&mut input)).await.expect("the end").unwrap_or_default();
        let elapsed = start.elapsed();
        let text = String::from_utf8(input).unwrap();
        assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
        assert!(text.contains("REQUEST_TIMEOUT") && text.contains("connection: close"), "{text}");
        assert!(elapsed >= SHORT, "{elapsed:?}");
        dripping.abort();
    }
}

#[tokio::test]
async fn incomplete_head_is_408_after_its_timeout() {
    let server = serve(|options| options.limits.header_timeout = SHORT).await;
    let mut client = server.client().await;
    let start = Instant::now();
    let response = client.ask("POST /api/query HTTP/1.1\r\nHost").await;
    assert_eq!((response.status, &*response.code()), (408, "REQUEST_TIMEOUT"));
    assert!(start.elapsed() >= SHORT - Duration::from_millis(20));
    client.closed().await;
}

#[tokio::test]
async fn idle_connection_is_closed_and_busy_one_is_not() {
    // Each pause of the client is shorter by more than a second, which a busy machine may need.
    const IDLE: Duration = Duration::from_secs(2);
    let server = serve(|options| options.limits.idle_timeout = IDLE).await;
    let mut client = server.client().await;
    // The total is longer than the idle timeout, but each pause is shorter.
    for _ in 0..6 {
        sleep(IDLE / 5).await;
        assert_eq!(client.ask(get("/healthz")).await.status, 200);
    }
    // A call that is longer than the idle timeout.
    client.send(post("/api/run/t/wait", "{}")).await;
    sleep(IDLE * 2).await;
    let start = Instant::now();
    server.seen.release.notify_one();
    assert_eq!(client.response().await.status, 200);
    client.closed().await;
    assert!(start.elapsed() >= IDLE);
}

/// An idle connection is checked eight times before it is closed. After two checks, its hyper connection is dropped.
#[tokio::test]
async fn connection_that_was_idle_for_a_while_serves_any_next_input() {
    let mut server = serve(|options| options.limits.idle_timeout = Duration::from_secs(8)).await;
    let mut client = server.client().await;
    let (small, large) = (get("/healthz"), post("/api/run/t/echo", &"x".repeat(4_000)));
    let halves = (small.split_at(5), large.split_at(60));
    let (ok, echoed) = ("\"ok\"", "\"bytes\":4000");
    let after_a_while: [(&[&str], &[&str]); 5] = [
        (&[&small], &[ok]),
        (&[halves.0.0, halves.0.1], &[ok]),
        (&["\r\n", "\r\n", &small], &[ok]),
        (&[halves.1.0, halves.1.1], &[echoed]),
        (&[&large, &small, &large], &[echoed, ok, echoed]),
    ];
    for (pieces, responses) in after_a_while {
        for piece in pieces {
            client.send(piece).await;
            sleep(Duration::from_millis(20)).await;
        }
        for expected in responses {
            let response = client.response().await;
            let text = String::from_utf8_lossy(&response.body);
            assert!(response.status == 200 && text.contains(expected), "{} {text}", response.status);
        }
        sleep(Duration::from_millis(2_300)).await;
    }
    let broken = client.ask("GET / HTTP/1.1\nHost: a\r\n\r\n").await;
    assert_eq!((broken.status, broken.field("connection")), (400, Some("close")));
    client.closed().await;

    let mut idle = server.client().await;
    assert_eq!(idle.ask(&small).await.status, 200);
    sleep(Duration::from_millis(2_300)).await;
    let start = Instant::now();
    server.stop();
    idle.closed().await;
    assert!(start.elapsed() < Duration::from_secs(5), "the drain closes it, not the idle timeout");
    assert_eq!(server.outcome().await, DrainOutcome { cut: 0 });
}

#[tokio::test]
async fn blank_lines_do_not_keep_an_idle_connection_open() {
    let server = serve(|options| {
        options.limits.idle_timeout = SHORT;
        options.limits.header_timeout = LONG;
    })
    .await;
    let mut client = server.client().await;
    assert_eq!(client.ask(get("/healthz")).await.status, 200);
    client.send("\r\n").await;
    client.closed().await;
}

#[tokio::test]
async fn incomplete_body_is_408_after_its_timeout() {
    let server = serve(|options| options.limits.body_timeout = SHORT).await;
    for started in ["Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"] {
        let mut client = server.client().await;
        let start = Instant::now();
        let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
        let response = client.ask(format!("{head}{started}")).await;
        assert_eq!((response.status, &*response.code()), (408, "REQUEST_TIMEOUT"));
        assert_eq!(response.field("connection"), Some("close"));
        assert!(start.elapsed() >= SHORT - Duration::from_millis(20));
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn body_that_breaks_off_is_rejected() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    client
        .send("POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
        .await;
    tokio::io::AsyncWriteExt::shutdown(&mut client.stream).await.unwrap();
    let response = client.response().await;
    assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"));
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn head_at_the_limit_passes_and_a_larger_one_is_431() {
    let server = serve(|options| options.limits.header_bytes_max = 1024).await;
    let of = |bytes: usize| {
        let rest = "GET /healthz HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n".len();
        format!("GET /healthz HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(bytes - rest))
    };
    let mut client = server.client().await;
    assert_eq!(client.ask(of(1024)).await.status, 200);
    let response = client.ask(of(1025)).await;
    assert_eq!((response.status, &*response.code()), (431, "HEADERS_TOO_LARGE"));
    client.closed().await;

    let mut endless = server.client().await;
    let response = endless.ask(format!("GET /healthz HTTP/1.1\r\nX: {}", "x".repeat(100_000))).await;
    assert_eq!((response.status, &*response.code()), (431, "HEADERS_TOO_LARGE"));
}

#[tokio::test]
async fn hundred_fields_pass_and_one_more_is_431() {
    let server = serve(|_| {}).await;
    let of = |fields: usize| format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(fields - 1));
    let mut client = server.client().await;
    assert_eq!(client.ask(of(100)).await.status, 200);
    let response = client.ask(of(101)).await;
    assert_eq!((response.status, &*response.code()), (431, "HEADERS_TOO_LARGE"));
    client.closed().await;
}

#[tokio::test]
async fn higher_field_limit_applies_to_the_parser_too() {
    let server = serve(|options| options.limits.header_fields_max = 200).await;
    let mut client = server.client().await;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(199));
    assert_eq!(client.ask(request).await.status, 200);
}

#[tokio::test]
async fn body_at_the_limit_passes_and_a_larger_one_is_413() {
    let server = serve(|options| options.limits.request_body_bytes_max = 100_000).await;
    let mut client = server.client().await;
    assert_eq!(client.ask(post("/api/query", &"x".repeat(100_000))).await.json()["bytes"], 100_000);
    let response = client.ask(post("/api/query", &"x".repeat(100_001))).await;
    assert_eq!((response.status, &*response.code()), (413, "PAYLOAD_TOO_LARGE"));
    assert_eq!(response.field("connection"), Some("close"));
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn declared_length_above_the_limit_is_413_before_the_body_arrives() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    let response = client.ask(format!("{head}Content-Length: 1048577\r\n\r\n")).await;
    assert_eq!((response.status, &*response.code()), (413, "PAYLOAD_TOO_LARGE"));
}

#[tokio::test]
async fn chunked_body_above_the_limit_is_413() {
    let server = serve(|options| options.limits.request_body_bytes_max = 10_000).await;
    let mut client = server.client().await;
    client.send("POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    for _ in 0..20 {
        client.send(format!("3E8\r\n{}\r\n", "x".repeat(1000))).await;
    }
    let response = client.response().await;
    assert_eq!((response.status, &*response.code()), (413, "PAYLOAD_TOO_LARGE"));
}

#[tokio::test]
async fn client_that_still_sends_can_read_its_413() {
    let server = serve(|_| {}).await;
    for _ in 0..20 {
        let mut client = server.client().await;
        // The client sends everything before it reads: it would lose the response in a reset.
        client.send(post("/api/query", &"x".repeat(1_500_000))).await;
        sleep(Duration::from_millis(10)).await;
        let response = client.response().await;
        assert_eq!((response.status, &*response.code()), (413, "PAYLOAD_TOO_LARGE"));
    }
}

#[tokio::test]
async fn body_of_many_times_the_limit_is_read_and_gets_413() {
    let server = serve(|options| options.limits.request_body_bytes_max = 100_000).await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    for megabytes in [8, 16] {
        let mut client = server.client().await;
        client.send(post("/api/query", &"x".repeat(megabytes * 1024 * 1024))).await;
        let response = client.response().await;
        assert_eq!((response.status, &*response.code()), (413, "PAYLOAD_TOO_LARGE"), "{megabytes} MiB, declared");

        let mut client = server.client().await;
        client.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n")).await;
        for _ in 0..megabytes * 16 {
            client.send(format!("10000\r\n{}\r\n", "x".repeat(65_536))).await;
        }
        client.send("0\r\n\r\n").await;
        let response = client.response().await;
        assert_eq!((response.status, &*response.code()), (413, "PAYLOAD_TOO_LARGE"), "{megabytes} MiB, in pieces");
    }
    // A request that is rejected for another reason also gets its response.
    let mut client = server.client().await;
    client.send(post("/nothing", &"x".repeat(8 * 1024 * 1024))).await;
    assert_eq!(client.response().await.status, 404);
}

#[tokio::test]
async fn client_that_expects_100_gets_413_and_sends_no_body() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n";
    let response = client.ask(format!("{head}Content-Length: 8388608\r\n\r\n")).await;
    assert_eq!((response.status, &*response.code()), (413, "PAYLOAD_TOO_LARGE"));
    client.stream.shutdown().await.unwrap();
    client.closed().await;
    let mut client = server.client().await;
    client.send(format!("{head}Content-Length: 2\r\n\r\n")).await;
    assert_eq!(client.response().await.status, 100);
    assert_eq!(client.ask("{}").await.json()["bytes"], 2);
}

#[tokio::test]
async fn connections_of_one_address_above_the_limit_are_rejected() {
    let server = serve(|options| options.limits.connections_per_address_max = 3).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut client = server.client().await;
        assert_eq!(client.ask(get("/healthz")).await.status, 200);
        open.push(client);
    }
    for _ in 0..50 {
        server.client().await.closed().await;
    }
    assert_eq!(server.traffic.turned_away.load(Relaxed), 50);
    assert_eq!(open[0].ask(get("/healthz")).await.status, 200, "open connections are still served");
    drop(open);
    until(|| server.traffic.open.load(Relaxed) == 0).await;
    assert_eq!(server.client().await.ask(get("/healthz")).await.status, 200);
}

#[tokio::test]
async fn trusted_proxy_has_no_limit_of_connections() {
    let server = serve(|options| {
        options.limits.connections_per_address_max = 1;
        options.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    })
    .await;
    let mut open = Vec::new();
    for _ in 0..5 {
        let mut client = server.client().await;
        assert_eq!(client.ask(get("/healthz")).await.status, 200);
        open.push(client);
    }
}

#[tokio::test]
async fn flood_of_calls_does_not_block_the_metrics() {
    let server = serve(|options| {
        options.limits.connections_max = 1;
        options.ops_listen = Some("127.0.0.1:0".parse().unwrap());
    })
    .await;
    let mut only = server.client().await;
    assert_eq!(only.ask(get("/healthz")).await.status, 200);
    assert_eq!(Client::to(server.ops.unwrap()).await.ask(get("/metrics")).await.status, 200);
}

#[tokio::test]
async fn connection_above_the_total_waits_until_another_closes() {
    let server = serve(|options| options.limits.connections_max = 2).await;
    let mut first = server.client().await;
    let mut second = server.client().await;
    assert_eq!(first.ask(get("/healthz")).await.status, 200);
    assert_eq!(second.ask(get("/healthz")).await.status, 200);
    let mut third = server.client().await;
    third.send(get("/healthz")).await;
    let mut byte = [0];
    assert!(timeout(SHORT, third.stream.peek(&mut byte)).await.is_err(), "the third connection waits");
    drop(first);
    assert_eq!(third.response().await.status, 200);
}

/// Sends these requests in one write, so that a busy machine does not spread them over seconds, and reads their responses.
async fn pipelined(client: &mut Client, requests: impl Iterator<Item = String>) -> Vec<Response> {
    let requests: Vec<String> = requests.collect();
    client.send(requests.concat()).await;
    let mut responses = Vec::new();
    for _ in requests {
        responses.push(client.response().await);
    }
    responses
}

#[tokio::test]
async fn calls_of_one_address_above_the_rate_are_429() {
    let server = serve(|options| options.limits.calls_per_address_per_second = 5).await;
    let mut client = server.client().await;
    let responses = pipelined(&mut client, (0..100).map(|_| post("/api/query", "{}"))).await;
    let (accepted, rejected): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status == 200);
    assert!(accepted.len() >= 5 && responses[..5].iter().all(|response| response.status == 200));
    assert!(!rejected.is_empty(), "all calls would need 19 seconds");
    for response in rejected {
        assert_eq!((response.status, &*response.code()), (429, "TOO_MANY_REQUESTS"));
        assert_eq!(response.field("retry-after"), Some("1"));
    }
    assert_eq!(client.ask(get("/healthz")).await.status, 200, "a health check does not count as a call");
    sleep(Duration::from_millis(1100)).await;
    assert_eq!(client.ask(post("/api/query", "{}")).await.status, 200);
}

#[tokio::test]
async fn forwarded_addresses_count_only_from_a_trusted_proxy() {
    let forwarded = |host: u8| post_with("/api/query", &format!("X-Forwarded-For: 203.0.113.{host}\r\n"), "{}");
    let trusting = serve(|options| {
        options.limits.calls_per_address_per_second = 1;
        options.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let mut client = trusting.client().await;
    for host in 0..20 {
        let response = client.ask(forwarded(host)).await;
        assert_eq!(response.json()["peer"], format!("203.0.113.{host}"));
    }
    let of_one = pipelined(&mut client, (0..20).map(|_| forwarded(0))).await;
    assert!(of_one.iter().any(|response| response.status == 429), "all calls would need 19 seconds");

    let wary = serve(|options| options.limits.calls_per_address_per_second = 1).await;
    let mut client = wary.client().await;
    let of_several = pipelined(&mut client, (1..20).map(forwarded)).await;
    assert_eq!(of_several[0].json()["peer"], "127.0.0.1");
    assert!(of_several.iter().any(|response| response.status == 429), "all calls would need 18 seconds");
}

#[tokio::test]
async fn client_that_does_not_read_its_response_is_disconnected() {
    let server = serve(|options| options.limits.response_stall_timeout = SHORT).await;
    let mut client: Client = server.client().await;
    client.send(post("/api/run/t/large", "{}")).await;
    server.reached(1).await;
    until(|| server.traffic.open.load(Relaxed) == 0).await;
    assert_eq!((server.traffic.stalled.load(Relaxed), server.answer_bytes()), (1, 0));
}
