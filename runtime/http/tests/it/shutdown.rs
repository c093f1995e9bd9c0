//! The drain.

use std::sync::atomic::Ordering;
use std::time::Duration;

use convoke_http::DrainOutcome;
use tokio::time::{Instant, sleep};

use super::harness::{Client, get, post, serve, until};

#[tokio::test]
async fn running_calls_finish_and_idle_connections_close() {
    let mut server = serve(|_| {}).await;
    let mut idle = server.client().await;
    assert_eq!(idle.ask(get("/healthz")).await.status, 200);
    let mut silent = server.client().await;
    let mut half = server.client().await;
    half.send("POST /api/query HTTP/1.1\r\nHo").await;
    let mut busy = server.client().await;
    busy.send(post("/api/run/t/wait", "{}")).await;
    server.reached(1).await;
    sleep(Duration::from_millis(20)).await;

    server.stop();
    for client in [&mut idle, &mut silent, &mut half] {
        client.closed().await;
    }
    server.seen.release.notify_one();
    let response = busy.response().await;
    assert_eq!((response.status, response.field("connection")), (200, Some("close")));
    busy.closed().await;
    assert_eq!(server.outcome().await, DrainOutcome { cut: 0 });
}

#[tokio::test]
async fn incomplete_body_does_not_delay_the_drain() {
    let mut server = serve(|_| {}).await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    let mut half = server.client().await;
    half.send(format!("{head}Content-Length: 100000\r\n\r\n{{\"a\":")).await;
    let mut quick = server.client().await;
    quick.send(format!("{head}Content-Length: 100000\r\n\r\n")).await;
    until(|| server.traffic.request_bytes() == 200_000).await;
    server.stop();
    // A body that arrives now is still served.
    quick.send("x".repeat(100_000)).await;
    assert_eq!(quick.response().await.json()["bytes"], 100_000);
    let rejected = half.response().await;
    assert_eq!((rejected.status, &*rejected.code(), rejected.field("connection")), (503, "NOT_READY", Some("close")));
    assert_eq!(server.outcome().await, DrainOutcome { cut: 0 });
}

#[tokio::test]
async fn during_the_drain_new_calls_are_rejected_and_readiness_is_503() {
    let mut server = serve(|_| {}).await;
    let mut busy = server.client().await;
    busy.send(post("/api/run/t/wait", "{}")).await;
    server.reached(1).await;
    server.stop();
    sleep(Duration::from_millis(30)).await;

    let mut late = Client::to(server.addr).await;
    let rejected = late.ask(post("/api/query", "{}")).await;
    assert_eq!((rejected.status, &*rejected.code()), (503, "NOT_READY"));
    assert_eq!((rejected.field("retry-after"), rejected.field("connection")), (Some("1"), Some("close")));
    assert_eq!(Client::to(server.addr).await.ask(get("/readyz")).await.status, 503);
    assert_eq!(Client::to(server.addr).await.ask(get("/healthz")).await.status, 200);

    server.seen.release.notify_one();
    assert_eq!(busy.response().await.status, 200);
    assert_eq!(server.outcome().await, DrainOutcome { cut: 0 });
}

#[tokio::test]
async fn calls_that_exceed_the_drain_timeout_are_dropped_and_counted() {
    let mut server = serve(|options| options.limits.drain_timeout = Duration::from_millis(200)).await;
    let mut clients = Vec::new();
    for number in 1..=3 {
        let mut client = server.client().await;
        client.send(post("/api/run/t/wait", "{}")).await;
        server.reached(number).await;
        clients.push(client);
    }
    let start = Instant::now();
    server.stop();
    let seen = server.seen.clone();
    assert_eq!(server.outcome().await, DrainOutcome { cut: 3 });
    assert!(start.elapsed() >= Duration::from_millis(200));
    for client in &mut clients {
        client.closed().await;
    }
    assert_eq!(seen.ended.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn drain_waits_for_a_call_whose_client_has_disconnected() {
    let mut server = serve(|_| {}).await;
    let mut client = server.client().await;
    client.send(post("/api/run/t/slow", "{}")).await;
    server.reached(1).await;
    drop(client);
    server.stop();
    let seen = server.seen.clone();
    assert_eq!(server.outcome().await, DrainOutcome { cut: 0 });
    assert_eq!(seen.ended.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn dropped_server_ends_immediately() {
    let server = serve(|_| {}).await;
    let mut idle = server.client().await;
    assert_eq!(idle.ask(get("/healthz")).await.status, 200);
    let mut busy = server.client().await;
    busy.send(post("/api/run/t/wait", "{}")).await;
    server.reached(1).await;
    let addr = server.addr;
    server.abort().await;
    idle.closed().await;
    busy.closed().await;
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn error_of_a_port_in_use_names_it_and_says_what_to_do() {
    let server = serve(|_| {}).await;
    let options = convoke_http::HttpOptions::new(server.addr);
    let error = convoke_http::Server::bind(options, super::harness::Echo::default()).await.err().unwrap();
    let said = error.to_string();
    assert!(said.starts_with(&format!("cannot listen on {}", server.addr)), "{said}");
    assert!(said.contains("choose another port"), "{said}");
}

#[tokio::test]
async fn error_of_an_invalid_origin_shows_a_valid_one() {
    let mut options = convoke_http::HttpOptions::new("127.0.0.1:0".parse().unwrap());
    options.cors_origins = vec!["app.example.com".to_owned()];
    let error = convoke_http::Server::bind(options, super::harness::Echo::default()).await.err().unwrap();
    assert!(error.to_string().contains("https://app.example.com"), "{error}");
}
