//! Secrets that the operator sets and removes while the server runs.

use std::os::unix::fs::PermissionsExt as _;

use convoke::testing::TestApp;
use reqwest::Method;
use serde_json::{Value, json};

use super::Door;

const SECRETS: &str = "/api/admin/secrets";

fn named(door: &Door<'_>, name: &str) -> Option<Value> {
    let listed = door.operator(Method::GET, SECRETS, None);
    listed.value()["items"].as_array().unwrap().iter().find(|item| item["name"] == name).cloned()
}

#[test]
fn secret_is_set_used_removed_and_never_shown() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let route = format!("{SECRETS}/API_KEY");
    let set = |value: &str| door.operator(Method::POST, &route, Some(&json!({ "value": value })));
    assert_eq!(*set("hush hush").value(), json!({ "restart": false }));
    assert_eq!(app.secret("API_KEY").unwrap().expose(), "hush hush");
    assert_eq!(*set("changed").value(), json!({ "restart": false }));
    assert_eq!(app.secret("API_KEY").unwrap().expose(), "changed");
    let listed = door.operator(Method::GET, SECRETS, None);
    assert_eq!(named(&door, "API_KEY").unwrap()["own"], true);
    assert!(!listed.body.to_string().contains("changed"));
    let file = app.store().folder().join("secrets/API_KEY");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    door.operator(Method::DELETE, &route, None).value();
    assert!(app.secret("API_KEY").is_err() && named(&door, "API_KEY").is_none());
    assert_eq!(door.operator(Method::DELETE, &route, None).code(), "NOT_FOUND");
    let record = door.operator(Method::GET, "/api/admin/audit", None).body.to_string();
    assert!(record.contains("POST secrets/API_KEY") && !record.contains("hush"), "{record}");
}

#[test]
fn secret_needs_its_scope_and_a_valid_name_and_value() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let other = door.key("other", &["data", "keys", "functions"]);
    for method in [Method::GET, Method::POST] {
        let route = if method == Method::GET { SECRETS.to_owned() } else { format!("{SECRETS}/API_KEY") };
        let refused = door.with(Some(&other), method, &route, Some(&json!({ "value": "x" })));
        assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_SCOPE"));
    }
    let keeper = door.key("keeper", &["secrets"]);
    let set = |name: &str, value: &str| {
        let route = format!("{SECRETS}/{name}");
        door.with(Some(&keeper), Method::POST, &route, Some(&json!({ "value": value })))
    };
    set("API_KEY", "x").value();
    for (name, value, field) in [("lower", "x", "name"), ("API_KEY", " ", "value"), ("API_KEY", "a\0b", "value")] {
        let refused = set(name, value);
        assert_eq!(
            (refused.code(), &refused.body["errorData"]["field"]),
            ("INVALID_ARGUMENT", &json!(field)),
            "{name}"
        );
    }
    assert_eq!(app.secret("API_KEY").unwrap().expose(), "x");
}
