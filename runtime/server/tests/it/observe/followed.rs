//! Live calls by the operator's door.

use std::time::Duration;

use convoke::testing::TestApp;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::admin::Door;

const LOGS: &str = "/api/admin/logs";

/// The next line that is not a sign of life.
async fn line(response: &mut Response, held: &mut Vec<u8>) -> Value {
    loop {
        if let Some(end) = held.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = held.drain(..=end).collect();
            if line.len() > 1 {
                return serde_json::from_slice(&line).unwrap();
            }
            continue;
        }
        let chunk = tokio::time::timeout(Duration::from_secs(60), response.chunk()).await.unwrap().unwrap();
        held.extend_from_slice(&chunk.expect("the stream goes on"));
    }
}

#[test]
fn scoped_key_follows_filtered_calls() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let key = door.key("watch", &["logs"]);
    let token = door.server.token("ada");
    door.server.call(Some(&token), "work/increment", &json!({ "name": "a" }));
    app.block_on(async {
        let route = format!("{LOGS}?follow=true&last=5&function=*/increment&outcome=ok");
        let mut response = door.open(Some(&key), Method::GET, &route, None).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/x-ndjson");
        let mut held = Vec::new();
        assert_eq!(line(&mut response, &mut held).await["logLines"], json!(["[INFO] incrementing a"]));
        for (path, body) in [
            ("work/nothing", r#"{"args":{}}"#),
            ("work/increment", r#"{"args":{}}"#),
            ("work/increment", r#"{"args":{"name":"b"}}"#),
        ] {
            door.server.post_async(Some(&token), &format!("/api/run/{path}"), body).await;
        }
        let second = line(&mut response, &mut held).await;
        assert_eq!(second["logLines"], json!(["[INFO] incrementing b"]), "the others were not asked for");
        assert_eq!((&second["subject"], &second["kind"]), (&json!("ada"), &json!("mutation")));
    });
}

#[test]
fn followed_calls_include_scheduled_ones_and_error_causes() {
    let app = TestApp::new();
    let door = Door::of(&app);
    app.user("ada").call("work/planBreakDown", json!({ "n": 1 }));
    app.advance(Duration::from_secs(60));
    app.failed_jobs();
    app.nobody().call("work/panicInQuery", json!({}));
    let key = door.key("watch", &["logs"]);
    let calls: Vec<Value> = app.block_on(async {
        let route = format!("{LOGS}?outcome=error");
        let text = door.open(Some(&key), Method::GET, &route, None).await.text().await.unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    });
    let of = |path: &str| calls.iter().filter(|call| call["function"] == path).collect::<Vec<_>>();
    let scheduled = of("work/breakDown");
    assert_eq!(scheduled.len(), 2, "both tries");
    assert!(
        scheduled
            .iter()
            .all(|call| call["scheduled"] == true && call["requestId"].as_str().unwrap().starts_with("job_"))
    );
    let panicked = of("work/panicInQuery");
    assert!(panicked[0]["error"].as_str().unwrap().contains("a bug in the query"), "{panicked:?}");
}

#[test]
fn unknown_outcome_and_wrong_method_are_rejected() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let reply = door.operator(Method::GET, &format!("{LOGS}?outcome=forbiden"), None);
    assert_eq!((reply.code(), &reply.body["errorData"]["field"]), ("INVALID_ARGUMENT", &json!("outcome")));
    let reply = door.operator(Method::POST, LOGS, Some(&json!({})));
    assert_eq!((reply.status, reply.headers["allow"].to_str().unwrap()), (405, "GET"));
}
