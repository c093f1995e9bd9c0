//! The limit of bytes that one user may write.

use std::time::Duration;

use convoke::Code;
use convoke::testing::TestApp;
use serde_json::json;

use super::functions::Text;

/// 10,000 bytes at once, and 1,000 more a second.
fn app() -> TestApp {
    TestApp::with(|options| {
        options.limits.user_bytes_written_burst = 10_000;
        options.limits.user_bytes_written_per_hour = 3_600_000;
    })
}

const FILL: &str = "call/functions/fill";

#[test]
fn exceeded_write_quota_returns_a_retry_time() {
    let app = app();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    ada.call(FILL, json!({ "name": "first", "length": 8_000 })).value();
    let refused = ada.call(FILL, json!({ "name": "second", "length": 8_000 }));
    assert_eq!(refused.code(), "RATE_LIMITED");
    let wait_ms = refused.data()["retryAfterMs"].as_u64().unwrap();
    let wait_s = wait_ms.div_ceil(1_000);
    assert_eq!(
        refused.message(),
        format!(
            "Too much written: the limits are 3 MiB per hour and 10000 bytes in one burst. Write less, or try again in {wait_s} s"
        )
    );
    assert_eq!(app.count::<Text>(), 1, "what was refused is not stored");

    // What is small still fits, others have bytes of their own, and the operator is not counted.
    ada.call(FILL, json!({ "name": "small", "length": 10 })).value();
    bob.call(FILL, json!({ "name": "of bob", "length": 8_000 })).value();
    for n in 0..3 {
        let name = format!("of the operator {n}");
        app.deploy_key(&["functions"]).call(FILL, json!({ "name": name, "length": 18_000 })).value();
    }
    let as_ada = app.deploy_key(&["functions", "act-as"]).acting_as("ada");
    assert_eq!(as_ada.call(FILL, json!({ "name": "for ada", "length": 8_000 })).code(), "RATE_LIMITED");
    assert_eq!(ada.call("call/functions/read", json!({ "name": "a" })).value(), &json!(0));

    app.clock().advance(Duration::from_millis(wait_ms) + Duration::from_millis(150));
    ada.call(FILL, json!({ "name": "second", "length": 8_000 })).value();
}

#[test]
fn oversized_write_passes_with_a_full_quota() {
    let app = app();
    let ada = app.user("ada");
    ada.call("call/functions/increment", json!({ "name": "a" })).value();
    app.clock().advance(Duration::from_secs(10));
    ada.call(FILL, json!({ "name": "large", "length": 60_000 })).value();
    let refused = ada.call("call/functions/increment", json!({ "name": "a" }));
    assert_eq!(refused.code(), "RATE_LIMITED");
    assert!(refused.data()["retryAfterMs"].as_u64().unwrap() > 50_000, "{:?}", refused.data());
}

#[test]
fn failed_call_uses_no_write_quota() {
    let app = app();
    let ada = app.user("ada");
    for _ in 0..200 {
        let reply = ada.call("call/functions/incrementAndRefuse", json!({ "name": "a".repeat(1_000) }));
        assert_eq!(reply.error().code(), Code::FailedPrecondition);
    }
    ada.call(FILL, json!({ "name": "first", "length": 8_000 })).value();
}

#[test]
fn write_quota_can_be_disabled() {
    for (burst, per_hour) in [(0, 3_600), (10_000, 0)] {
        let app = TestApp::with(|options| {
            options.limits.user_bytes_written_burst = burst;
            options.limits.user_bytes_written_per_hour = per_hour;
        });
        for n in 0..3 {
            app.user("ada").call(FILL, json!({ "name": n.to_string(), "length": 50_000 })).value();
        }
    }
}

#[test]
fn job_of_a_user_ignores_but_consumes_the_write_quota() {
    let app = app();
    let ada = app.user("ada");
    let plan = || ada.call("scheduler/functions/planAsCaller", json!({ "n": 1, "afterMs": 0 }));
    let planned = std::iter::repeat_with(plan).take_while(|reply| reply.is_success()).count();
    assert!(planned > 5, "{planned}");
    assert_eq!(app.run_due(), planned);
    assert_eq!(app.failed_jobs().len(), 0);
    // What they wrote is still to be made up for.
    let wait_ms = plan().data()["retryAfterMs"].as_u64().unwrap();
    app.clock().advance(Duration::from_millis(500));
    assert_eq!(plan().data()["retryAfterMs"].as_u64().unwrap(), wait_ms - 500);
    assert!(wait_ms > 1_000, "{wait_ms}");
}
