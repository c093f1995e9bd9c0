//! Mutations are serializable: many at once end as if one had come after the other.

use convoke::testing::TestApp;
use serde_json::json;

#[test]
fn no_increment_is_lost() {
    let app = TestApp::new();
    let calls = (0..500).map(|i| {
        let caller = app.nobody();
        let name = format!("c{}", i % 5);
        async move { caller.call_async("call/functions/increment", json!({ "name": name })).await }
    });
    let replies = app.block_on(futures_util::future::join_all(calls));
    assert!(replies.iter().all(convoke::testing::Reply::is_success));
    for i in 0..5 {
        let args = json!({ "name": format!("c{i}") });
        assert_eq!(app.nobody().call("call/functions/read", args).value(), &json!(100));
    }
}

#[test]
fn a_panic_and_a_refusal_among_others_are_rolled_back_alone() {
    let app = TestApp::new();
    let calls = (0..90).map(|i| {
        let caller = app.nobody();
        let path = ["increment", "incrementAndPanic", "incrementAndRefuse"][i % 3];
        async move { caller.call_async(&format!("call/functions/{path}"), json!({ "name": "a" })).await }
    });
    let replies = app.block_on(futures_util::future::join_all(calls));
    assert_eq!(replies.iter().filter(|reply| reply.is_success()).count(), 30);
    assert_eq!(app.nobody().call("call/functions/read", json!({ "name": "a" })).value(), &json!(30));
}

#[test]
fn more_than_may_wait_are_told_so_at_once() {
    let app = TestApp::with(|options| options.limits.writer_queue_max = 4);
    let calls = (0..400).map(|_| {
        let caller = app.nobody();
        async move { caller.call_async("call/functions/increment", json!({ "name": "a" })).await }
    });
    let replies = app.block_on(futures_util::future::join_all(calls));
    let done = replies.iter().filter(|reply| reply.is_success()).count();
    assert!(replies.iter().filter(|reply| !reply.is_success()).all(|reply| reply.code() == "OVERLOADED"));
    assert_eq!(app.nobody().call("call/functions/read", json!({ "name": "a" })).value(), &json!(done));
}
