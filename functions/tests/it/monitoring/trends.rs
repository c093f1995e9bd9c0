//! `getPerformanceTrends`.

use std::time::Duration;

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use serde_json::{Value, json};

const TRENDS: &str = "monitoring/performanceQueries/getPerformanceTrends";
const ME: &str = "users/queries/getCurrentUser";

fn trends(caller: &TestCaller<'_>, args: Value) -> Value {
    caller.call(TRENDS, args).value().clone()
}

fn counts(trends: &Value) -> Vec<(i64, i64)> {
    let series = trends["timeSeries"].as_array().unwrap();
    series.iter().map(|point| (point["callCount"].as_i64().unwrap(), point["errorCount"].as_i64().unwrap())).collect()
}

fn calls(caller: &TestCaller<'_>, count: usize) {
    for _ in 0..count {
        caller.call(ME, json!({})).value();
    }
}

#[test]
fn buckets_are_contiguous_aligned_and_end_with_this_moment() {
    let app = TestApp::new();
    let ada = app.user("ada");
    app.clock().advance(Duration::from_millis(90_123));
    for (args, size, count) in [
        (json!({}), 60_000, 60),
        (json!({"bucketSizeMs": 1_000, "timeWindowMs": 10_000}), 1_000, 10),
        (json!({"bucketSizeMs": 7_000, "timeWindowMs": 10_000}), 7_000, 2),
        (json!({"bucketSizeMs": 86_400_000, "timeWindowMs": 1_000}), 86_400_000, 1),
        (json!({"bucketSizeMs": 1_000, "timeWindowMs": 2_000_000}), 1_000, 2_000),
        (json!({"bucketSizeMs": 302_400, "timeWindowMs": 604_800_000}), 302_400, 2_000),
    ] {
        let trends = trends(&ada, args.clone());
        let begins: Vec<i64> =
            trends["timeSeries"].as_array().unwrap().iter().map(|point| point["timestamp"].as_i64().unwrap()).collect();
        let now = app.now().get();
        assert_eq!(begins.len(), count, "{args}");
        assert_eq!(begins[count - 1], now / size * size, "{args}");
        assert!(begins.iter().all(|begin| begin % size == 0), "{args}");
        assert!(begins.windows(2).all(|pair| pair[1] - pair[0] == size), "{args}");
    }
}

#[test]
fn more_buckets_than_a_chart_shows_are_refused() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for (size, window) in [(1_000, 2_000_001), (1_000, 604_800_000), (302_399, 604_800_000)] {
        let refused = ada.call(TRENDS, json!({"bucketSizeMs": size, "timeWindowMs": window}));
        refused.assert_refused(Code::InvalidArgument, "Too many buckets (max 2000)");
        assert_eq!(refused.field(), Some("bucketSizeMs"));
    }
    for (args, field) in [
        (json!({"bucketSizeMs": 999}), "bucketSizeMs"),
        (json!({"bucketSizeMs": 86_400_001}), "bucketSizeMs"),
        (json!({"timeWindowMs": 999}), "timeWindowMs"),
        (json!({"timeWindowMs": 604_800_001}), "timeWindowMs"),
        (json!({"bucketSizeMs": 1_000.5}), "bucketSizeMs"),
        (json!({"functionName": ""}), "functionName"),
    ] {
        let refused = ada.call(TRENDS, args);
        assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some(field)));
    }
}

