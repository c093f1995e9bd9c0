//! Responses that are produced while they are sent, over HTTP/1 and HTTP/2: complete and broken ones.

use std::sync::atomic::Ordering::{self, Relaxed};
use std::time::Duration;

use reqwest::{Client, Response};
use tokio::time::{sleep, timeout};

use super::harness::{PATIENCE, Running, serve, until};

fn clients() -> [Client; 2] {
    [Client::new(), Client::builder().http2_prior_knowledge().build().unwrap()]
}

async fn open(server: &Running, client: &Client, what: &str) -> Response {
    let url = format!("http://{}/api/run/t/{what}", server.addr);
    client.post(url).header("content-type", "application/json").body("{}").send().await.unwrap()
}

#[tokio::test]
async fn stream_arrives_completely_and_the_connection_is_reused() {
    let server = serve(|_| {}).await;
    for client in clients() {
        for _ in 0..2 {
            let response = open(&server, &client, "stream").await;
            assert_eq!(response.headers()["content-type"], "application/x-ndjson");
            assert!(response.headers().contains_key("x-request-id") && response.content_length().is_none());
            assert_eq!(response.text().await.unwrap().lines().count(), 1_000);
        }
        let response = open(&server, &client, "download").await;
        assert_eq!(response.content_length(), Some(4_000_000));
        assert_eq!(response.bytes().await.unwrap().len(), 4_000_000);
    }
    let accepted = server.traffic.accepted.load(Relaxed);
    assert_eq!(accepted, 2, "one connection per client");
}

#[tokio::test]
async fn broken_stream_is_an_error_for_the_client() {
    let server = serve(|_| {}).await;
    for client in clients() {
        let response = open(&server, &client, "broken").await;
        assert_eq!(response.status(), 200);
        assert!(response.text().await.is_err());
    }
}

#[tokio::test]
async fn producer_sees_the_disconnect_of_its_client() {
    let server = serve(|_| {}).await;
    for (number, client) in clients().into_iter().enumerate() {
        let mut response = open(&server, &client, "endless").await;
        assert!(response.chunk().await.unwrap().is_some());
        drop(response);
        drop(client);
        until(|| server.seen.gone.load(Ordering::SeqCst) == number + 1).await;
    }
    until(|| server.traffic.open.load(Relaxed) == 0).await;
}

#[tokio::test]
async fn drain_ends_endless_streams_and_does_not_wait_for_slow_clients() {
    let mut server = serve(|_| {}).await;
    let [first, second] = clients();
    let mut followed = open(&server, &first, "endless").await;
    let _unread = open(&server, &second, "endless").await;
    assert!(followed.chunk().await.unwrap().is_some());
    server.stop();
    timeout(PATIENCE, async { while followed.chunk().await.unwrap().is_some() {} }).await.unwrap();
    let gone = server.seen.clone();
    until(|| gone.gone.load(Ordering::SeqCst) == 2).await;
    server.outcome().await;
}

#[tokio::test]
async fn connection_with_an_open_stream_is_not_idle() {
    let server = serve(|options| options.limits.idle_timeout = Duration::from_millis(300)).await;
    let mut followed = open(&server, &Client::new(), "quiet").await;
    assert!(followed.chunk().await.unwrap().is_some());
    sleep(Duration::from_millis(900)).await;
    assert_eq!(server.traffic.open.load(Relaxed), 1);
    server.seen.release.notify_one();
    assert_eq!(followed.chunk().await.unwrap().unwrap(), "late\n");
    assert_eq!(followed.chunk().await.unwrap(), None);
}
