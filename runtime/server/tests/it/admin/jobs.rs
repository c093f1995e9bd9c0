//! Scheduled work and the schema, as the operator's routes show them.

use convoke::testing::TestApp;
use reqwest::Method;
use serde_json::{Value, json};

use super::Door;

fn planned(app: &TestApp, name: &str, args: Value) {
    let reply = app.nobody().call(&format!("work/{name}"), args);
    assert!(reply.is_success(), "{}", reply.message());
}

#[test]
fn jobs_are_listed_shown_rerun_and_cancelled() {
    let app = TestApp::new();
    planned(&app, "planFail", json!({ "n": 1 }));
    planned(&app, "plan", json!({ "n": 2, "afterMs": 9_000 }));
    app.run_due();
    let failed = app.failed_jobs()[0].id().to_string();
    let door = Door::of(&app);
    let key = door.key("jobs", &["jobs"]);
    let ask = |method: Method, path: &str| door.with(Some(&key), method, &format!("/api/admin/jobs{path}"), None);

    let listed = ask(Method::GET, "").value().clone();
    assert_eq!(listed["counts"], json!({ "pending": 1, "running": 0, "failed": 1 }));
    assert_eq!((listed["items"].as_array().unwrap().len(), &listed["items"][0]["id"]), (1, &json!(failed)));
    assert!(listed["items"][0]["lastError"].as_str().unwrap().len() > 3);
    assert!(listed["items"][0].get("args").is_none(), "arguments are for who asks for the one job");
    let shown = ask(Method::GET, &format!("/{failed}"));
    assert_eq!((&shown.value()["args"]["n"], &shown.value()["state"]), (&json!(1), &json!("failed")));
    let pending = ask(Method::GET, "?state=pending&limit=1").value()["items"][0]["id"].as_str().unwrap().to_owned();

    assert_eq!(ask(Method::POST, &format!("/{pending}/retry")).value(), &Value::Null);
    assert_eq!(ask(Method::GET, &format!("/{pending}")).value()["runAt"], json!(app.now()));
    assert_eq!(ask(Method::POST, &format!("/{failed}/cancel")).code(), "NOT_FOUND");
    assert_eq!(ask(Method::POST, &format!("/{pending}/cancel")).value(), &Value::Null);
    assert_eq!(ask(Method::POST, &format!("/{failed}/retry")).value(), &Value::Null);
    assert_eq!(ask(Method::GET, &format!("/{pending}")).code(), "NOT_FOUND");
    let counts = ask(Method::GET, "").value()["counts"].clone();
    assert_eq!(counts, json!({ "pending": 1, "running": 0, "failed": 0 }));
    let wrong = ask(Method::GET, "?state=gone");
    assert_eq!((wrong.code(), &wrong.body["errorData"]["field"]), ("INVALID_ARGUMENT", &json!("state")));
    assert_eq!(ask(Method::GET, "/nonsense").code(), "INVALID_ARGUMENT");
    drop(door);
    app.run_due();
    app.failed_jobs();
}

#[test]
fn matching_schema_is_open_and_applying_it_changes_nothing() {
    let app = TestApp::new();
    let door = Door::of(&app);
    for (method, path) in [(Method::GET, "schema"), (Method::POST, "schema/apply")] {
        let reply = door.operator(method, &format!("/api/admin/{path}"), None);
        assert_eq!((&reply.value()["state"], &reply.value()["difference"]), (&json!("open"), &Value::Null));
        let named = |of: &str| {
            let tables = reply.value()[of].as_array().unwrap();
            tables.iter().find(|table| table["name"] == "counters").unwrap().clone()
        };
        let (code, database) = (named("tables"), named("database"));
        assert_eq!(code["prefix"], database["prefix"]);
        let held = database["columns"].as_array().unwrap();
        let count = held.iter().find(|column| column["name"] == "count").unwrap();
        assert_eq!(
            (&count["type"], &count["nullable"], &count["retired"]),
            (&json!("integer"), &json!(false), &json!(false))
        );
        assert_eq!(held.len(), code["columns"].as_array().unwrap().len());
        assert!(database["indexes"].as_array().unwrap().iter().all(|index| index["asInCode"] == true), "{database}");
    }
}
