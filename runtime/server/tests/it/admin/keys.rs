//! The life of a deploy key: made, used, given a new secret, taken back; and the record of it.

use std::time::Duration;

use convoke::testing::TestApp;
use reqwest::Method;
use serde_json::{Value, json};

use super::Door;

const KEYS: &str = "/api/admin/keys";
const RUN: &str = "/api/run/work/increment";

fn run(door: &Door<'_>, key: &str) -> (u16, String) {
    let reply = door.with(Some(key), Method::POST, RUN, Some(&json!({ "args": { "name": "a" } })));
    (reply.status, reply.body["errorMessage"].as_str().unwrap().to_owned())
}

fn listed(door: &Door<'_>, name: &str) -> Value {
    let keys = door.operator(Method::GET, KEYS, None);
    keys.value().as_array().unwrap().iter().find(|key| key["name"] == name).unwrap().clone()
}

#[test]
fn key_works_from_creation_until_revocation() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let key = door.key("ci", &["functions"]);
    assert_eq!(run(&door, &key), (200, String::new()));
    let revoked = door.operator(Method::POST, "/api/admin/keys/ci/revoke", None);
    assert_eq!(revoked.value()["state"], "revoked");
    assert_eq!(run(&door, &key), (401, "deploy key was revoked".to_owned()));
    assert_eq!(listed(&door, "ci")["state"], "revoked");
    // Neither a new secret nor a new key brings the name back.
    let again = door.operator(Method::POST, "/api/admin/keys/ci/rotate", None);
    assert_eq!(again.code(), "FAILED_PRECONDITION");
    let again = door.operator(Method::POST, KEYS, Some(&json!({ "name": "ci", "scopes": ["logs"] })));
    assert_eq!(again.code(), "CONFLICT");
}

#[test]
fn rotated_secret_is_accepted_during_the_overlap() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let first = door.key("ci", &["functions"]);
    let rotate = |overlap: u64| {
        let reply = door.operator(Method::POST, "/api/admin/keys/ci/rotate", Some(&json!({ "overlap": overlap })));
        format!("Convoke {}", reply.value()["key"].as_str().unwrap())
    };
    let second = rotate(60_000);
    assert_eq!((run(&door, &first).0, run(&door, &second).0), (200, 200));
    assert_eq!(listed(&door, "ci")["formerSecretUntil"], json!(app.now() + Duration::from_secs(60)));
    app.advance(Duration::from_secs(60));
    assert_eq!((run(&door, &first).0, run(&door, &second).0), (401, 200));
    let third = rotate(0);
    assert_eq!((run(&door, &second).0, run(&door, &third).0), (401, 200));
    rotate(60_000);
    door.operator(Method::POST, "/api/admin/keys/ci/revoke", None).value();
    assert_eq!(run(&door, &third).0, 401);
    assert_eq!(listed(&door, "ci")["formerSecretUntil"], json!(null), "a revoked key has no valid secret");
}

#[test]
fn expired_key_is_rejected_and_listed_as_expired() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let brief = json!({ "name": "brief", "scopes": ["functions"], "expiresIn": 1_000 });
    let made = door.operator(Method::POST, KEYS, Some(&brief));
    let key = format!("Convoke {}", made.value()["key"].as_str().unwrap());
    assert_eq!(run(&door, &key).0, 200);
    app.advance(Duration::from_secs(1));
    assert_eq!(run(&door, &key), (401, "deploy key has expired".to_owned()));
    assert_eq!(listed(&door, "brief")["state"], "expired");
}

#[test]
fn invalid_key_is_rejected_with_its_field() {
    let app = TestApp::new();
    let door = Door::of(&app);
    for (body, field) in [
        (json!({ "name": "a b", "scopes": ["logs"] }), "name"),
        (json!({ "name": "operator", "scopes": ["logs"] }), "name"),
        (json!({ "name": "a" }), "scopes"),
        (json!({ "name": "a", "scopes": [] }), "scopes"),
        (json!({ "name": "a", "scopes": null }), "scopes"),
        (json!({ "name": "a", "scopes": ["everything"] }), "scopes[0]"),
        (json!({ "name": "a", "scopes": ["logs"], "environment": "production" }), "environment"),
        (json!({ "name": "a", "scopes": ["logs"], "expiresIn": -1 }), "expiresIn"),
        (json!({ "name": "a", "scopes": ["logs"], "expiresIn": 9_000_000_000_000_000_u64 }), "expiresIn"),
    ] {
        let reply = door.operator(Method::POST, KEYS, Some(&body));
        assert_eq!((reply.code(), &reply.body["errorData"]["field"]), ("INVALID_ARGUMENT", &json!(field)), "{body}");
    }
    let unsaid = door.operator(Method::POST, KEYS, Some(&json!({ "name": "a" })));
    for scope in convoke_server::auth::deploy_key::Scope::ALL {
        let said = unsaid.body["errorMessage"].as_str().unwrap();
        assert!(said.contains(scope.as_str()) && said.contains(&scope.allows()), "{said}");
    }
    let unknown = door.operator(Method::POST, "/api/admin/keys/nobody/revoke", None);
    assert_eq!(unknown.code(), "NOT_FOUND");
}

#[test]
fn key_does_not_outlive_the_key_that_created_it() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let keeper = json!({ "name": "keeper", "scopes": ["keys", "functions"], "expiresIn": 60_000 });
    let keeper = door.operator(Method::POST, KEYS, Some(&keeper)).value()["key"].as_str().unwrap().to_owned();
    let create = |expires_in: Value| {
        let more = json!({ "name": "more", "scopes": ["functions"], "expiresIn": expires_in });
        door.with(Some(&format!("Convoke {keeper}")), Method::POST, KEYS, Some(&more))
    };
    for expires_in in [Value::Null, json!(61_000)] {
        let refused = create(expires_in);
        assert_eq!((refused.code(), &refused.body["errorData"]["field"]), ("INVALID_ARGUMENT", &json!("expiresIn")));
    }
    create(json!(30_000)).value();
}

