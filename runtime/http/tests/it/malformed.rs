//! Ambiguous and malformed requests.

use std::sync::atomic::Ordering;

use super::harness::{post, post_with, serve};

/// Requests that are rejected alone, after a valid request, and in two pieces.
const REJECTED: &[&str] = &[
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2, 3\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: +2\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: identity\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "POST /api/query HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /api/query HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "POST /api/query HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 2\n\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "POST /api/query HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
    "POST /api/query HTTP/2.1\r\nHost: a\r\n\r\n",
    "POST /api/query\r\n\r\n",
    "POST  /api/query HTTP/1.1\r\nHost: a\r\n\r\n",
    "P@ST /api/query HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /api/{\x01} HTTP/1.1\r\nHost: a\r\n\r\n",
];

#[tokio::test]
async fn malformed_request_gets_an_envelope_and_its_connection_is_closed() {
    let server = serve(|_| {}).await;
    for request in REJECTED {
        let mut client = server.client().await;
        let response = client.ask(request).await;
        assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"), "{request:?}");
        assert_eq!(response.field("connection"), Some("close"), "{request:?}");
        client.closed().await;
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn malformed_request_after_a_valid_one_waits_for_its_response() {
    let server = serve(|_| {}).await;
    for request in REJECTED {
        let mut client = server.client().await;
        client.send(format!("{}{request}", post("/api/run/t/brief", "{}"))).await;
        assert_eq!(client.response().await.status, 200, "{request:?}");
        let response = client.response().await;
        assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"), "{request:?}");
        client.closed().await;
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), REJECTED.len());
}

#[tokio::test]
async fn malformed_request_in_pieces_is_rejected() {
    let server = serve(|_| {}).await;
    for request in REJECTED {
        let mut client = server.client().await;
        assert_eq!(client.ask(post("/api/query", "{}")).await.status, 200);
        let (one, two) = request.as_bytes().split_at(12);
        client.send(one).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        let response = client.ask(two).await;
        assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"), "{request:?}");
        client.closed().await;
    }
}

#[tokio::test]
async fn bytes_after_a_rejected_request_are_never_served() {
    let server = serve(|_| {}).await;
    let hidden = post("/api/mutation", "{}");
    let mut client = server.client().await;
    let smuggling = format!(
        "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
        5 + hidden.len()
    );
    assert_eq!(client.ask(smuggling).await.status, 400);
    client.closed().await;
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn malformed_chunked_body_fails_its_call_and_closes_the_connection() {
    let server = serve(|_| {}).await;
    let head = "POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    for body in [
        "2\n{}\r\n0\r\n\r\n",
        "x\r\n",
        "2\r\n{}0\r\n\r\n",
        "ffffffffffffffffff\r\n",
        "2;a\nb\r\n{}\r\n0\r\n\r\n",
        "2 \r\n{}\r\n0\r\n\r\n",
    ] {
        let mut client = server.client().await;
        client.send(format!("{head}{body}{}", post("/api/mutation", "{}"))).await;
        let response = client.response().await;
        assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"), "{body:?}");
        client.closed().await;
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn tls_handshake_to_a_clear_text_port_is_rejected_immediately() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let response = client.ask(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await;
    assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"));
}

#[tokio::test]
async fn two_authorization_fields_are_rejected() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let two = "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n";
    let response = client.ask(post_with("/api/query", two, "{}")).await;
    assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"));
}

#[tokio::test]
async fn path_that_is_not_utf8_is_rejected() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let response = client.ask(post("/api/run/a%ff", "{}")).await;
    assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"));
}
