//! Signatures: the check comes before everything else.

use std::time::Duration;

use convoke_calls::signatures::{Key, standard_webhooks};

use crate::client::{Answer, send};
use crate::shop::{PLAIN, Payment, WEBHOOKS, app};
use convoke::testing::{TestApp, TestServer};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Delivers an event by Standard Webhooks, so many seconds after the server's time.
pub(crate) fn deliver(
    app: &TestApp,
    server: &TestServer<'_>,
    secret: &str,
    (id, after_s): (&str, i64),
    body: &str,
) -> Answer {
    let at = u64::try_from(app.now().get() / 1_000 + after_s).unwrap();
    let signature = standard_webhooks::sign(&[Key::standard_webhooks(secret).unwrap()], id, at, body.as_bytes());
    let fields = [JSON, ("webhook-id", id), ("webhook-timestamp", &at.to_string()), ("webhook-signature", &signature)];
    send(app, server, "POST", "/hooks/payments", &fields, body.to_owned())
}

#[test]
fn old_and_new_keys_are_accepted_and_others_are_not() {
    let app = app();
    let server = app.serve();
    let body = r#"{"order":"a","cents":7}"#;
    for (number, secret) in WEBHOOKS.iter().enumerate() {
        let answer = deliver(&app, &server, secret, (&format!("msg_{number}"), 299), body);
        assert_eq!((answer.status, answer.field("x-order")), (201, "kept"));
    }
    for (secret, after_s) in [("whsec_d3JvbmcgZG9vcg==", 0), (WEBHOOKS[0], 301), (WEBHOOKS[0], -301)] {
        // The body is not JSON: a rejected request is not read.
        let answer = deliver(&app, &server, secret, ("msg_x", after_s), "not JSON");
        assert_eq!((answer.status, &*answer.code()), (401, "INVALID_SIGNATURE"));
    }
    let unsigned = send(&app, &server, "POST", "/hooks/payments", &[JSON], body);
    assert_eq!((unsigned.status, &*unsigned.code()), (401, "INVALID_SIGNATURE"));
    assert_eq!(app.count::<Payment>(), 2);
}

#[test]
fn signature_comes_before_credentials() {
    let app = app();
    let server = app.serve();
    let fields = [JSON, ("authorization", "Bearer x")];
    assert_eq!(&*send(&app, &server, "POST", "/hooks/payments", &fields, "{}").code(), "INVALID_SIGNATURE");
}

#[test]
fn github_and_bare_signatures_are_those_of_the_body() {
    let app = app();
    let server = app.serve();
    let code = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let signed = format!("sha256={code}");
    for (path, header, signature) in
        [("/hooks/github", "x-hub-signature-256", &*signed), ("/hooks/bare", "x-signature", code)]
    {
        let good = send(&app, &server, "POST", path, &[(header, signature)], "Hello, World!");
        assert_eq!((good.status, good.text()), (200, "13"), "{path} {PLAIN}");
        let changed = send(&app, &server, "POST", path, &[(header, signature)], "Hello, World?");
        assert_eq!((changed.status, &*changed.code()), (401, "INVALID_SIGNATURE"));
        let twice = [(header, signature), (header, signature)];
        assert_eq!(send(&app, &server, "POST", path, &twice, "Hello, World!").status, 401);
    }
}

#[test]
fn own_check_may_use_the_field_of_credentials() {
    let app = app();
    let server = app.serve();
    let good = send(&app, &server, "POST", "/hooks/own", &[("authorization", "knock knock")], "");
    assert_eq!((good.status, good.text()), (200, "true"));
    let bad = send(&app, &server, "POST", "/hooks/own", &[("authorization", "open")], "");
    assert_eq!((bad.status, &*bad.code()), (401, "INVALID_SIGNATURE"));
}

#[test]
fn sender_of_a_signed_event_sees_that_it_was_not_taken() {
    let app = TestApp::with(|options| {
        for (name, secret) in [("SHOP_WEBHOOKS", &*WEBHOOKS.join("\n")), ("SHOP_PLAIN", PLAIN)] {
            convoke_calls::outbound::secret::write(&options.data, name, secret).unwrap();
        }
        options.limits.mutation_timeout = Duration::from_nanos(1);
    });
    let server = app.serve();
    let good = r#"{"order":"a","cents":7}"#;
    for (id, body, status, code) in [
        ("msg_1", "not JSON", 400, "INVALID_JSON"),
        ("msg_2", r#"{"order":"a"}"#, 400, "INVALID_ARGUMENT"),
        ("msg_3", good, 503, "TIMEOUT"),
    ] {
        let answer = deliver(&app, &server, WEBHOOKS[0], (id, 0), body);
        assert_eq!((answer.status, &*answer.code()), (status, code), "{body}");
    }
    let unsigned = send(&app, &server, "POST", "/payments", &[JSON], good);
    assert_eq!((unsigned.status, &*unsigned.code()), (200, "TIMEOUT"), "no event: as each other call");
    assert_eq!(app.count::<Payment>(), 0);
}
