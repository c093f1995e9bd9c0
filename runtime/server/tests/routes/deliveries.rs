//! Events that are delivered more than once have their effect once.

use std::time::Duration;

use futures_util::future::join_all;

use crate::client::{send, send_async};
use crate::shop::{Payment, WEBHOOKS, app};
use crate::signatures::deliver;

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn repeated_delivery_gets_the_first_response() {
    let app = app();
    let server = app.serve();
    let body = r#"{"order":"a","cents":7}"#;
    let first = deliver(&app, &server, WEBHOOKS[0], ("msg_1", 0), body);
    // Another body under the same id is the same event.
    let again = deliver(&app, &server, WEBHOOKS[0], ("msg_1", 0), r#"{"order":"b","cents":8}"#);
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!((first.text(), again.field("x-order")), (again.text(), "kept"));
    assert_eq!((first.field("idempotency-replayed"), again.field("idempotency-replayed")), ("", "true"));
    assert_eq!(app.count::<Payment>(), 1);
    app.advance(Duration::from_secs(7 * 24 * 60 * 60 + 1));
    assert_eq!(deliver(&app, &server, WEBHOOKS[0], ("msg_1", 0), body).field("idempotency-replayed"), "");
}

#[test]
fn failed_delivery_does_not_use_up_its_id() {
    let app = app();
    let server = app.serve();
    let failed = deliver(&app, &server, WEBHOOKS[0], ("msg_1", 0), r#"{"order":"a","cents":-7}"#);
    assert_eq!((failed.status, &*failed.code()), (500, "FAILED_PRECONDITION"));
    assert_eq!(failed.json()["logLines"][0], "[INFO] paid a");
    let good = deliver(&app, &server, WEBHOOKS[0], ("msg_1", 0), r#"{"order":"a","cents":7}"#);
    assert_eq!((good.status, good.field("idempotency-replayed")), (201, ""));
    assert_eq!(app.count::<Payment>(), 1);
}

#[test]
fn concurrent_deliveries_of_one_event_are_one_row() {
    let app = app();
    let server = app.serve();
    let stripe = |order: usize| {
        let body = format!(r#"{{"order":"{order}","cents":7}}"#);
        let at = app.now().get() / 1_000;
        let key = hmac_of(&format!("{at}.{body}"));
        (format!("t={at},v1={key}"), body)
    };
    let sent: Vec<_> = (0..64).map(|number| stripe(number % 4)).collect();
    let client = reqwest::Client::new();
    let answers = app.block_on(join_all(sent.iter().map(|(signature, body)| async {
        let fields = [JSON, ("stripe-signature", &**signature)];
        send_async(&client, &server, "POST", "/hooks/stripe", &fields, body.clone()).await
    })));
    assert!(answers.iter().all(|answer| answer.status == 201));
    assert_eq!(answers.iter().filter(|answer| answer.field("idempotency-replayed") == "true").count(), 60);
    assert_eq!(app.count::<Payment>(), 4);
    let body = r#"{"order":{},"cents":7}"#;
    let at = app.now().get() / 1_000;
    let signature = format!("t={at},v1={}", hmac_of(&format!("{at}.{body}")));
    let without = send(&app, &server, "POST", "/hooks/stripe", &[JSON, ("stripe-signature", &signature)], body);
    assert_eq!((&*without.code(), &*without.field_at_fault()), ("INVALID_ARGUMENT", "/order"));
}

fn hmac_of(text: &str) -> String {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, crate::shop::PLAIN.as_bytes());
    hex::encode(aws_lc_rs::hmac::sign(&key, text.as_bytes()))
}

#[test]
fn idempotency_key_is_that_of_a_call() {
    let app = app();
    let server = app.serve();
    let key = ("idempotency-key", "0f8a2c1e-7d4b-4f53-9a8e-5d1c2b3a4f60");
    let post = |body: &'static str| send(&app, &server, "POST", "/payments", &[JSON, key], body);
    let (first, again) = (post(r#"{"order":"a","cents":7}"#), post(r#"{"order":"a","cents":7}"#));
    assert_eq!((first.text(), again.field("idempotency-replayed")), (again.text(), "true"));
    assert_eq!(&*post(r#"{"order":"b","cents":7}"#).code(), "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(app.count::<Payment>(), 1);
    assert_eq!(&*send(&app, &server, "GET", "/nothing", &[key], "").code(), "WRONG_FUNCTION_KIND");
}
