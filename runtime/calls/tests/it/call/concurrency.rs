//! Mutations are serializable: many at once end as if one had come after the other.

use convoke::testing::TestApp;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::json;

#[test]
fn concurrent_increments_are_not_lost() {
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
fn panic_and_rejection_roll_back_only_their_own_writes() {
    let app = TestApp::new();
    let calls = (0..90).map(|i| {
        let caller = app.nobody();
        let path = ["increment", "incrementAndPanic", "incrementAndRefuse"][i % 3];
        async move { caller.call_async(&format!("call/functions/{path}"), json!({ "name": "a" })).await }
    });
    let replies = app.block_on(futures_util::future::join_all(calls));
    for (i, reply) in replies.iter().enumerate() {
        match i % 3 {
            0 => assert!(reply.is_success()),
            1 => assert_eq!(reply.code(), "INTERNAL"),
            _ => assert_eq!(reply.code(), "FAILED_PRECONDITION"),
        }
    }
    assert_eq!(app.nobody().call("call/functions/read", json!({ "name": "a" })).value(), &json!(30));
}

#[test]
fn full_queue_rejects_immediately() {
    let app = TestApp::with(|options| {
        options.limits.writer_queue_max = 4;
        options.limits.mutation_timeout = std::time::Duration::from_secs(60);
    });
    let hold = app.runtime().memory::<super::functions::Hold>();
    let holding = async { app.nobody().call_async("call/functions/holdTheWriter", json!({})).await };
    let others = async {
        hold.reached.notified().await;
        let mut calls: FuturesUnordered<_> = (0..20)
            .map(|_| {
                let caller = app.nobody();
                async move { caller.call_async("call/functions/increment", json!({ "name": "a" })).await }
            })
            .collect();
        for _ in 0..16 {
            assert_eq!(calls.next().await.unwrap().code(), "OVERLOADED");
        }
        *hold.leave.lock().unwrap() = true;
        hold.may_leave.notify_all();
        while let Some(waited) = calls.next().await {
            waited.value();
        }
    };
    let (held, ()) = app.block_on(futures_util::future::join(holding, others));
    held.value();
    assert_eq!(app.nobody().call("call/functions/read", json!({ "name": "a" })).value(), &json!(4));
}
