//! Live connections as the operator sees them.

use std::time::Duration;

use convoke::testing::TestApp;
use reqwest::Method;
use serde_json::json;

use super::Door;

#[test]
fn live_connection_is_listed_updated_and_closable() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let token = format!("Bearer {}", door.server.token("ada"));
    let body = json!({ "queries": [{ "path": "work/read", "args": { "name": "a" } }] });
    let mut stream = app.block_on(async {
        let mut stream = door.open(Some(&token), Method::POST, "/api/live", Some(&body)).await;
        let first = stream.chunk().await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&first).contains("event: results"), "{first:?}");
        stream
    });
    let listed = door.operator(Method::GET, "/api/admin/live", None);
    let connections = listed.value()["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 1);
    let one = &connections[0];
    assert!(one["identity"].as_str().unwrap().ends_with("|ada"), "{one}");
    assert_eq!(
        (&one["queries"][0]["path"], &one["queries"][0]["args"]),
        (&json!("work/read"), &json!("{\"name\":\"a\"}"))
    );
    assert!(one["bytes"].as_u64().unwrap() > 0 && one["lagMs"] == 0, "{one}");

    let added =
        door.operator(Method::POST, "/api/admin/tables/counters", Some(&json!({ "set": { "name": "a", "count": 7 } })));
    assert_eq!(added.status, 200);
    let told = app.block_on(async { stream.chunk().await.unwrap().unwrap() });
    assert!(String::from_utf8_lossy(&told).contains('7'), "{told:?}");

    let path = format!("/api/admin/live/{}", one["number"]);
    assert_eq!(door.operator(Method::DELETE, &path, None).status, 200);
    let end = app.block_on(async {
        tokio::time::timeout(Duration::from_secs(30), async {
            let mut text = String::new();
            while let Some(chunk) = stream.chunk().await.unwrap() {
                text.push_str(&String::from_utf8_lossy(&chunk));
            }
            text
        })
        .await
        .expect("it ends")
    });
    assert!(end.contains("event: end") && end.contains("UNAVAILABLE"), "{end}");
    app.block_on(async {
        for _ in 0..3_000 {
            if app.runtime().live().clients().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the connection is still there");
    });
    assert_eq!(door.operator(Method::DELETE, &path, None).code(), "NOT_FOUND");
    let key = door.key("looks", &["logs"]);
    assert_eq!(door.with(Some(&key), Method::GET, "/api/admin/live", None).status, 403);
}
