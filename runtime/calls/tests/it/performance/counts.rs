//! Counters of calls.

use std::time::Duration;

use convoke::Millis;
use convoke::testing::{START, TestApp};
use convoke_calls::function::Kind;
use convoke_calls::performance::Bucket;
use serde_json::json;

const ANSWER: &str = "performance/functions/answer";

pub(super) fn series(app: &TestApp, name: Option<&str>, from: Millis, end: Millis, bucket: Duration) -> Vec<Bucket> {
    let name = name.map(str::to_owned);
    app.block_on(app.performance(move |performance| performance.series(name.as_deref(), from, end, bucket))).unwrap()
}

#[test]
fn every_call_is_counted_with_its_outcome() {
    let app = TestApp::new();
    for fail in [false, true, false] {
        app.nobody().call(ANSWER, json!({ "fail": fail }));
    }
    app.nobody().call("performance/functions/stumbleOver", json!({}));
    app.nobody().call(ANSWER, json!({ "fail": "perhaps" }));
    app.clock().advance(Duration::from_secs(3));
    app.nobody().call(ANSWER, json!({ "fail": false }));
    let args = json!({ "name": ANSWER, "windowMs": 3_000, "bucketMs": 1_000 });
    let course = app.nobody().call("performance/functions/course", args).value().clone();
    let start = START.0 as f64;
    assert_eq!(
        course,
        json!([[start, 4.0, 2.0], [start + 1e3, 0.0, 0.0], [start + 2e3, 0.0, 0.0], [start + 3e3, 1.0, 0.0]])
    );
    let all = series(&app, None, START, START + Duration::from_secs(1), Duration::from_secs(1));
    assert_eq!((all[0].calls, all[0].errors), (5, 3));
}

#[test]
fn function_is_found_by_either_path_spelling_or_bare_name() {
    let app = TestApp::new();
    app.nobody().call(ANSWER, json!({ "fail": false }));
    let second = Duration::from_secs(1);
    for (name, calls) in [
        (ANSWER, 1),
        ("performance/functions:answer", 1),
        ("answer", 1),
        ("stumbleOver", 0),
        ("unknown", 0),
        ("functions/answer", 0),
        ("", 0),
    ] {
        assert_eq!(series(&app, Some(name), START, START + second, second)[0].calls, calls, "{name}");
    }
}

#[test]
fn calls_of_the_scheduler_are_counted_and_marked() {
    let app = TestApp::new();
    app.nobody().call("performance/functions/planLater", json!({}));
    app.run_due();
    let found = app.block_on(app.performance(|performance| performance.breakdown(START, Millis(i64::MAX)))).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|one| (&*one.function, one.kind, one.stats.calls, one.stats.scheduled, one.stats.errors))
        .collect();
    let path = |name| format!("performance/functions/{name}");
    assert_eq!(
        found,
        [(&*path("later"), Some(Kind::Mutation), 1, 1, 0), (&*path("planLater"), Some(Kind::Mutation), 1, 0, 0)]
    );
}

#[test]
fn buckets_are_contiguous_multiples_of_their_size() {
    let app = TestApp::new();
    app.clock().set(START + Duration::from_millis(12_345));
    app.record_call(ANSWER, Duration::from_millis(10), true);
    app.record_call(ANSWER, Duration::from_millis(30), false);
    let (from, end) = (START + Duration::from_millis(3_500), START + Duration::from_millis(20_001));
    let found = series(&app, Some(ANSWER), from, end, Duration::from_secs(7));
    let size = 7_000;
    assert!(found.iter().all(|bucket| bucket.timestamp.0 % size == 0));
    assert!(found.windows(2).all(|pair| pair[1].timestamp.0 - pair[0].timestamp.0 == size));
    assert!(found[0].timestamp <= from && found[0].timestamp.0 + size > from.0);
    let last = found.last().unwrap().timestamp;
    assert!(last < end && last.0 + size >= end.0);
    let full: Vec<_> = found.iter().filter(|bucket| bucket.calls > 0).collect();
    assert_eq!(full.len(), 1);
    assert_eq!((full[0].calls, full[0].errors, full[0].avg_latency_ms()), (2, 1, 20.0));
    assert_eq!(full[0].success_rate(), 0.5);
    assert!((full[0].p95_us - 30_000.0).abs() <= 30.0 && (full[0].p50_us - 10_000.0).abs() <= 10.0);
    assert_eq!((found[0].success_rate(), found[0].avg_latency_ms(), found[0].p95_us), (1.0, 0.0, 0.0));
}
