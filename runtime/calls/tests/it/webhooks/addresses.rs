//! Addresses that webhooks do not reach.

use convoke::testing::TestApp;
use serde_json::json;

use super::delivery::{add, send};
use super::receiver::Receiver;

#[test]
fn url_of_a_private_address_is_rejected_when_the_endpoint_is_created() {
    let app = TestApp::new();
    for url in ["http://127.0.0.1:9/", "http://localhost/", "http://[::ffff:10.0.0.1]/", "http://2130706433/"] {
        let reply = app.nobody().call("webhooks/functions/add", json!({ "url": url, "events": [] }));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("url")), "{url}");
        assert!(reply.message().contains("webhooks.allow"), "{}", reply.message());
    }
}

#[test]
fn production_rejects_http() {
    let app = TestApp::with(|options| options.is_development = false);
    let args = |url: &str| json!({ "url": url, "events": [] });
    let reply = app.nobody().call("webhooks/functions/add", args("http://example.com/"));
    assert_eq!(reply.code(), "INVALID_ARGUMENT");
    assert!(reply.message().contains("https://"), "{}", reply.message());
    assert!(app.nobody().call("webhooks/functions/add", args("https://example.com/")).is_success());
}

#[test]
fn url_that_the_parser_would_repair_is_rejected() {
    let app = TestApp::with(|options| options.is_development = false);
    for url in [
        "https:///example.com",
        "https:example.com",
        "https:\\\\example.com\\x",
        "https://exa\nmple.com/",
        " https://example.com/",
        "https://example.com/\u{1b}[31m",
        "https://example.com:0/",
    ] {
        let reply = app.nobody().call("webhooks/functions/add", json!({ "url": url, "events": [] }));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("url")), "{url:?}");
    }
}

#[test]
fn name_that_leads_to_a_private_address_is_refused_at_the_connection() {
    let receiver = Receiver::accepting();
    let port = receiver.url.rsplit(':').next().unwrap().to_owned();
    let host = hostname();
    let app = TestApp::new();
    add(&app, &format!("http://{host}:{port}"), &[], None);
    send(&app, "order.paid", 1);
    app.run_due();
    let error = app.deliveries()[0].error.clone().unwrap();
    assert!(error.contains("webhooks.allow") && !error.contains("127."), "{error}");
    assert!(receiver.arrived().is_empty());
}

#[test]
fn reason_of_a_failure_is_plain() {
    for (url, reason) in [
        ("http://nowhere.invalid/", "the name of the endpoint cannot be resolved"),
        ("http://127.0.0.1:9/", "the endpoint accepts no connection"),
    ] {
        let app = super::delivery::app();
        add(&app, url, &[], None);
        send(&app, "order.paid", 1);
        app.run_due();
        assert_eq!(app.deliveries()[0].error.as_deref(), Some(reason), "{url}");
    }
}

/// The name of this machine, which its table of hosts leads to a loopback or private address.
fn hostname() -> String {
    std::fs::read_to_string("/etc/hostname").unwrap().trim().to_owned()
}
