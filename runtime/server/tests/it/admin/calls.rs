//! Finished calls, as the operator looks for them.

use convoke::testing::TestApp;
use convoke_calls::recent_calls::CallRecord;
use reqwest::Method;
use serde_json::{Value, json};

use super::Door;

/// Calls that `logs` shows with this query, oldest first.
fn logs(door: &Door<'_>, query: &str) -> Vec<Value> {
    let key = door.key(&format!("logs{}", query.len()), &["logs"]);
    let text = door.app.block_on(async {
        let reply = door.open(Some(&key), Method::GET, &format!("/api/admin/logs?{query}"), None).await;
        assert_eq!(reply.status(), 200);
        reply.text().await.unwrap()
    });
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn functions(calls: &[Value]) -> Vec<&str> {
    calls.iter().map(|call| call["function"].as_str().unwrap().rsplit('/').next().unwrap()).collect()
}

#[test]
fn call_record_has_arguments_without_secrets_result_size_rows_and_time() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let ada = app.user("ada");
    let added = door.operator(
        Method::POST,
        "/api/admin/tables/counters",
        Some(&json!({ "set": { "name": "eyJhbGciOi.eyJzdWIi.c2ln", "count": 1 } })),
    );
    added.value();
    // The first call of an identity writes its rows, too.
    ada.call("work/read", json!({ "name": "a" })).value();
    ada.call("work/increment", json!({ "name": "a" })).value();
    ada.call("work/read", json!({ "name": "eyJhbGciOi.eyJzdWIi.c2ln" })).value();
    ada.call("work/increment", json!({ "name": 7 }));
    ada.call("work/incrementAndPanic", json!({ "name": "b" }));
    let calls = logs(&door, "caller=ada");
    assert_eq!(functions(&calls), ["read", "increment", "read", "increment", "incrementAndPanic"]);
    let [_, first, second, refused, _] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((&first["arguments"], &first["rowsWritten"]), (&json!({ "name": "a" }), &json!(1)));
    assert_eq!((&first["resultBytes"], &first["outcome"], first.get("refused")), (&json!(1), &json!("OK"), None));
    assert_eq!((&second["arguments"], &second["rowsRead"]), (&json!({ "name": "(secret)" }), &json!(1)));
    assert_eq!((&refused["outcome"], &refused["refused"]), (&json!("INVALID_ARGUMENT"), &json!(true)));
    assert_eq!(refused["arguments"], json!({ "name": 7 }));
    assert!(logs(&door, "text=c2ln").is_empty(), "a secret that was removed cannot be searched for");
    assert_eq!(functions(&logs(&door, "text=%22NAME%22:%22a%22")), ["read", "increment"]);

    assert_eq!(functions(&logs(&door, "outcome=failed&caller=ada")), ["incrementAndPanic"]);
    assert_eq!(functions(&logs(&door, "outcome=refused&caller=ada")), ["increment"]);
    assert_eq!(logs(&door, "outcome=failed")[0].get("refused"), None);
    assert!(logs(&door, "caller=grace").is_empty());
    let now = app.now().0;
    assert!(logs(&door, &format!("since={}", now + 1)).is_empty());
    assert_eq!(logs(&door, &format!("since={now}&caller=ada")).len(), 5);
    assert!(logs(&door, &format!("before={now}&caller=ada")).is_empty());
}

#[test]
fn recorded_calls_survive_a_restart() {
    let mut app = TestApp::new();
    app.user("ada").call("work/increment", json!({ "name": "a" })).value();
    let recorded = |app: &TestApp| -> Vec<CallRecord> { app.recent_calls().recent(&Default::default(), 100) };
    let before = recorded(&app);
    assert_eq!(before.len(), 1);
    app.restart();
    let after = recorded(&app);
    assert_eq!(after.len(), 1);
    assert_eq!(serde_json::to_value(&before[0]).unwrap(), serde_json::to_value(&after[0]).unwrap());
}

#[test]
fn call_record_and_its_arguments_can_be_disabled() {
    let without = |section: &str| {
        let section: toml::Table = toml::from_str(section).unwrap();
        let mut app = TestApp::with(|options| {
            options.settings.insert("recorded_calls".to_owned(), section.into());
        });
        app.user("ada").call("work/increment", json!({ "name": "a" })).value();
        let found = app.recent_calls().recent(&Default::default(), 100);
        assert_eq!(found.len(), 1);
        app.restart();
        (found[0].arguments.is_some(), app.recent_calls().recent(&Default::default(), 100).len())
    };
    assert_eq!(without("arguments = false"), (false, 1));
    assert_eq!(without("enabled = false"), (true, 0));
}
