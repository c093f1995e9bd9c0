//! Jobs with a key: at most one of a function and key is pending.

use std::time::Duration;

use convoke::testing::TestApp;
use serde_json::json;

use super::harness::{call, effects};

#[test]
fn second_job_of_a_key_is_ignored() {
    let app = TestApp::new();
    let first = call(&app, "plan", json!({ "n": 1, "afterMs": 1_000, "key": "k" }));
    let second = call(&app, "plan", json!({ "n": 2, "afterMs": 10, "key": "k" }));
    assert_eq!(first, second);
    call(&app, "plan", json!({ "n": 3, "afterMs": 10, "key": "other" }));
    app.advance(Duration::from_secs(2));
    assert_eq!(effects(&app), [(3, 10), (1, 1_000)]);
}

#[test]
fn key_is_free_after_its_job() {
    let app = TestApp::new();
    let first = call(&app, "plan", json!({ "n": 1, "afterMs": 0, "key": "k" }));
    app.run_due();
    let second = call(&app, "plan", json!({ "n": 2, "afterMs": 0, "key": "k" }));
    app.run_due();
    assert_ne!(first, second);
    assert_eq!(effects(&app), [(1, 0), (2, 0)]);
}

#[test]
fn debounced_job_runs_once_with_the_latest_arguments() {
    let app = TestApp::new();
    for n in 0..5 {
        call(&app, "planQuietly", json!({ "n": n, "afterMs": 5_000, "key": "k" }));
        app.advance(Duration::from_secs(3));
    }
    assert_eq!(effects(&app), []);
    app.advance(Duration::from_secs(2));
    assert_eq!(effects(&app), [(4, 17_000)]);
    assert_eq!(app.pending_jobs().len(), 0);
}

#[test]
fn job_reschedules_itself_under_its_key() {
    let app = TestApp::new();
    call(&app, "planCountDown", json!({ "n": 2 }));
    app.advance(Duration::from_secs(60));
    assert_eq!(effects(&app), [(2, 0), (1, 10_000), (0, 20_000)]);
}

#[test]
fn job_is_cancelled_by_its_key() {
    let app = TestApp::new();
    call(&app, "plan", json!({ "n": 1, "afterMs": 10, "key": "k" }));
    assert_eq!(call(&app, "takeBackKey", json!({ "key": "k" })), json!(true));
    assert_eq!(call(&app, "takeBackKey", json!({ "key": "k" })), json!(false));
    app.advance(Duration::from_millis(10));
    assert_eq!(effects(&app), []);
}
