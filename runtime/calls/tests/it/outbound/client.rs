//! Requests and their answers.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use convoke::testing::{Reply, TestApp};
use convoke_core::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::script::{Script, answer};

fn fetch(app: &TestApp, url: &str, more: Value) -> Reply {
    let mut args = json!({ "url": url, "post": false, "repeatable": false });
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    app.nobody().call("outbound/functions/fetch", args)
}

#[test]
fn request_is_sent_as_built_and_any_status_is_a_response() {
    let app = TestApp::new();
    let server = Script::new([answer(404, "", "nothing here")]);
    let reply = fetch(&app, &server.url, json!({ "post": true }));
    assert_eq!(*reply.value(), json!({ "status": 404, "text": "nothing here" }));
    let asked = &server.asked()[0];
    assert!(asked.starts_with("POST /path?q=a+b HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("x-test: 1") && asked.contains("content-type: application/json"), "{asked}");
    assert!(asked.ends_with("\r\n\r\n[1,2]"), "{asked}");
}

#[test]
fn idempotent_requests_are_retried() {
    let app = TestApp::new();
    let busy = || [answer(503, "", "busy"), answer(429, "retry-after: 1\r\n", "later"), answer(200, "", "done")];
    let server = Script::new(busy());
    let clock = SystemClock::new();
    let reply = fetch(&app, &server.url, json!({}));
    assert_eq!(reply.value()["text"], "done");
    assert_eq!(server.asked().len(), 3);
    // 250 … 500 ms for the first pause, and the second that the server asked for.
    assert!(clock.monotonic().as_millis() >= 1_250, "{:?}", clock.monotonic());
    let server = Script::new(busy());
    assert_eq!(fetch(&app, &server.url, json!({ "post": true })).value()["status"], 503);
    assert_eq!(server.asked().len(), 1);
    let server = Script::new(busy());
    assert_eq!(fetch(&app, &server.url, json!({ "post": true, "repeatable": true })).value()["text"], "done");
}

#[test]
fn last_response_is_returned_after_retries_or_a_long_retry_after() {
    let app = TestApp::new();
    let server = Script::new([answer(500, "", "1"), answer(500, "", "2"), answer(500, "", "3")]);
    assert_eq!(*fetch(&app, &server.url, json!({})).value(), json!({ "status": 500, "text": "3" }));
    let server = Script::new([answer(503, "retry-after: 3600\r\n", "closed")]);
    assert_eq!(fetch(&app, &server.url, json!({})).value()["text"], "closed");
}

#[test]
fn too_large_response_is_rejected_with_and_without_a_length() {
    let app = TestApp::new();
    let undeclared = format!("HTTP/1.1 200 X\r\nconnection: close\r\n\r\n{}", "x".repeat(5_000));
    for text in [answer(200, "", &"x".repeat(5_000)), undeclared] {
        let server = Script::new([text]);
        let reply = fetch(&app, &server.url, json!({ "bytesMax": 4_999 }));
        assert_eq!(reply.code(), "PROVIDER_ERROR");
        let server = Script::new([answer(200, "", &"x".repeat(5_000))]);
        assert!(fetch(&app, &server.url, json!({ "bytesMax": 5_000 })).is_success());
    }
}

#[test]
fn silence_is_a_timeout_and_refused_connection_a_provider_error() {
    let app = TestApp::new();
    let server = Script::new([String::new()]);
    let reply = fetch(&app, &server.url, json!({ "timeoutMs": 200 }));
    reply.assert_refused(convoke::Code::Timeout, "An external service did not respond in time");
    // No process listens on port 1. A port that was free before could belong to another test now.
    let reply = fetch(&app, "http://127.0.0.1:1/", json!({ "timeoutMs": 60_000 }));
    reply.assert_refused(convoke::Code::ProviderError, "An external service failed");
}

#[test]
fn redirects_stay_within_their_scheme() {
    let app = TestApp::new();
    let last = Script::new([answer(200, "", "arrived")]);
    let first = Script::new([answer(302, &format!("location: {}\r\n", last.url), "")]);
    assert_eq!(fetch(&app, &first.url, json!({})).value()["text"], "arrived");
    for elsewhere in ["https://127.0.0.1:9/", "file:///etc/hostname"] {
        let server = Script::new([answer(302, &format!("location: {elsewhere}\r\n"), "moved")]);
        let reply = fetch(&app, &server.url, json!({}));
        assert!(!reply.is_success() || reply.value()["status"] == 302, "{elsewhere}: {reply:?}");
    }
    assert_eq!(fetch(&app, "file:///etc/hostname", json!({})).code(), "INTERNAL");
}

/// Keeps everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn secret_reaches_its_server_but_no_log() {
    let mut data = std::path::PathBuf::new();
    let app = TestApp::with(|options| data = options.data.clone());
    let url = |server: &Script| json!({ "url": server.url, "post": false, "repeatable": false });
    let missing = app.nobody().call("outbound/functions/sendSecret", url(&Script::new([])));
    assert_eq!(missing.code(), "INTERNAL");
    assert!(missing.error().chain().contains("CONVOKE_SECRET_OUTBOUND_TEST"), "{:?}", missing.error());
    let known = |name| app.nobody().call("outbound/functions/knowsSecret", json!({ "name": name })).value().clone();
    assert_eq!(known("OUTBOUND_TEST"), json!(false));
    let file = data.join("secrets/OUTBOUND_TEST");
    std::fs::create_dir(data.join("secrets")).unwrap();
    std::fs::write(&file, "hush-hush\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(known("OUTBOUND_TEST"), json!(true));
    let server = Script::new([answer(200, "", "ok"), answer(401, "", "no")]);
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let reply = app.nobody().call("outbound/functions/sendSecret", url(&server));
        assert_eq!(*reply.value(), json!("ok"));
        assert_eq!(reply.log_lines(), ["[INFO] sending Secret(…)"]);
        let refused = app.nobody().call("outbound/functions/sendSecret", url(&server));
        assert_eq!(refused.code(), "PROVIDER_ERROR");
        assert!(!format!("{refused:?}").contains("hush"));
    });
    assert!(server.asked()[0].contains("authorization: Bearer hush-hush"), "{:?}", server.asked());
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("sending Secret") && !log.contains("hush"), "{log}");
}
