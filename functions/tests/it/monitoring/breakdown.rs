//! `getFunctionBreakdown`.

use std::time::Duration;

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use serde_json::{Value, json};

const BREAKDOWN: &str = "monitoring/performanceQueries/getFunctionBreakdown";
const ME: &str = "users/queries/getCurrentUser";
const CREATE: &str = "meetings/lifecycle/createMeeting";

fn breakdown(caller: &TestCaller<'_>, args: Value) -> Value {
    caller.call(BREAKDOWN, args).value().clone()
}

fn of<'a>(breakdown: &'a Value, name: &str) -> Option<&'a Value> {
    breakdown["functions"].as_array().unwrap().iter().find(|function| function["functionName"] == name)
}

#[test]
fn functions_stand_side_by_side_with_their_sum() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for _ in 0..3 {
        ada.call(ME, json!({})).value();
    }
    app.nobody().call(ME, json!({})).error();
    ada.call(CREATE, json!({"title": "x"})).value();

    let breakdown = breakdown(&ada, json!({}));

    let me = of(&breakdown, ME).unwrap();
    assert_eq!((&me["callCount"], &me["errorCount"], &me["successRate"]), (&json!(4), &json!(1), &json!(0.75)));
    let figure = |name: &str| me[name].as_f64().unwrap();
    // The speed of this machine does not matter: the result must be consistent.
    assert_eq!(me["sloCompliant"], figure("p95") <= 120.0 && figure("p99") <= 250.0);
    assert!(0.0 < figure("p50") && figure("p50") <= figure("p95") && figure("p95") <= figure("p99"));
    assert!(figure("avgLatency") <= figure("p99") * 1.002);
    assert_eq!(of(&breakdown, CREATE).unwrap()["callCount"], 1);
    assert_eq!(of(&breakdown, "notes/index/applyNoteOperation"), None);

    let functions = breakdown["functions"].as_array().unwrap();
    let sum = |name: &str| functions.iter().map(|function| function[name].as_i64().unwrap()).sum::<i64>();
    let summary = &breakdown["summary"];
    assert_eq!(summary["functionCount"], functions.len());
    assert_eq!((&summary["callCount"], &summary["errorCount"]), (&json!(sum("callCount")), &json!(sum("errorCount"))));
    let breaches = functions.iter().filter(|function| function["sloCompliant"] == false).count();
    assert_eq!(summary["sloBreaches"], breaches);
    let names: Vec<&str> = functions.iter().map(|function| function["functionName"].as_str().unwrap()).collect();
    assert!(names.is_sorted());
}

#[test]
fn only_the_window_counts() {
    let app = TestApp::new();
    let ada = app.user("ada");
    ada.call(ME, json!({})).value();
    app.clock().advance(Duration::from_secs(120));
    let of_a_minute = breakdown(&ada, json!({"timeWindowMs": 60_000}));
    assert_eq!(of(&of_a_minute, ME), None);
    assert_eq!(of_a_minute["summary"]["successRate"], 1.0);
    assert_eq!(of(&breakdown(&ada, json!({"timeWindowMs": 180_000})), ME).unwrap()["callCount"], 1);
}

#[test]
fn any_user_and_a_deploy_key_may_ask() {
    let app = TestApp::new();
    app.nobody().call(BREAKDOWN, json!({})).assert_refused(Code::Unauthenticated, "Authentication required");
    breakdown(&app.user("ada"), json!({}));
    breakdown(&app.deploy_key(&["admin"]), json!({}));
    for window in [999, 604_800_001] {
        let refused = app.user("ada").call(BREAKDOWN, json!({ "timeWindowMs": window }));
        assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some("timeWindowMs")));
    }
}
