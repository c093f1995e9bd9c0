//! `POST /mcp` and `/llms.txt` on a real port: functions as tools of agents.

use convoke::testing::{HttpReply, TestApp, TestServer};
use convoke_calls::call::envelope::LogLinesOn;
use serde_json::{Value, json};

use crate::work::Counter;

/// Posts a message with header fields.
fn send(
    app: &TestApp,
    server: &TestServer<'_>,
    token: Option<&str>,
    fields: &[(&str, &str)],
    body: String,
) -> HttpReply {
    app.block_on(server.send_async(token, "/mcp", fields, body))
}

/// A request of the versions with a handshake.
fn message(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
}

fn call(name: &str, arguments: &Value) -> String {
    message("tools/call", &json!({ "name": name, "arguments": arguments }))
}

fn call_once(name: &str, arguments: &Value, key: &str) -> String {
    let meta = json!({ "convoke/idempotencyKey": key });
    message("tools/call", &json!({ "name": name, "arguments": arguments, "_meta": meta }))
}

/// Returns the text of a result, and true if it is an error.
fn text(reply: &HttpReply) -> (String, bool) {
    let result = &reply.body["result"];
    let text = result["content"][0]["text"].as_str();
    (text.unwrap_or_else(|| panic!("{} {}", reply.status, reply.body)).to_owned(), result["isError"] == true)
}

/// Returns the status and the code of a protocol error.
fn refusal(reply: &HttpReply) -> (u16, i64) {
    (reply.status, reply.body["error"]["code"].as_i64().unwrap_or_else(|| panic!("{} {}", reply.status, reply.body)))
}

