//! Connection reports of clients, and their rating.

use std::time::Duration;

use convoke::testing::TestApp;
use serde_json::{Value, json};

use super::{active, report, report_with};
use crate::support::meeting;

#[test]
fn figures_are_rated_by_the_worst_of_them() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for (metadata, quality) in [
        (json!({"packetLoss": 0.5, "latency": 100, "jitter": 30, "bitrate": 100_000}), "excellent"),
        (json!({"packetLoss": 0.6}), "good"),
        (json!({"latency": 101}), "good"),
        (json!({"packetLoss": 2.1}), "fair"),
        (json!({"latency": 151}), "fair"),
        (json!({"jitter": 31}), "fair"),
        (json!({"latency": 10, "bitrate": 99_999}), "fair"),
        (json!({"packetLoss": 5.1}), "poor"),
        (json!({"latency": 301}), "poor"),
        (json!({"jitter": 51}), "poor"),
        (json!({"packetLoss": 9, "connectionQuality": "good"}), "good"),
        (json!({"connectionQuality": "fair"}), "fair"),
        (json!({"packetLoss": 9, "connectionQuality": "great"}), "poor"),
    ] {
        app.advance(Duration::from_secs(1));
        report_with(&ada, &id, "s1", "connected", metadata.clone()).value();
        let session = &active(&ada, &id)[0];
        assert_eq!(session["connectionQuality"], quality, "{metadata}");
        assert_eq!(session["lastMetricsAt"], app.now().get(), "{metadata}");
    }
}

#[test]
fn invalid_metrics_do_not_change_the_rating() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    report_with(&ada, &id, "s1", "connected", json!({"device": "laptop", "latency": -1, "jitter": "9"})).value();
    let session = &active(&ada, &id)[0];
    assert_eq!((session.get("connectionQuality"), session.get("lastMetricsAt")), (None, None));
    report_with(&ada, &id, "s1", "connected", json!({"latency": 200})).value();
    let rated = app.now().get();
    app.advance(Duration::from_secs(1));
    report_with(&ada, &id, "s1", "connected", json!({"muted": true})).value();
    report(&ada, &id, "s1", "disconnected").value();
    let session = &active(&ada, &id)[0];
    assert_eq!((&session["connectionQuality"], &session["lastMetricsAt"]), (&json!("fair"), &json!(rated)));
}

#[test]
fn metadata_is_merged_key_by_key_within_its_bounds() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    report_with(&ada, &id, "s1", "connecting", json!({"device": "laptop", "muted": true})).value();
    report_with(&ada, &id, "s1", "connected", json!({"muted": false, "camera": "front"})).value();
    report(&ada, &id, "s1", "connected").value();
    let merged = json!({"device": "laptop", "muted": false, "camera": "front"});
    assert_eq!(active(&ada, &id)[0]["metadata"], merged);

    let many: Value = (0..30).map(|key| (format!("k{key}"), json!(key))).collect::<serde_json::Map<_, _>>().into();
    let refused = report_with(&ada, &id, "s1", "disconnected", many);
    assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some("metadata")));
    assert_eq!(refused.message(), "metadata: must be an object of at most 32 members (got 33)");
    let session = &active(&ada, &id)[0];
    assert_eq!((&session["metadata"], &session["state"]), (&merged, &json!("connected")), "nothing of it was applied");

    let nested = report_with(&ada, &id, "s1", "connected", json!({"a": {"b": 1}}));
    assert_eq!((nested.code(), nested.field()), ("INVALID_ARGUMENT", Some("metadata.a")));
}
