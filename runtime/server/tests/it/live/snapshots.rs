//! Queries over HTTP that see one state: a batch on one snapshot, and calls one after the other at a `ts`.

use convoke::store::{Commit, Nodes};
use convoke::testing::{HttpReply, TestApp, TestServer};
use serde_json::{Value, json};

use super::{add, of};

fn at(server: &TestServer<'_>, ts: &Value, path: &str, args: Value) -> HttpReply {
    let body = json!({ "path": path, "args": [args], "ts": ts, "format": "convex_encoded_json" });
    server.post(None, "/api/query_at_ts", body.to_string())
}

#[test]
fn queries_at_a_timestamp_share_a_snapshot_until_a_conflicting_commit() {
    let app = TestApp::new();
    let server = app.serve();
    let nobody = app.nobody();
    add(&nobody, "r", "x");
    let ts = || server.post(None, "/api/query_ts", "").body["ts"].clone();
    let first = ts();
    let count = |ts: &Value, name: &str| at(&server, ts, "live/functions:count", of("r", name));
    if !matches!(app.runtime().store().nodes(), Nodes::Alone) {
        let refused = count(&first, "x");
        assert_eq!((refused.status, refused.code()), (200, "FAILED_PRECONDITION"));
        return;
    }
    assert_eq!(count(&first, "x").value(), &json!(1.0));
    add(&nobody, "r", "y");
    assert_eq!(count(&first, "x").value(), &json!(1.0), "its row did not change");
    assert_eq!(count(&first, "y").code(), "FAILED_PRECONDITION", "its row was made later");
    add(&nobody, "r", "x");
    let gone = count(&first, "x");
    assert_eq!((gone.status, gone.code()), (200, "FAILED_PRECONDITION"));
    assert_eq!(count(&first, "z").value(), &json!(0.0), "rows that did not change read the same");
    assert_eq!(count(&ts(), "x").value(), &json!(2.0));
    // An error is of a state, too.
    let guest = at(&server, &first, "live/functions:countAsGuest", of("r", "x"));
    assert_eq!(guest.code(), "FORBIDDEN");
    let unknown = json!(convoke_calls::call::timestamp::write(Commit(u64::MAX)));
    assert_eq!(count(&unknown, "x").code(), "FAILED_PRECONDITION");
    for (ts, path, code) in [
        (json!("nonsense"), "live/functions:count", "INVALID_ENVELOPE"),
        (json!(7), "live/functions:count", "INVALID_ENVELOPE"),
        (first.clone(), "live/functions:add", "WRONG_FUNCTION_KIND"),
        (first, "live/functions:nothing", "FUNCTION_NOT_FOUND"),
    ] {
        let refused = at(&server, &ts, path, of("r", "x"));
        assert_eq!((refused.status, refused.code()), (400, code));
    }
}

#[test]
fn query_batch_reads_one_snapshot() {
    let app = TestApp::new();
    let server = app.serve();
    let query = |path: &str, args: Value| json!({ "path": path, "args": args });
    let body = json!({ "queries": [
        query("live/functions:count", of("r", "a")),
        query("live/functions:count", json!([of("r", "b")])),
    ] });
    let runtime = app.runtime().clone();
    app.block_on(async {
        let writing = tokio::spawn(async move {
            for _ in 0..200 {
                let args = of("r", "a,b").to_string();
                let request = convoke_calls::call::dispatch::Request::Args { path: "live/functions/add", args: &args };
                let caller = convoke::Caller::Nobody;
                runtime.call(request, caller, runtime.request_id()).await.0.result.unwrap();
            }
        });
        let mut seen = Vec::new();
        while seen.last() != Some(&json!(200)) {
            let reply = server.post_async(None, "/api/query_batch", body.to_string()).await;
            let results = &reply.body["results"];
            assert_eq!((&results[0]["status"], results.as_array().map(Vec::len)), (&json!("success"), Some(2)));
            assert_eq!(results[0], results[1]);
            seen.push(results[0]["value"].clone());
        }
        seen.dedup();
        assert!(seen.len() > 1, "it changed meanwhile");
        writing.await.unwrap();
    });
}

#[test]
fn each_query_of_a_batch_has_its_format_and_error() {
    let app = TestApp::new();
    let server = app.serve();
    add(&app.nobody(), "r", "x,größe");
    let room = json!({ "room": "r" });
    let body = json!({ "queries": [
        { "path": "live/functions:byName", "args": [room], "format": "convex_encoded_json" },
        { "path": "live/functions/byName", "args": room },
        { "path": "live/functions:nothing", "args": {} },
        { "path": "live/functions:count", "args": { "room": 1 } },
        { "path": "live/functions:count", "args": of("r", "x"), "format": "convex_encoded_json" },
    ] });
    let reply = server.post(None, "/api/query_batch", body.to_string());
    let results = reply.body["results"].as_array().unwrap();
    let code = |place: usize| results[place]["errorData"]["code"].as_str();
    assert_eq!((results.len(), reply.status), (5, 200));
    assert_eq!((code(0), &results[0]["errorData"]["path"]), (Some("FAILED_PRECONDITION"), &json!("größe")));
    assert_eq!(results[1], json!({ "status": "success", "value": { "x": 1, "größe": 1 } }));
    assert_eq!((code(2), code(3)), (Some("FUNCTION_NOT_FOUND"), Some("INVALID_ARGUMENT")));
    assert_eq!(results[4]["value"].to_string(), "1.0");
    assert_eq!(app.live().counts(), (0, 0), "nothing of it stays");
    for body in [json!({}), json!({ "queries": [] }), json!({ "queries": [{ "path": "a", "args": 1 }] })] {
        let refused = server.post(None, "/api/query_batch", body.to_string());
        assert_eq!((refused.status, refused.code()), (400, "INVALID_ENVELOPE"), "{body}");
    }
}
