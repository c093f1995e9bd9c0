//! Routes, methods, health checks, and the rights of other origins.

use std::sync::atomic::Ordering;

use super::harness::{Client, Response, Running, get, post, post_with, serve};

async fn method(server: &Running, method: &str, path: &str, fields: &str) -> Response {
    let mut client = server.client().await;
    client.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n")).await;
    if method == "HEAD" { client.response_to_head().await } else { client.response().await }
}

#[tokio::test]
async fn unknown_route_is_404_and_wrong_method_is_405_with_allow() {
    let server = serve(|_| {}).await;
    for path in ["/", "/api", "/api/run/", "/api/nothing", "/favicon.ico"] {
        let response = method(&server, "GET", path, "").await;
        assert_eq!((response.status, &*response.code()), (404, "ROUTE_NOT_FOUND"), "{path}");
    }
    for (verb, path, allow) in [
        ("GET", "/api/query", "POST, OPTIONS"),
        ("PUT", "/api/run/a/b", "POST, OPTIONS"),
        ("POST", "/healthz", "GET, HEAD, OPTIONS"),
        ("DELETE", "/openapi.json", "GET, HEAD, OPTIONS"),
        ("TRACE", "/api/admin/logs", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
    ] {
        let response = method(&server, verb, path, "").await;
        assert_eq!((response.status, &*response.code()), (405, "METHOD_NOT_ALLOWED"), "{verb} {path}");
        assert_eq!(response.field("allow"), Some(allow));
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn tunnels_and_upgrades_are_not_offered() {
    let server = serve(|_| {}).await;
    let mut client = server.client().await;
    assert_eq!(client.ask("CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n").await.status, 404);
    let mut client = server.client().await;
    let upgrade = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: upgrade, http2-settings\r\nUpgrade: h2c\r\n\r\n";
    assert_eq!(client.ask(upgrade).await.status, 200);
}

#[tokio::test]
async fn only_json_is_accepted() {
    let server = serve(|_| {}).await;
    for declared in [
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/jsonx\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
    ] {
        let mut client = server.client().await;
        let request = format!("POST /api/query HTTP/1.1\r\nHost: a\r\n{declared}Content-Length: 2\r\n\r\n{{}}");
        let response = client.ask(request).await;
        assert_eq!((response.status, &*response.code()), (415, "UNSUPPORTED_MEDIA_TYPE"), "{declared}");
        assert_eq!(client.ask(get("/healthz")).await.status, 200, "the connection stays open");
    }
    for declared in ["Application/JSON", "application/json;charset=utf-8", "application/json ; x=y"] {
        let mut client = server.client().await;
        let request =
            format!("POST /api/query HTTP/1.1\r\nHost: a\r\nContent-Type: {declared}\r\nContent-Length: 2\r\n\r\n{{}}");
        assert_eq!(client.ask(request).await.status, 200, "{declared}");
    }
}

#[tokio::test]
async fn listener_serves_health_and_asks_the_handler_for_readiness() {
    let server = serve(|_| {}).await;
    let alive = method(&server, "GET", "/healthz", "").await;
    assert_eq!((alive.status, alive.json()), (200, serde_json::json!({ "status": "ok" })));
    assert_eq!(method(&server, "GET", "/readyz", "").await.status, 200);
    server.seen.unready.store(true, Ordering::SeqCst);
    let unready = method(&server, "GET", "/readyz", "").await;
    assert_eq!(unready.status, 503);
    assert_eq!(unready.json(), serde_json::json!({ "status": "not ready", "reason": "the store is closed" }));
    assert_eq!(unready.field("retry-after"), Some("1"));
    assert_eq!(method(&server, "GET", "/healthz", "").await.status, 200);
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let server = serve(|_| {}).await;
    for path in ["/healthz", "/openapi.json", "/docs"] {
        let mut client = server.client().await;
        let got = client.ask(get(path)).await;
        client.send(format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        let head = client.response_to_head().await;
        assert_eq!(head.status, 200);
        assert_eq!(head.field("content-type"), got.field("content-type"));
        assert!(head.field("content-length").is_some_and(|length| length != "0"), "{path}");
        assert_eq!(client.ask(get(path)).await.status, 200, "the next response follows without a body");
    }
}

#[tokio::test]
async fn pages_are_protected_and_revalidated() {
    let server = serve(|_| {}).await;
    let page = method(&server, "GET", "/docs", "").await;
    assert_eq!(page.field("cache-control"), Some("no-cache"));
    assert_eq!(page.field("x-frame-options"), Some("DENY"));
    assert!(page.field("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    assert_eq!(method(&server, "GET", "/openapi.json", "").await.field("x-frame-options"), None);
}

#[tokio::test]
async fn metrics_are_served_to_this_machine_by_a_loopback_name_without_a_proxy() {
    let server = serve(|_| {}).await;
    let ask = async |host: &str, fields: &str| {
        let mut client = server.client().await;
        client.ask(format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n")).await.status
    };
    for host in ["127.0.0.1:3210", "127.1.2.3", "localhost", "LocalHost:80", "a.localhost", "[::1]:3210"] {
        assert_eq!(ask(host, "").await, 200, "{host}");
    }
    for host in ["api.example.com", "10.0.0.1:3210", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
        assert_eq!(ask(host, "").await, 404, "{host}");
    }
    for field in [
        "X-Forwarded-For: 203.0.113.7",
        "X-Forwarded-Proto: https",
        "Forwarded: for=203.0.113.7",
        "X-Real-IP: 203.0.113.7",
        "Via: 1.1 proxy",
    ] {
        assert_eq!(ask("127.0.0.1", &format!("{field}\r\n")).await, 404, "{field}");
    }
    let mut client = server.client().await;
    assert_eq!(client.ask("GET /metrics HTTP/1.0\r\n\r\n").await.status, 404, "no host");
    let mut client = server.client().await;
    let elsewhere = "GET http://api.example.com/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    assert_eq!(client.ask(elsewhere).await.status, 404, "the target names another host");
}

#[tokio::test]
async fn percent_encoded_slash_is_rejected() {
    let server = serve(|_| {}).await;
    for path in ["/api/run/a%2Fb", "/api/run/a%2fb/c", "/api%2Fquery", "/%2f"] {
        let mut client = server.client().await;
        let response = client.ask(post(path, "{}")).await;
        assert_eq!((response.status, &*response.code()), (400, "BAD_REQUEST"), "{path}");
    }
    let mut client = server.client().await;
    assert_eq!(client.ask(post("/api/run/a/%62?x=%2F", "{}")).await.json()["target"], "run a/b");
}

#[tokio::test]
async fn ops_listener_serves_metrics_and_no_calls() {
    let server = serve(|options| options.ops_listen = Some("127.0.0.1:0".parse().unwrap())).await;
    assert_eq!(method(&server, "GET", "/metrics", "").await.status, 404);
    let mut ops = Client::to(server.ops.unwrap()).await;
    assert_eq!(ops.ask(get("/metrics")).await.status, 200);
    assert_eq!(ops.ask(get("/readyz")).await.status, 200);
    assert_eq!(ops.ask(post("/api/query", "{}")).await.status, 404);
}

const PREFLIGHT: &str = "Origin: https://app.example.com\r\nAccess-Control-Request-Method: POST\r\n";

#[tokio::test]
async fn without_origins_no_page_is_allowed() {
    let server = serve(|_| {}).await;
    let preflight = method(&server, "OPTIONS", "/api/run/a/b", PREFLIGHT).await;
    assert_eq!((preflight.status, preflight.field("allow")), (204, Some("POST, OPTIONS")));
    assert!(!preflight.head.contains("access-control"), "{}", preflight.head);
    assert_eq!(preflight.field("content-length"), None);
    assert_eq!(method(&server, "OPTIONS", "/nothing", PREFLIGHT).await.status, 404);
    assert_eq!(method(&server, "OPTIONS", "*", "").await.status, 204);
}

#[tokio::test]
async fn configured_origin_passes_the_preflight_and_reads_results_and_rejections() {
    let server = serve(|options| options.cors_origins = vec!["https://app.example.com".to_owned()]).await;
    let preflight = method(&server, "OPTIONS", "/api/run/a/b", PREFLIGHT).await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.field("access-control-allow-origin"), Some("https://app.example.com"));
    assert_eq!(preflight.field("vary"), Some("origin"));
    assert!(preflight.field("access-control-allow-methods").unwrap().contains("POST"));
    assert!(preflight.field("access-control-allow-headers").unwrap().contains("authorization, content-type"));
    assert!(preflight.field("access-control-max-age").is_some());

    let mut client = server.client().await;
    let origin = "Origin: https://app.example.com\r\n";
    for (path, status) in [("/api/query", 200), ("/api/nothing", 404)] {
        let response = client.ask(post_with(path, origin, "{}")).await;
        assert_eq!(response.status, status);
        assert_eq!(response.field("access-control-allow-origin"), Some("https://app.example.com"));
        assert!(response.field("access-control-expose-headers").unwrap().contains("x-request-id"));
    }
    let other = client.ask(post_with("/api/query", "Origin: https://evil.example\r\n", "{}")).await;
    assert_eq!((other.status, other.field("access-control-allow-origin")), (200, None));
    assert_eq!(other.field("vary"), Some("origin"));
    let admin = method(&server, "OPTIONS", "/api/admin/logs", PREFLIGHT).await;
    assert_eq!(admin.field("access-control-allow-origin"), None, "deploy keys do not belong in a page");
}

#[tokio::test]
async fn dev_allows_pages_of_this_machine() {
    let server = serve(|options| options.dev = true).await;
    let mut client = server.client().await;
    let response = client.ask(post_with("/api/query", "Origin: http://localhost:5173\r\n", "{}")).await;
    assert_eq!(response.field("access-control-allow-origin"), Some("http://localhost:5173"));
    let other = client.ask(post_with("/api/query", "Origin: https://evil.example\r\n", "{}")).await;
    assert_eq!(other.field("access-control-allow-origin"), None);
}
