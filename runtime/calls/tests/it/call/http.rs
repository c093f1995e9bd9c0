//! A call over a real port: route, token, envelope, status.

use convoke::testing::TestApp;
use convoke_calls::call::envelope::LogLinesOn;
use serde_json::json;

#[test]
fn success_envelope_has_a_value_even_if_null() {
    let app = TestApp::new();
    let server = app.serve();
    let reply = server.call(None, "call/functions/nothing", &json!({}));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body, json!({ "status": "success", "value": null, "errorMessage": "", "errorData": {} }));
}

#[test]
fn log_lines_are_in_errors_and_on_request_in_successes() {
    let app = TestApp::new();
    let loud = app.serve_with(|_| {}, LogLinesOn::Always);
    let reply = loud.call(None, "call/functions/increment", &json!({ "name": "a" }));
    assert_eq!(reply.body["logLines"], json!(["[INFO] incrementing a"]));
    let quiet = app.serve();
    let refused = quiet.call(None, "call/functions/incrementAndRefuse", &json!({ "name": "a" }));
    assert_eq!(refused.status, 200);
    assert_eq!(
        refused.body,
        json!({
            "status": "error", "errorMessage": "Not now", "errorData": { "code": "FAILED_PRECONDITION", "left": 3 },
            "logLines": ["[INFO] incrementing a", "[WARN] about to refuse"],
        })
    );
}

#[test]
fn invalid_token_gets_a_challenge() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    let who = |token| server.call(token, "call/functions/who", &json!({}));
    assert_eq!(who(Some(&token)).value(), &json!("https://development.convoke.invalid|ada"));
    assert_eq!(who(None).value(), &json!(null));
    let refused = who(Some("nonsense"));
    assert_eq!((refused.status, refused.code()), (401, "INVALID_CREDENTIALS"));
    assert!(refused.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer "));
    assert_eq!(refused.body["status"], "error");
}

#[test]
fn invalid_request_is_400_with_the_reason() {
    let app = TestApp::new();
    let server = app.serve();
    let run = "/api/run/call/functions/nothing";
    for (route, body, code) in [
        (run, "", "INVALID_JSON"),
        (run, "{", "INVALID_JSON"),
        (run, r#"{"args":{},"args":{}}"#, "INVALID_JSON"),
        (run, r#"{"args":{"a":1,"a":2}}"#, "INVALID_JSON"),
        (run, r#"{"args":{},"other":{"a":1,"a":2}}"#, "INVALID_JSON"),
        (run, "[]", "INVALID_ENVELOPE"),
        (run, "{}", "INVALID_ENVELOPE"),
        (run, r#"{"args":[]}"#, "INVALID_ENVELOPE"),
        (run, r#"{"args":null}"#, "INVALID_ENVELOPE"),
        (run, r#"{"args":{},"format":7}"#, "INVALID_ENVELOPE"),
        (run, r#"{"args":{},"format":"xml"}"#, "UNSUPPORTED_FORMAT"),
        ("/api/run/call/functions/unknown", r#"{"args":{}}"#, "FUNCTION_NOT_FOUND"),
        ("/api/run/call/functions/hidden", r#"{"args":{}}"#, "FUNCTION_NOT_FOUND"),
        ("/api/mutation", r#"{"path":"call/functions:nothing","args":{}}"#, "WRONG_FUNCTION_KIND"),
        ("/api/query", r#"{"args":{}}"#, "INVALID_ENVELOPE"),
    ] {
        let reply = server.post(None, route, body);
        assert_eq!((reply.status, reply.code()), (400, code), "{route} {body}");
        assert_eq!(reply.body["logLines"], json!([]), "{body}");
    }
}

#[test]
fn generic_routes_accept_both_path_spellings_and_an_argument_array() {
    let app = TestApp::new();
    let server = app.serve();
    for body in [
        r#"{"path":"call/functions:read","args":{"name":"a"}}"#,
        r#"{"path":"call/functions/read","args":[{"name":"a"}],"format":"json","more":[1]}"#,
    ] {
        assert_eq!(server.post(None, "/api/query", body).value(), &json!(0), "{body}");
    }
    let body = r#"{"path":"call/functions:increment","args":[{"name":"a"}],"format":"convex_encoded_json"}"#;
    assert_eq!(server.post(None, "/api/mutation", body).value().to_string(), "1.0");
}

#[test]
fn panic_is_500_with_a_fixed_message_and_a_request_id() {
    let app = TestApp::new();
    let server = app.serve();
    let reply = server.call(None, "call/functions/panicInQuery", &json!({}));
    assert_eq!((reply.status, reply.code()), (500, "INTERNAL"));
    assert!(!reply.body.to_string().contains("a bug"), "{}", reply.body);
    assert_eq!(reply.body["logLines"], json!(["[INFO] before"]));
    assert!(reply.headers.contains_key("x-request-id"));
    assert_eq!(server.call(None, "call/functions/nothing", &json!({})).status, 200);
}
