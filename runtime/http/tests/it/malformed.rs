//! Requests that two readers could read differently, or none can read, byte for byte.

use std::sync::atomic::Ordering;

use super::harness::{post, post_with, serve};

/// Each is refused whether it stands alone, comes behind a good request, or comes in two pieces.
const REFUSED: &[&str] = &[
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
async fn a_malformed_request_gets_an_envelope_and_its_connection_ends() {
    let server = serve(|_| {}).await;
    for request in REFUSED {
        let mut client = server.client().await;
        let response = client.ask(request).await;
        assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"), "{request:?}");
        assert_eq!(response.field("connection"), Some("close"), "{request:?}");
        client.closed().await;
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_malformed_request_behind_a_good_one_waits_for_its_answer() {
    let server = serve(|_| {}).await;
    for request in REFUSED {
        let mut client = server.client().await;
        client.send(format!("{}{request}", post("/api/run/t/brief", "{}"))).await;
        assert_eq!(client.response().await.status, 200, "{request:?}");
        let response = client.response().await;
        assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"), "{request:?}");
        client.closed().await;
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), REFUSED.len());
}

#[tokio::test]
async fn a_malformed_request_in_pieces_is_no_better() {
    let server = serve(|_| {}).await;
    for request in REFUSED {
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
async fn what_hides_behind_a_refused_request_is_never_served() {
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
async fn a_chunked_body_that_breaks_the_grammar_fails_its_call_and_ends_the_connection() {
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
async fn a_tls_greeting_to_a_clear_text_port_is_told_apart_at_once() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let response = client.ask(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await;
    assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"));
}

#[tokio::test]
async fn two_authorization_fields_are_refused() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let two = "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n";
    let response = client.ask(post_with("/api/query", two, "{}")).await;
    assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"));
}

#[tokio::test]
async fn a_path_that_is_no_utf8_is_refused() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    let response = client.ask(post("/api/run/a%ff", "{}")).await;
    assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"));
}