#[test]
fn handshake_lists_and_calls_tools() {
    let app = TestApp::new();
    let server = app.serve();
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let begun = server.post(None, "/mcp", message("initialize", &params));
    assert_eq!(begun.body["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(begun.body["result"]["capabilities"], json!({ "tools": {} }));
    let notified = server.post(None, "/mcp", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!((notified.status, &notified.headers["content-length"]), (202, &"0".parse().unwrap()));
    assert_eq!(server.post(None, "/mcp", message("ping", &json!({}))).body["result"], json!({}));

    let listed = server.post(None, "/mcp", message("tools/list", &json!({}))).body;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let marked: Vec<String> = app.runtime().registry().tools().map(|tool| tool.flat_name()).collect();
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), marked);
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let read = tool("work_read");
    assert_eq!(read["description"], "Returns the count of a counter.");
    assert_eq!(read["inputSchema"]["type"], "object");
    assert_eq!(read["inputSchema"]["required"], json!(["name"]));
    assert_eq!(read["annotations"]["readOnlyHint"], true);
    assert_eq!(tool("work_increment")["annotations"]["readOnlyHint"], false);
    // Before 2026-07-28, the result of a described tool is an object.
    assert!(read.get("outputSchema").is_none());

    let called = server.post(None, "/mcp", call("work_increment", &json!({ "name": "a" })));
    assert_eq!(text(&called), ("1".to_owned(), false));
    assert!(called.body["result"].get("structuredContent").is_none());
    assert_eq!(server.call(None, "work/read", &json!({ "name": "a" })).value(), 1);
}

#[test]
fn request_that_names_its_version_needs_no_handshake() {
    let app = TestApp::new();
    let server = app.serve();
    let request = |method: &str, params: &Value| {
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut fields = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if !name.is_empty() {
            fields.push(("mcp-name", &name));
        }
        send(&app, &server, None, &fields, message(method, &params))
    };
    let found = request("server/discover", &json!({})).body;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28", "2025-11-25", "2025-06-18"]));
    assert_eq!(found["result"]["resultType"], "complete");
    let listed = request("tools/list", &json!({})).body;
    let read = listed["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "work_read").unwrap();
    assert_eq!(read["outputSchema"]["type"], "integer");
    assert_eq!(listed["result"]["cacheScope"], "public");
    let called = request("tools/call", &json!({ "name": "work_increment", "arguments": { "name": "a" } })).body;
    assert_eq!(called["result"]["structuredContent"], 1);
    assert_eq!(called["result"]["resultType"], "complete");
    assert_eq!(refusal(&request("initialize", &json!({ "protocolVersion": "2026-07-28" }))), (404, -32601));
    assert_eq!(refusal(&request("tools/call", &json!({ "name": "work_hidden" }))), (400, -32602));

    let fields = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list"), ("mcp-method", "tools/call")];
    assert_eq!(refusal(&send(&app, &server, None, &fields, message("tools/list", &json!({})))), (400, -32020));
}

#[test]
fn tool_runs_as_the_caller_of_the_token() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = server.token("ada");
    assert_eq!(text(&server.post(None, "/mcp", call("work_who", &json!({})))), ("null".to_owned(), false));
    let (who, _) = text(&server.post(Some(&ada), "/mcp", call("work_who", &json!({}))));
    assert!(who.ends_with("|ada\""), "{who}");
    for body in [call("work_who", &json!({})), message("tools/list", &json!({})), "not JSON".to_owned()] {
        let refused = server.post(Some("not.a.token"), "/mcp", body);
        assert_eq!((refused.status, refused.code()), (401, "INVALID_CREDENTIALS"));
        assert!(refused.headers.contains_key("www-authenticate"));
    }
}

#[test]
fn only_tools_are_found() {
    let app = TestApp::new();
    let server = app.serve();
    let long = "x".repeat(100_000);
    for name in [
        "work_hidden",
        "work_seen",
        "work/who",
        "work:who",
        "work_nowhere",
        "workWho",
        "",
        "..",
        &long,
        "work_who\u{0}",
    ] {
        let refused = server.post(None, "/mcp", call(name, &json!({})));
        assert_eq!(refusal(&refused), (200, -32602), "{name}");
        assert!(refused.body.to_string().len() < 1_000, "{}", refused.body);
    }
}

#[test]
fn error_of_a_function_is_a_result_with_its_code_and_sentence() {
    let app = TestApp::new();
    let server = app.serve();
    let refused = server.post(None, "/mcp", call("work_incrementAndRefuse", &json!({ "name": "a" })));
    assert_eq!(text(&refused), ("FAILED_PRECONDITION: Not now".to_owned(), true));
    let meta = &refused.body["result"]["_meta"];
    assert_eq!(meta["convoke/error"], json!({ "code": "FAILED_PRECONDITION", "left": 3 }));
    assert_eq!(meta["convoke/logLines"], json!(["[INFO] incrementing a", "[WARN] about to refuse"]));
    assert_eq!(server.call(None, "work/read", &json!({ "name": "a" })).value(), 0, "its writes are rolled back");

    let invalid = server.post(None, "/mcp", call("work_read", &json!({ "nam": "a" })));
    assert_eq!(text(&invalid), ("INVALID_ARGUMENT: Unknown argument: nam".to_owned(), true));
    let (said, is_error) = text(&server.post(None, "/mcp", call("work_panicInQuery", &json!({}))));
    assert!(is_error && said.starts_with("INTERNAL: ") && !said.contains("bug"), "{said}");
    let log_lines = app.serve_with(|_| {}, LogLinesOn::Always);
    let called = log_lines.post(None, "/mcp", call("work_increment", &json!({ "name": "b" })));
    assert_eq!(called.body["result"]["_meta"]["convoke/logLines"], json!(["[INFO] incrementing b"]));
}

#[test]
fn idempotency_key_is_that_of_the_call() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, key) = (server.token("ada"), [("idempotency-key", "k1")]);
    let first = server.post(Some(&ada), "/mcp", call_once("work_increment", &json!({ "name": "a" }), "k1"));
    let second = server.post(Some(&ada), "/mcp", call_once("work_increment", &json!({ "name": "a" }), "k1"));
    let by_field = send(&app, &server, Some(&ada), &key, call("work_increment", &json!({ "name": "a" })));
    for reply in [&first, &second, &by_field] {
        assert_eq!(text(reply), ("1".to_owned(), false));
    }
    assert!(!first.headers.contains_key("idempotency-replayed"));
    assert_eq!(second.headers["idempotency-replayed"], "true");
    // The same key names the same call on the other route.
    let body = json!({ "args": { "name": "a" } }).to_string();
    let other = app.block_on(server.send_async(Some(&ada), "/api/run/work/increment", &key, body));
    assert_eq!((other.value(), &other.headers["idempotency-replayed"]), (&json!(1), &"true".parse().unwrap()));
    let reused = server.post(Some(&ada), "/mcp", call_once("work_increment", &json!({ "name": "b" }), "k1"));
    assert!(text(&reused).0.starts_with("IDEMPOTENCY_KEY_REUSED: "));

    let differ = send(&app, &server, Some(&ada), &key, call_once("work_increment", &json!({ "name": "a" }), "k2"));
    assert_eq!(refusal(&differ), (200, -32602));
    let short = server.post(None, "/mcp", call_once("work_increment", &json!({ "name": "a" }), "short"));
    assert_eq!((refusal(&short), &short.body["error"]["data"]["code"]), ((400, -32602), &json!("BAD_REQUEST")));
    let of_a_query = server.post(Some(&ada), "/mcp", call_once("work_read", &json!({ "name": "a" }), "k3"));
    assert_eq!(of_a_query.body["error"]["data"]["code"], "WRONG_FUNCTION_KIND");
}

#[test]
fn concurrent_calls_with_one_key_run_once() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = server.token("ada");
    let body = || call_once("work_increment", &json!({ "name": "a" }), "same");
    let replies = app.block_on(async {
        let all = (0..20).map(|_| server.post_async(Some(&ada), "/mcp", body()));
        futures_util::future::join_all(all).await
    });
    for reply in &replies {
        assert_eq!(text(reply), ("1".to_owned(), false));
    }
    assert_eq!(server.call(None, "work/read", &json!({ "name": "a" })).value(), 1);
}

