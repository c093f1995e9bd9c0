//! The same call sent twice has its effect once, and the same answer.

use std::time::Duration;

use convoke::testing::TestApp;
use convoke_calls::call::idempotency::REMEMBERED;
use serde_json::json;

const PATH: &str = "call/functions/incrementOnce";

#[test]
fn retry_gets_the_first_result_without_a_run() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let args = json!({ "name": "a", "idempotencyKey": "k1" });
    assert_eq!(ada.call(PATH, args.clone()).value(), &json!(1));
    assert_eq!(ada.call(PATH, args.clone()).value(), &json!(1));
    assert_eq!(ada.call(PATH, json!({ "name": "a", "idempotencyKey": "k2" })).value(), &json!(2));
    assert_eq!(ada.call(PATH, json!({ "name": "a" })).value(), &json!(3));
    assert_eq!(ada.call(PATH, json!({ "name": "a" })).value(), &json!(4));
    assert_eq!(ada.call(PATH, args).value(), &json!(1));
}

#[test]
fn key_belongs_to_its_caller_and_arguments() {
    let app = TestApp::new();
    let args = |name: &str| json!({ "name": name, "idempotencyKey": "k" });
    assert_eq!(app.user("ada").call(PATH, args("a")).value(), &json!(1));
    assert_eq!(app.user("bob").call(PATH, args("a")).value(), &json!(2));
    let reused = app.user("ada").call(PATH, args("b"));
    assert_eq!(reused.code(), "IDEMPOTENCY_KEY_REUSED");
}

#[test]
fn rejected_call_is_not_stored() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let refused = ada.call(PATH, json!({ "name": "refused", "idempotencyKey": "k" }));
    assert_eq!(refused.code(), "FAILED_PRECONDITION");
    assert_eq!(ada.call(PATH, json!({ "name": "a", "idempotencyKey": "k" })).value(), &json!(1));
}

#[test]
fn concurrent_first_uses_run_once() {
    let app = TestApp::new();
    let calls = (0..50).map(|_| {
        let caller = app.user("ada");
        async move { caller.call_async(PATH, json!({ "name": "a", "idempotencyKey": "k" })).await }
    });
    for reply in app.block_on(futures_util::future::join_all(calls)) {
        assert_eq!(reply.value(), &json!(1));
    }
}

#[test]
fn key_expires_after_a_week() {
    let app = TestApp::new();
    let args = json!({ "name": "a", "idempotencyKey": "k" });
    assert_eq!(app.user("ada").call(PATH, args.clone()).value(), &json!(1));
    app.advance(REMEMBERED + Duration::from_millis(1));
    assert_eq!(app.user("ada").call(PATH, args).value(), &json!(2));
}
