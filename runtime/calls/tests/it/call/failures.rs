//! Failures: what they leave behind, what the caller sees, and that the server lives.

use std::time::Duration;

use convoke::Code;
use convoke::testing::TestApp;
use convoke_core::error::INTERNAL_MESSAGE;
use serde_json::json;

use super::functions::Counter;

#[test]
fn failed_mutation_keeps_its_log_and_rolls_back() {
    let app = TestApp::new();
    let reply = app.user("ada").call("call/functions/incrementAndRefuse", json!({ "name": "a" }));
    reply.assert_refused(Code::FailedPrecondition, "Not now");
    assert_eq!(reply.data(), json!({ "code": "FAILED_PRECONDITION", "left": 3 }));
    assert_eq!(reply.log_lines(), ["[INFO] incrementing a", "[WARN] about to refuse"]);
    assert_eq!(app.count::<Counter>(), 0);
}

#[test]
fn caught_failure_of_a_called_mutation_rolls_back_only_its_writes() {
    let app = TestApp::new();
    assert_eq!(app.nobody().call("call/functions/incrementDespite", json!({ "name": "a" })).value(), &json!(1));
}

#[test]
fn panic_is_internal_and_rolls_back() {
    let app = TestApp::new();
    for path in ["incrementAndPanic", "panicInQuery", "panicInAction", "panicApart"] {
        let args = if path == "incrementAndPanic" { json!({ "name": "a" }) } else { json!({}) };
        let reply = app.nobody().call(&format!("call/functions/{path}"), args);
        reply.assert_refused(Code::Internal, INTERNAL_MESSAGE);
        assert!(reply.error().chain().contains("a bug "), "{}", reply.error().chain());
    }
    assert_eq!(app.count::<Counter>(), 0);
    assert_eq!(app.nobody().call("call/functions/increment", json!({ "name": "a" })).value(), &json!(1));
}

#[test]
fn unique_violation_names_table_index_and_fields_and_rolls_back() {
    let app = TestApp::new();
    let reply = app.nobody().call("call/functions/violate", json!({ "name": "a" }));
    assert_eq!(reply.code(), "CONFLICT");
    assert_eq!(reply.message(), "A row of counters with the same name already exists (unique index by_name)");
    let data = reply.data();
    assert_eq!(
        (&data["table"], &data["index"], &data["fields"]),
        (&json!("counters"), &json!("by_name"), &json!(["name"]))
    );
    assert_eq!(app.count::<Counter>(), 0);
}

#[test]
fn failed_action_keeps_its_earlier_transactions() {
    let app = TestApp::new();
    let reply = app.nobody().call("call/functions/half", json!({ "name": "a" }));
    assert_eq!(reply.code(), "FAILED_PRECONDITION");
    assert_eq!(app.nobody().call("call/functions/read", json!({ "name": "a" })).value(), &json!(1));
}

#[test]
fn timed_out_call_is_interrupted_and_rolled_back_even_if_it_ignores_the_error() {
    let app = TestApp::with(|options| {
        options.limits.query_timeout = Duration::from_secs(1);
        options.limits.mutation_timeout = Duration::from_secs(1);
        options.limits.action_timeout = Duration::from_secs(1);
    });
    let functions = [("endless", "query"), ("endlessMutation", "mutation"), ("endlessAction", "action")];
    for (path, kind) in functions {
        let args = if path == "endlessAction" { json!({}) } else { json!({ "name": "a" }) };
        let reply = app.nobody().call(&format!("call/functions/{path}"), args);
        assert_eq!(reply.code(), "TIMEOUT", "{path}");
        assert_eq!(reply.message(), format!("The {kind} ran longer than 1s (setting limits.{kind}_timeout)"));
    }
    assert_eq!(app.count::<Counter>(), 0);
    assert!(app.nobody().call("call/functions/increment", json!({ "name": "a" })).is_success());
}

#[test]
fn too_large_result_is_internal_and_rolls_back() {
    let app = TestApp::with(|options| options.limits.response_bytes_max = 1_000);
    assert_eq!(app.nobody().call("call/functions/tooLarge", json!({ "name": "a" })).code(), "INTERNAL");
    assert_eq!(app.count::<Counter>(), 0);
}

#[test]
fn internal_function_looks_like_an_unknown_one() {
    let app = TestApp::new();
    let internal = app.nobody().call("call/functions/hidden", json!({}));
    let unknown = app.nobody().call("call/functions/hiddem", json!({}));
    assert_eq!(internal.code(), "FUNCTION_NOT_FOUND");
    assert_eq!(internal.message().replace("hidden", "hiddem"), unknown.message());
    let near = app.nobody().call("call/functions/incremet", json!({}));
    assert_eq!(near.message(), "No function \"call/functions/incremet\"; did you mean \"call/functions/increment\"?");
}

#[test]
fn each_transaction_of_an_action_has_its_start_time() {
    let app = TestApp::new();
    let pause = app.runtime().memory::<super::functions::Pause>();
    let nobody = app.nobody();
    let call = nobody.call_async("call/functions/timesAroundAPause", json!({}));
    let meanwhile = async {
        pause.reached.notified().await;
        app.clock().advance(Duration::from_secs(60));
        pause.go_on.notify_one();
    };
    let (reply, ()) = app.block_on(futures_util::future::join(call, meanwhile));
    let start = convoke::testing::START.0;
    assert_eq!(reply.value(), &json!([start, start + 60_000, start + 60_000]));
}

#[test]
fn response_without_memory_is_overloaded_and_rolls_back() {
    let app = TestApp::with(|options| options.limits.response_bytes_total_max = 200_000);
    for function in ["incrementAtLength", "readAtLength"] {
        let path = format!("call/functions/{function}");
        let before = app.count::<Counter>();
        let reply = app.nobody().call(&path, json!({ "name": "300000" }));
        assert_eq!((reply.code(), reply.message().is_empty()), ("OVERLOADED", false));
        assert_eq!(app.count::<Counter>(), before);
        let reply = app.nobody().call(&path, json!({ "name": "100000" }));
        assert_eq!(reply.value().as_str().map(str::len), Some(100_000));
    }
    assert_eq!(app.count::<Counter>(), 1);
}

#[test]
fn response_above_its_limit_is_internal_and_rolls_back() {
    let app = TestApp::with(|options| options.limits.response_bytes_max = 100_000);
    for function in ["incrementAtLength", "readAtLength"] {
        let reply = app.nobody().call(&format!("call/functions/{function}"), json!({ "name": "100000" }));
        reply.assert_refused(Code::Internal, INTERNAL_MESSAGE);
        assert!(reply.error().chain().contains("larger than 100000 bytes"), "{}", reply.error().chain());
    }
    assert_eq!(app.count::<Counter>(), 0);
}