#[test]
fn call_beyond_the_rate_is_a_result_that_a_model_can_react_to() {
    let app = TestApp::configured("[rates]\nread = 3\n");
    let server = app.serve();
    let (ada, bob) = (server.token("ada"), server.token("bob"));
    let who = |token: &str| server.post(Some(token), "/mcp", call("work_who", &json!({})));
    for _ in 0..3 {
        assert!(text(&who(&ada)).0.ends_with("|ada\""));
    }
    let refused = who(&ada);
    let (sentence, is_error) = text(&refused);
    assert!(sentence.starts_with("RATE_LIMITED: ") && is_error, "{sentence}");
    let error = &refused.body["result"]["_meta"]["convoke/error"];
    assert!(error["retryAfterMs"] == 20_000, "{}", refused.body);
    assert!(text(&who(&bob)).0.ends_with("|bob\""));
}

#[test]
fn call_without_room_for_its_response_is_unavailable_and_rolls_back() {
    let app = TestApp::with(|options| options.limits.response_bytes_total_max = 64);
    let server = app.serve();
    let refused = server.post(None, "/mcp", call("work_increment", &json!({ "name": "a" })));
    assert_eq!(refused.status, 503);
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.body["error"]["data"]["code"], "OVERLOADED");
    assert_eq!(app.count::<Counter>(), 0);
}

#[test]
fn malformed_request_is_refused_before_anything_runs() {
    let app = TestApp::new();
    let server = app.serve_with(|options| options.limits.request_body_bytes_max = 200_000, LogLinesOn::Error);
    let one = call("work_increment", &json!({ "name": "a" }));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"work_increment","arguments":{}}}}}"#,
        "[".repeat(90_000)
    );
    let nested = call("work_increment", &(0..200).fold(json!({}), |inner, _| json!({ "name": inner })));
    for (body, refused) in [
        (format!("[{one},{one}]"), (400, -32600)),
        (deep, (400, -32700)),
        (nested, (400, -32700)),
        (one.replace("\"id\":7", "\"id\":null"), (400, -32600)),
        (call("work_increment", &json!([])), (200, -32602)),
        (message("tools/list", &json!({ "cursor": "x" })), (200, -32602)),
        (message("resources/read", &json!({ "uri": "file:///etc/passwd" })), (200, -32601)),
    ] {
        let shown = body.chars().take(90).collect::<String>();
        assert_eq!(refusal(&server.post(None, "/mcp", body)), refused, "{shown}");
    }
    let huge = server.post(None, "/mcp", call("work_increment", &json!({ "name": "x".repeat(300_000) })));
    assert_eq!((huge.status, huge.code()), (413, "PAYLOAD_TOO_LARGE"));
    let old = send(&app, &server, None, &[("mcp-protocol-version", "1900-01-01")], one.clone());
    assert_eq!((refusal(&old), &old.body["error"]["data"]["requested"]), ((400, -32022), &json!("1900-01-01")));
    let html = send(&app, &server, None, &[("accept", "text/html, text/event-stream")], one);
    assert_eq!(html.status, 406);
    assert_eq!(server.call(None, "work/read", &json!({ "name": "a" })).value(), 0);
}

#[test]
fn other_methods_and_content_types_are_rejected() {
    let app = TestApp::new();
    let server = app.serve();
    let url = format!("http://{}/mcp", server.address());
    app.block_on(async {
        let client = reqwest::Client::new();
        for method in [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::PUT] {
            let answer = client.request(method, &url).header("accept", "text/event-stream").send().await.unwrap();
            assert_eq!(
                (answer.status().as_u16(), &answer.headers()["allow"]),
                (405, &"POST, OPTIONS".parse().unwrap())
            );
        }
        let plain = client.post(&url).body(message("ping", &json!({}))).send().await.unwrap();
        assert_eq!(plain.status(), 415);
    });
}

#[test]
fn only_pages_of_allowed_origins_call_tools() {
    let app = TestApp::new();
    let server =
        app.serve_with(|options| options.cors_origins = vec!["https://app.example.com".to_owned()], LogLinesOn::Error);
    let body = || call("work_increment", &json!({ "name": "a" }));
    let allowed = send(&app, &server, None, &[("origin", "https://app.example.com")], body());
    assert_eq!(text(&allowed), ("1".to_owned(), false));
    // A name that an attacker points to this machine is in both fields.
    let rebound = format!("http://{}", server.address());
    for origin in ["https://evil.example", "null", &rebound] {
        let refused = send(&app, &server, None, &[("origin", origin)], body());
        assert_eq!(refused.status, 403, "{origin}");
    }
    let both = [("origin", "https://app.example.com"), ("origin", "https://evil.example")];
    assert_eq!(send(&app, &server, None, &both, body()).status, 403);
    assert_eq!(server.call(None, "work/read", &json!({ "name": "a" })).value(), 1);
}

#[test]
fn llms_txt_lists_public_functions() {
    let app = TestApp::new();
    let server = app.serve();
    let url = format!("http://{}/llms.txt", server.address());
    let text = app.block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() });
    assert!(text.starts_with("# Functions\n"), "{text}");
    assert!(text.contains("- `work/read` (query, tool): Returns the count of a counter\n"), "{text}");
    assert!(!text.contains("work/hidden"), "{text}");
}
