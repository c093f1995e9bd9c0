//! Access to the console.

use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use convoke::testing::TestApp;
use reqwest::Method;
use serde_json::json;

use super::Door;

const FUNCTIONS: &str = "/api/admin/functions";

#[test]
fn route_serves_a_scoped_key_and_the_operator_alike() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let key = door.key("ci", &["functions"]);
    let by_key = door.with(Some(&key), Method::GET, FUNCTIONS, None);
    let by_socket = door.operator(Method::GET, FUNCTIONS, None);
    assert_eq!((by_key.status, by_key.headers["content-type"].to_str().unwrap()), (200, "application/json"));
    assert_eq!(by_key.body, by_socket.body);
    let listed = by_key.value().as_array().unwrap();
    assert!(listed.iter().any(|one| one["path"] == "work/read" && one["kind"] == "query"), "{listed:?}");
}

#[test]
fn anonymous_and_user_callers_need_a_deploy_key() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let token = format!("Bearer {}", door.server.token("ada"));
    for credentials in [None, Some(token.as_str())] {
        let reply = door.with(credentials, Method::GET, FUNCTIONS, None);
        assert_eq!((reply.status, reply.code()), (401, "INVALID_CREDENTIALS"), "{}", reply.body);
        assert_eq!(reply.headers["www-authenticate"], "Convoke realm=\"convoke\"");
    }
}

#[test]
fn missing_scope_is_named() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let key = door.key("logs", &["logs"]);
    let run = json!({ "args": { "name": "a" } });
    for (method, route, body, scope) in [
        (Method::GET, FUNCTIONS, None, "functions"),
        (Method::GET, "/api/admin/keys", None, "keys"),
        (Method::POST, "/api/run/work/increment", Some(&run), "functions"),
        (Method::POST, "/api/mutation", Some(&run), "functions"),
    ] {
        let reply = door.with(Some(&key), method, route, body);
        assert_eq!((reply.status, reply.code()), (403, "INSUFFICIENT_SCOPE"), "{route}");
        assert_eq!(reply.body["errorMessage"], format!("deploy key lacks the scope `{scope}`"));
        let challenge = reply.headers["www-authenticate"].to_str().unwrap();
        assert!(challenge.contains("insufficient_scope"), "{challenge}");
    }
}

#[test]
fn wrong_method_is_405_and_unknown_path_is_404() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let reply = door.operator(Method::DELETE, "/api/admin/keys", None);
    assert_eq!((reply.status, reply.code()), (405, "METHOD_NOT_ALLOWED"));
    assert_eq!(reply.headers["allow"], "GET, POST");
    let reply = door.operator(Method::GET, "/api/admin/nothing", None);
    assert_eq!((reply.status, reply.code()), (404, "ROUTE_NOT_FOUND"));
}

#[test]
fn control_socket_is_private_serves_every_route_and_is_removed_at_exit() {
    let app = TestApp::new();
    let door = Door::of(&app);
    assert_eq!(std::fs::metadata(&door.path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(door.operator(Method::GET, "/healthz", None).body, json!({ "status": "ok" }));
    let called = door.operator(Method::POST, "/api/run/work/increment", Some(&json!({ "args": { "name": "a" } })));
    assert_eq!(called.body["logLines"], json!(["[INFO] incrementing a"]), "the operator always reads the lines");
    let path = door.path.clone();
    drop(door);
    app.block_on(async {
        for _ in 0..6_000 {
            if !path.exists() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("the socket is still there");
    });
}

#[test]
fn only_the_control_socket_accepts_calls_as_a_user() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let ada = STANDARD.encode(r#"{"issuer":"https://id.example","subject":"ada"}"#);
    let (who, body) = ("/api/run/work/who", json!({ "args": {} }));
    let reply = door.operator_as(Some(&ada), Method::POST, who, Some(&body));
    assert_eq!(reply.value(), "https://id.example|ada");
    let broken = door.operator_as(Some("e30="), Method::POST, who, Some(&body));
    assert_eq!((broken.status, broken.code()), (400, "BAD_REQUEST"));
    let outside = app.block_on(async {
        let url = format!("http://{}{who}", door.server.address());
        let request = reqwest::Client::new().post(url).header("x-convoke-act-as", &ada).json(&body);
        request.send().await.unwrap().json::<serde_json::Value>().await.unwrap()
    });
    assert_eq!(outside["value"], json!(null));
}
