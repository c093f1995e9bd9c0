//! Requests as they reach the handler, and their responses.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::harness::{Client, get, post, post_with, serve};

#[tokio::test]
async fn handler_gets_the_complete_call_and_its_reply_gets_the_default_fields() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let fields = "Authorization: Bearer abc\r\nX-Request-Id: order-7\r\n\
                  traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";

    let response = client.ask(post_with("/api/run/users/queries/me", fields, r#"{"args":{}}"#)).await;

    assert_eq!(response.status, 200);
    assert_eq!(
        response.json(),
        json!({
            "target": "run users/queries/me",
            "authorization": "Bearer abc",
            "requestId": "order-7",
            "traceParent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "peer": "127.0.0.1",
            "bytes": 11,
            "body": r#"{"args":{}}"#,
        })
    );
    assert_eq!(response.field("x-request-id"), Some("order-7"));
    assert_eq!(response.field("content-type"), Some("application/json"));
    assert_eq!(response.field("x-content-type-options"), Some("nosniff"));
    assert_eq!(response.field("cache-control"), Some("no-store"));
    assert!(response.field("date").is_some());
    assert_eq!(response.field("connection"), None);
    assert_eq!(response.field("access-control-allow-origin"), None);
}

#[tokio::test]
async fn credentials_reach_the_handler_unchanged_with_their_own_request() {
    let server = serve(|_| {}).await;
    let key = |number: usize| format!("Convoke production:ci{number}|{}", "s".repeat(43));
    let ticket = format!("{}00000000000000000001", "#".repeat(60));
    let values = [
        key(1),
        "Bearer abc".to_owned(),
        key(2),
        "Basic dTpw".to_owned(),
        ticket,
        format!("bearer {}", key(3)),
        key(4),
    ];
    let all: String =
        values.iter().map(|value| post_with("/api/query", &format!("AUTHORIZATION: {value} \r\n"), "{}")).collect();
    for bytes in [all.len(), 100, 7, 1] {
        let mut client = server.client().await;
        for piece in all.as_bytes().chunks(bytes) {
            client.send(piece).await;
        }
        for value in &values {
            assert_eq!(client.response().await.json()["authorization"], **value, "in pieces of {bytes}");
        }
    }
    let mut client = server.client().await;
    let twice = format!("Authorization: {}\r\nAuthorization: {}\r\n", key(1), key(2));
    assert_eq!(client.ask(post_with("/api/query", &twice, "{}")).await.code(), "BAD_REQUEST");
}

#[tokio::test]
async fn unusable_request_id_is_replaced_for_the_handler_too() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let too_long = format!("X-Request-Id: {}\r\n", "a".repeat(65));
    for fields in ["", "X-Request-Id: a b\r\n", "X-Request-Id: \r\n", &too_long] {
        let response = client.ask(post_with("/api/query", fields, "{}")).await;
        let id = response.field("x-request-id").unwrap();
        assert_eq!(id.len(), 16, "{fields:?} gave {id}");
        assert_eq!(response.json()["requestId"], id);
    }
}

#[tokio::test]
async fn chunked_body_arrives_and_the_connection_stays_open() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json; charset=utf-8\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    for _ in 0..3 {
        let response = client.ask(format!("{head}5\r\n{{\"arg\r\nA;x=y\r\ns\":\"0123\"}}\r\n0\r\nT: v\r\n\r\n")).await;
        assert_eq!(response.json()["body"], r#"{"args":"0123"}"#);
    }
}

#[tokio::test]
async fn body_in_many_pieces_is_assembled() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let body = "x".repeat(300_000);
    let request = post("/api/query", &body);
    for piece in request.as_bytes().chunks(20_000) {
        client.send(piece).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(client.response().await.json()["bytes"], 300_000);
    assert_eq!(client.ask(get("/healthz")).await.status, 200);
}

#[tokio::test]
async fn request_may_arrive_byte_by_byte() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    for _ in 0..2 {
        for byte in post("/api/query", r#"{"a":1}"#).as_bytes() {
            client.send([*byte]).await;
        }
        assert_eq!(client.response().await.json()["body"], r#"{"a":1}"#);
    }
}

