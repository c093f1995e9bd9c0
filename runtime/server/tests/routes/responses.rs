//! Responses: statuses, headers, methods, streams and failures.

use crate::client::send;
use crate::shop::app;

#[test]
fn headers_are_sent_and_replace_those_of_the_server() {
    let app = app();
    let server = app.serve();
    let echoed = send(&app, &server, "PUT", "/echo/x", &[], "body");
    let cookies: Vec<_> = echoed.headers.get_all("set-cookie").iter().collect();
    assert_eq!(cookies, ["a=b", "c=d"]);
    assert_eq!((echoed.field("cache-control"), echoed.text()), ("max-age=60", "body"));
    assert!(!echoed.field("x-request-id").is_empty());
}

#[test]
fn head_follows_get_and_other_methods_are_listed() {
    let app = app();
    let server = app.serve();
    let head = send(&app, &server, "HEAD", "/nothing", &[], "");
    assert_eq!((head.status, head.field("content-length"), head.body.len()), (200, "4", 0));
    let wrong = send(&app, &server, "DELETE", "/payments", &[], "");
    let mut allowed: Vec<&str> = wrong.field("allow").split(", ").collect();
    allowed.sort_unstable();
    assert_eq!((wrong.status, &*wrong.code()), (405, "METHOD_NOT_ALLOWED"));
    assert_eq!(allowed, ["GET", "HEAD", "OPTIONS", "POST"]);
}

#[test]
fn error_is_the_envelope_of_a_call() {
    let app = app();
    let server = app.serve();
    let get = |path: &str| send(&app, &server, "GET", path, &[], "");
    let forbidden = get("/fails/forbidden");
    assert_eq!((forbidden.status, &*forbidden.code()), (200, "FORBIDDEN"));
    assert_eq!(forbidden.json()["logLines"].as_array().map(Vec::len), Some(0));
    for how in ["panic", "stream", "status"] {
        assert_eq!(
            (get(&format!("/fails/{how}")).status, &*get(&format!("/fails/{how}")).code()),
            (500, "INTERNAL"),
            "{how}"
        );
    }
    let injected = get("/fails/injection");
    assert_eq!((&*injected.code(), injected.field("x-c")), ("INVALID_ARGUMENT", ""));
}

#[test]
fn action_streams_its_body_and_breaks_it_off_at_an_error() {
    let app = app();
    let server = app.serve();
    let get = |path: &str| send(&app, &server, "GET", path, &[], "");
    let whole = get("/count/3");
    assert_eq!((whole.status, whole.field("content-type"), whole.text()), (200, "text/plain", "0\n1\n2\n"));
    assert!(get("/count/9").is_broken);
    let slow = get("/count/0");
    assert_eq!(&*slow.code(), "TIMEOUT");
    assert!(slow.json()["errorMessage"].as_str().unwrap().contains("its #[route]"), "{}", slow.json());
}

#[test]
fn pages_of_other_origins_reach_only_routes_that_allow_them() {
    let app = app();
    let server = app.serve_with(
        |options| options.cors_origins = vec!["https://page.example".to_owned()],
        convoke_calls::call::envelope::LogLinesOn::Error,
    );
    let origin = [("origin", "https://page.example")];
    let open = send(&app, &server, "GET", "/payments", &origin, "");
    assert_eq!(open.field("access-control-allow-origin"), "https://page.example");
    let closed = send(&app, &server, "GET", "/nothing", &origin, "");
    assert_eq!(closed.field("access-control-allow-origin"), "");
    let preflight = [origin[0], ("access-control-request-method", "GET")];
    assert_eq!(send(&app, &server, "OPTIONS", "/nothing", &preflight, "").field("access-control-allow-origin"), "");
    let allowed = send(&app, &server, "OPTIONS", "/payments", &preflight, "");
    assert_eq!(allowed.field("access-control-allow-origin"), "https://page.example");
}

#[test]
fn route_is_reached_by_its_path_alone() {
    let app = app();
    let server = app.serve();
    let reply = server.call(None, "shop/nothing", &serde_json::json!({}));
    assert_eq!((reply.status, reply.code()), (400, "FUNCTION_NOT_FOUND"));
    let by_key = app.deploy_key(&["functions", "internal"]).call("shop/nothing", serde_json::json!({}));
    assert_eq!(by_key.code(), "FUNCTION_NOT_FOUND");
}