#[test]
fn key_cannot_grant_scopes_that_it_lacks() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let keeper = door.key("keeper", &["keys", "functions"]);
    door.key("data", &["data"]);
    let create = |scopes: &[&str]| {
        door.with(Some(&keeper), Method::POST, KEYS, Some(&json!({ "name": "more", "scopes": scopes })))
    };
    let refused = create(&["functions", "data"]);
    assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_SCOPE"));
    assert_eq!(refused.body["errorData"]["scope"], "data");
    let rotated = door.with(Some(&keeper), Method::POST, "/api/admin/keys/data/rotate", None);
    assert_eq!((rotated.status, rotated.code()), (403, "INSUFFICIENT_SCOPE"));
    assert_eq!(create(&["functions"]).value()["createdBy"], "keeper");
}

#[test]
fn every_key_use_is_recorded_with_its_outcome() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let key = door.key("ci", &["functions"]);
    run(&door, &key);
    door.with(Some(&key), Method::POST, "/api/run/work/incrementAndRefuse", Some(&json!({ "args": {"name": "a"} })));
    door.with(Some(&key), Method::POST, "/api/query", Some(&json!({ "path": "work:nothing", "args": {} })));
    door.with(Some(&key), Method::POST, "/api/run/no/such", Some(&json!({ "args": {} })));
    door.with(Some(&key), Method::GET, KEYS, None);
    let record = door.operator(Method::GET, "/api/admin/audit?key=ci", None);
    let record = record.value()["items"].as_array().unwrap();
    let told: Vec<_> =
        record.iter().map(|used| (used["what"].as_str().unwrap(), used["outcome"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [
            ("GET keys", "INSUFFICIENT_SCOPE"),
            ("run no/such", "FUNCTION_NOT_FOUND"),
            ("query work/nothing", "OK"),
            ("mutation work/incrementAndRefuse", "FAILED_PRECONDITION"),
            ("mutation work/increment", "OK"),
        ]
    );
    for used in record {
        assert_eq!((&used["key"], &used["at"], &used["peer"]), (&json!("ci"), &json!(app.now()), &json!("127.0.0.1")));
        assert!(!used["requestId"].as_str().unwrap().is_empty());
    }
    let operators = door.operator(Method::GET, "/api/admin/audit?key=operator&limit=1", None);
    let newest = &operators.value()["items"][0];
    assert_eq!((&newest["what"], &newest["outcome"]), (&json!("GET audit"), &json!("OK")));
    assert_eq!(operators.value()["unwritten"], 0);
}

#[test]
fn stream_ends_after_its_key_is_revoked() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let (key, other) = (door.key("logs", &["logs"]), door.key("other", &["logs"]));
    let follow = "/api/admin/logs?follow=true";
    let (mut cut, mut kept) = app.block_on(async {
        (
            door.open(Some(&key), Method::GET, follow, None).await,
            door.open(Some(&other), Method::GET, follow, None).await,
        )
    });
    assert_eq!((cut.status().as_u16(), kept.status().as_u16()), (200, 200));
    door.operator(Method::POST, "/api/admin/keys/logs/revoke", None).value();
    app.block_on(async {
        let ended =
            tokio::time::timeout(Duration::from_secs(60), async { while cut.chunk().await.unwrap().is_some() {} });
        ended.await.expect("the stream of a revoked key goes on");
    });
    door.server.call(None, "work/increment", &json!({ "name": "a" }));
    let line = app.block_on(async { kept.chunk().await.unwrap().unwrap() });
    assert!(String::from_utf8_lossy(&line).contains("work/increment"));
}

#[test]
fn user_calls_are_not_key_uses_and_old_uses_expire() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let token = door.server.token("ada");
    door.server.call(Some(&token), "work/increment", &json!({ "name": "a" }));
    let record = door.operator(Method::GET, "/api/admin/audit", None);
    assert_eq!(record.value()["items"], json!([]));
    app.advance(Duration::from_secs(366 * 24 * 60 * 60));
    app.block_on(door.server.admin().remove_expired()).unwrap();
    let record = door.operator(Method::GET, "/api/admin/audit", None);
    assert_eq!(record.value()["items"], json!([]), "also that of the first look is gone");
}

#[test]
fn internal_functions_need_the_internal_scope() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let (usual, reaching) = (door.key("usual", &["functions"]), door.key("reaching", &["functions", "internal"]));
    let hidden = "/api/run/work/hidden";
    let run = |key: Option<&str>| door.with(key, Method::POST, hidden, Some(&json!({ "args": {} })));
    for key in [None, Some(&*usual)] {
        let refused = run(key);
        assert_eq!((refused.status, refused.code()), (400, "FUNCTION_NOT_FOUND"));
        assert!(!refused.body.to_string().contains("internal"), "it answers like an unknown function");
    }
    assert_eq!(run(Some(&reaching)).body["status"], "success");
    let by_kind = json!({ "path": "work:hidden", "args": {} });
    assert_eq!(door.with(Some(&reaching), Method::POST, "/api/mutation", Some(&by_kind)).body["status"], "success");
    assert_eq!(door.operator(Method::POST, hidden, Some(&json!({ "args": {} }))).body["status"], "success");
    let record = door.operator(Method::GET, "/api/admin/audit?key=reaching", None);
    assert!(record.body.to_string().contains("work/hidden"), "{}", record.body);
}