#[tokio::test]
async fn pipelined_requests_get_responses_in_order_for_any_split_of_the_bytes() {
    let server = serve(|_| {}).await;
    let one = post("/api/run/t/slow", "1");
    let two = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
               Transfer-Encoding: chunked\r\n\r\n1\r\n2\r\n0\r\n\r\n";
    // Blank lines between requests are ignored.
    let stream = format!("{one}{two}\r\n\r\n{}", post("/api/mutation", "3"));
    for cut in [1, one.len() - 1, one.len(), one.len() + 30, one.len() + two.len() - 2, stream.len() - 20] {
        let mut client = server.client().await;
        client.send(&stream[..cut]).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        client.send(&stream[cut..]).await;
        for expected in ["1", "2", "3"] {
            assert_eq!(client.response().await.json()["body"], expected, "cut at {cut}");
        }
    }
}

#[tokio::test]
async fn thousand_pipelined_requests_all_get_responses() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let (mut reading, mut writing) = client.stream.into_split();
    let sender = tokio::spawn(async move {
        for number in 0..1000 {
            writing.write_all(post("/api/query", &number.to_string()).as_bytes()).await.unwrap();
        }
        writing
    });
    let mut input = Vec::new();
    while input.windows(12).filter(|bytes| bytes == b"\"requestId\":").count() < 1000 {
        assert!(tokio::io::AsyncReadExt::read_buf(&mut reading, &mut input).await.unwrap() > 0);
    }
    let text = String::from_utf8(input).unwrap();
    let mut at = 0;
    for number in 0..1000 {
        let shown = format!("\"body\":\"{number}\"");
        at += text[at..].find(&shown).unwrap_or_else(|| panic!("the response to {number} is missing or out of order"));
    }
    client = Client::over(reading.reunite(sender.await.unwrap()).unwrap());
    assert_eq!(client.ask(get("/healthz")).await.status, 200);
}

#[tokio::test]
async fn client_may_close_its_side_after_its_request() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    client.send(post("/api/run/t/slow", "{}")).await;
    client.stream.shutdown().await.unwrap();
    assert_eq!(client.response().await.status, 200);
}

#[tokio::test]
async fn disconnect_of_a_client_does_not_stop_its_call() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    client.send(post("/api/run/t/slow", "{}")).await;
    server.reached(1).await;
    drop(client);
    super::harness::until(|| server.seen.ended.load(std::sync::atomic::Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn panic_is_a_500_for_its_call_only() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let response = client.ask(post("/api/run/t/panic", "{}")).await;
    assert_eq!((response.status, &*response.code()), (500, "INTERNAL"));
    assert_eq!(client.ask(post("/api/query", "{}")).await.status, 200);
}

#[tokio::test]
async fn challenges_and_retry_times_become_fields() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let denied = client.ask(post("/api/run/t/denied", "{}")).await;
    assert_eq!(denied.status, 401);
    assert_eq!(denied.field("www-authenticate"), Some(r#"Bearer error="invalid_token""#));
    let busy = client.ask(post("/api/run/t/busy", "{}")).await;
    assert_eq!((busy.status, busy.field("retry-after")), (503, Some("7")));
}

#[tokio::test]
async fn expect_100_continue_gets_100_before_the_body_and_413_if_it_is_too_large() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n";
    let interim = client.ask(format!("{head}Content-Length: 2\r\n\r\n")).await;
    assert_eq!(interim.status, 100);
    assert_eq!(client.ask("{}").await.status, 200);
    let rejected = client.ask(format!("{head}Content-Length: 99999999\r\n\r\n")).await;
    assert_eq!(rejected.status, 413);
}

#[tokio::test]
async fn http_1_0_gets_a_response_and_is_closed() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let response = client.ask("GET /healthz HTTP/1.0\r\n\r\n").await;
    assert_eq!(response.status, 200);
    client.closed().await;
}