#[test]
fn every_call_up_to_this_moment_is_counted_with_its_errors() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let asked = json!({"functionName": ME, "bucketSizeMs": 1_000, "timeWindowMs": 3_000});
    calls(&ada, 3);
    app.clock().advance(Duration::from_secs(1));
    calls(&ada, 1);
    app.nobody().call(ME, json!({})).error();
    ada.call(ME, json!({"surprise": 1})).error();
    app.clock().advance(Duration::from_secs(1));
    calls(&ada, 2);
    let trends = trends(&ada, asked);
    assert_eq!(counts(&trends), [(3, 0), (3, 2), (2, 0)]);
    let second = &trends["timeSeries"][1];
    assert!((second["successRate"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    let (mean, p95) = (second["avgLatency"].as_f64().unwrap(), second["p95Latency"].as_f64().unwrap());
    assert!(0.0 < mean && mean <= p95 * 1.002 && p95 < 10_000.0, "{mean} {p95}");
}

#[test]
fn an_empty_bucket_has_no_latency_and_no_failure() {
    let app = TestApp::new();
    let trends = trends(&app.user("ada"), json!({"functionName": ME, "bucketSizeMs": 1_000, "timeWindowMs": 2_000}));
    let now = app.now().get();
    let empty = |at: i64| {
        json!({
            "timestamp": at, "callCount": 0, "errorCount": 0, "avgLatency": 0.0, "p95Latency": 0.0, "successRate": 1.0,
        })
    };
    assert_eq!(trends["timeSeries"], json!([empty(now - 1_000), empty(now)]));
    let stable = json!({"errorTrend": "stable", "latencyTrend": "stable", "throughputTrend": "stable"});
    assert_eq!(trends["trends"], stable);
}

#[test]
fn a_function_is_named_by_path_or_by_its_bare_name() {
    let app = TestApp::new();
    let ada = app.user("ada");
    calls(&ada, 4);
    ada.call("meetings/lifecycle/createMeeting", json!({"title": "x"})).value();
    let one = |name: Value| {
        counts(&trends(&ada, json!({"functionName": name, "bucketSizeMs": 60_000, "timeWindowMs": 1_000})))[0].0
    };
    for name in [ME, "users/queries:getCurrentUser", "getCurrentUser"] {
        assert_eq!(one(json!(name)), 4, "{name}");
    }
    assert_eq!(one(json!("createMeeting")), 1);
    for name in ["unknown", "users/queries/unknown", "queries/getCurrentUser"] {
        assert_eq!(one(json!(name)), 0, "{name}");
    }
    // All functions together have at least these calls, with or without the identity hook and these queries.
    assert!(one(Value::Null) >= 5 + 7);
}

#[test]
fn throughput_and_errors_have_a_direction() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let asked = json!({"functionName": ME, "bucketSizeMs": 1_000, "timeWindowMs": 6_000});
    for count in [2, 4, 6, 8, 10] {
        calls(&ada, count);
        app.clock().advance(Duration::from_secs(1));
    }
    let rising = trends(&ada, asked.clone());
    assert_eq!(rising["trends"]["throughputTrend"], "increasing");
    assert_eq!(rising["trends"]["errorTrend"], "stable");
    app.clock().advance(Duration::from_secs(60));
    for errors in [5, 4, 3, 2, 1] {
        calls(&ada, 10 - errors);
        for _ in 0..errors {
            app.nobody().call(ME, json!({})).error();
        }
        app.clock().advance(Duration::from_secs(1));
    }
    let falling = trends(&ada, asked);
    assert_eq!(falling["trends"]["errorTrend"], "improving");
    assert_eq!(falling["trends"]["throughputTrend"], "stable");
}

#[test]
fn the_bucket_under_way_is_no_drop() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for _ in 0..4 {
        calls(&ada, 10);
        app.clock().advance(Duration::from_secs(1));
    }
    calls(&ada, 1);
    let trends = trends(&ada, json!({"functionName": ME, "bucketSizeMs": 1_000, "timeWindowMs": 5_000}));
    assert_eq!(counts(&trends).iter().map(|count| count.0).collect::<Vec<_>>(), [10, 10, 10, 10, 1]);
    assert_eq!(trends["trends"]["throughputTrend"], "stable");
}

#[test]
fn figures_are_kept_through_a_restart() {
    let mut app = TestApp::new();
    calls(&app.user("ada"), 5);
    app.clock().advance(Duration::from_secs(90));
    app.block_on(app.runtime().store_performance()).unwrap();
    app.restart();
    calls(&app.user("ada"), 2);
    let trends = trends(&app.user("ada"), json!({"functionName": ME, "timeWindowMs": 120_000}));
    assert_eq!(counts(&trends).iter().map(|count| count.0).sum::<i64>(), 7);
}

#[test]
fn any_user_and_a_deploy_key_may_ask() {
    let app = TestApp::new();
    let unauthenticated = "Authentication required";
    app.nobody().call(TRENDS, json!({})).assert_refused(Code::Unauthenticated, unauthenticated);
    trends(&app.user("ada"), json!({}));
    trends(&app.deploy_key(&["admin"]), json!({}));
    trends(&app.deploy_key(&["admin"]).acting_as("ada"), json!({}));
}
