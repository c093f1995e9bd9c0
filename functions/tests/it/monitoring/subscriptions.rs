//! `getSubscriptionMetrics`: visible subscriptions and their statistics.

use std::time::Duration;

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use serde_json::{Value, json};

use crate::support::{admin, claims, id_of, meeting, member};

const METRICS: &str = "monitoring/performanceQueries/getSubscriptionMetrics";

fn validate(app: &TestApp, caller: &TestCaller<'_>, meeting: &str, id: &str) {
    let args = json!({
        "lastValidated": app.now().get(), "resourceId": meeting, "resourceType": "notes", "subscriptionId": id,
    });
    let reply = caller.call("realtime/subscriptions/validateSubscription", args);
    assert_eq!(reply.value()["valid"], true);
}

fn metrics(caller: &TestCaller<'_>, args: Value) -> Value {
    caller.call(METRICS, args).value().clone()
}

fn ids(metrics: &Value) -> Vec<&str> {
    let list = metrics["subscriptions"].as_array().unwrap();
    list.iter().map(|entry| entry["subscriptionId"].as_str().unwrap()).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn user_sees_metrics_of_own_subscriptions_in_order_of_opening() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    validate(&app, &ada, &id, "z");
    validate(&app, &bob, &id, "b");
    app.clock().advance(Duration::from_secs(2));
    validate(&app, &ada, &id, "a");
    app.clock().advance(Duration::from_secs(2));
    let updated = app.now().get();
    validate(&app, &ada, &id, "z");
    app.clock().advance(Duration::from_secs(4));

    let metrics = metrics(&ada, json!({}));

    assert_eq!(ids(&metrics), ["z", "a"]);
    let first = &metrics["subscriptions"][0];
    let latency = first["avgLatency"].as_f64().unwrap();
    assert!(0.0 < latency && latency < 1_000.0);
    assert_eq!(
        first,
        &json!({
            "subscriptionId": "z", "durationMs": 8_000, "updateCount": 2, "avgLatency": latency,
            "updatesPerSecond": 0.25, "errors": 0, "lastUpdate": updated, "sloCompliant": latency <= 150.0,
        })
    );
    let mean = f64::midpoint(0.25, 1.0 / 6.0);
    let stats = &metrics["globalStats"];
    assert_eq!((&stats["totalActiveSubscriptions"], &stats["totalUpdates"]), (&json!(2), &json!(3)));
    assert!((stats["avgUpdatesPerSecond"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert_eq!(metrics["bandwidthStats"], json!({"activeSubscriptions": 3, "totalUpdates": 4}));
}

#[test]
fn subscription_validated_too_often_is_not_compliant() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for _ in 0..10 {
        validate(&app, &ada, &id, "s");
    }
    let compliant = |metrics: &Value| metrics["subscriptions"][0]["updatesPerSecond"].as_f64().unwrap();
    let at_the_limit = metrics(&ada, json!({}));
    assert!((compliant(&at_the_limit) - 10.0).abs() < 1e-12, "less than a second counts as one");
    assert_eq!(at_the_limit["globalStats"]["sloBreaches"], 0);
    validate(&app, &ada, &id, "s");
    let over = metrics(&ada, json!({}));
    assert_eq!(
        (&over["subscriptions"][0]["sloCompliant"], &over["globalStats"]["sloBreaches"]),
        (&json!(false), &json!(1))
    );
}

#[test]
fn admin_sees_own_organization_and_deploy_key_sees_all() {
    let app = TestApp::new();
    let (ada, bob, sue) = (member(&app, "ada", "north"), member(&app, "bob", "north"), member(&app, "sue", "south"));
    let (free, root) = (app.user("free"), admin(&app, "root", "north"));
    let lone = app.identity(convoke::Identity { roles: vec!["admin".to_owned()], ..claims("lone") });
    for (caller, id) in [(&ada, "a"), (&sue, "s"), (&bob, "b"), (&free, "f"), (&root, "r"), (&lone, "l")] {
        validate(&app, caller, &meeting(caller, &[]), id);
    }
    for (caller, seen) in [
        (&ada, vec!["a"]),
        (&free, vec!["f"]),
        (&root, vec!["a", "b", "r"]),
        (&lone, vec!["l"]),
        (&app.deploy_key(&["admin"]), vec!["a", "s", "b", "f", "r", "l"]),
        (&app.deploy_key(&["admin"]).acting_as("sue"), vec!["s"]),
    ] {
        let metrics = metrics(caller, json!({}));
        assert_eq!(ids(&metrics), seen);
        assert_eq!(metrics["globalStats"]["totalActiveSubscriptions"], seen.len());
        assert_eq!(metrics["bandwidthStats"]["activeSubscriptions"], 6);
    }
    assert_eq!(ids(&metrics(&root, json!({"subscriptionId": "b"}))), ["b"]);
    assert_eq!(ids(&metrics(&root, json!({"subscriptionId": "s"}))), NOTHING);
}

#[test]
fn subscription_id_selects_own_subscription_only() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    for (caller, name) in [(&ada, "a1"), (&ada, "a2"), (&bob, "b1")] {
        validate(&app, caller, &id, name);
    }
    assert_eq!(ids(&metrics(&ada, json!({"subscriptionId": "a2"}))), ["a2"]);
    assert_eq!(ids(&metrics(&ada, json!({"subscriptionId": "b1"}))), NOTHING);
    assert_eq!(ids(&metrics(&ada, json!({"subscriptionId": "x"}))), NOTHING);
    let refused = ada.call(METRICS, json!({"subscriptionId": "a b"}));
    assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some("subscriptionId")));
}

#[test]
fn without_subscriptions_everything_is_zero() {
    let app = TestApp::new();
    app.nobody().call(METRICS, json!({})).assert_refused(Code::Unauthenticated, "Authentication required");
    assert_eq!(
        metrics(&app.user("ada"), json!({})),
        json!({
            "subscriptions": [],
            "globalStats": {
                "totalActiveSubscriptions": 0, "totalUpdates": 0, "avgUpdatesPerSecond": 0.0, "sloBreaches": 0,
            },
            "bandwidthStats": {"activeSubscriptions": 0, "totalUpdates": 0},
        })
    );
}

#[test]
fn the_process_is_counted_over_the_last_minute() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let passed = || metrics(&ada, json!({}))["bandwidthStats"].clone();
    validate(&app, &ada, &id, "s1");
    validate(&app, &ada, &id, "s1");
    app.clock().advance(Duration::from_secs(30));
    validate(&app, &ada, &id, "s2");
    validate(&app, &ada, &id, "s3");
    assert_eq!(passed(), json!({"activeSubscriptions": 3, "totalUpdates": 4}));
    ada.call("realtime/subscriptions/terminateSubscription", json!({"subscriptionId": "s2"})).value();
    assert_eq!(passed(), json!({"activeSubscriptions": 2, "totalUpdates": 4}));
    app.clock().advance(Duration::from_secs(30));
    assert_eq!(passed(), json!({"activeSubscriptions": 1, "totalUpdates": 2}));
    app.clock().advance(Duration::from_secs(60));
    assert_eq!(passed(), json!({"activeSubscriptions": 0, "totalUpdates": 0}));
    assert_eq!(metrics(&ada, json!({}))["globalStats"]["totalActiveSubscriptions"], 2, "the leases go on");
}
