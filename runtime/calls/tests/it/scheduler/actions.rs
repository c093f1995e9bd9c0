//! Scheduled actions: started at most once, unless they say otherwise.

use std::time::Duration;

use convoke::scheduler::JobState;
use convoke::testing::TestApp;
use serde_json::json;

use super::harness::{call, effects, entered};

#[test]
fn scheduled_action_runs_at_its_time_once() {
    let app = TestApp::new();
    call(&app, "planReachOut", json!({ "n": 1, "afterMs": 50 }));
    app.advance(Duration::from_millis(50));
    assert_eq!(effects(&app), [(1, 50)]);
    assert_eq!((entered(&app, 1), app.pending_jobs().len()), (1, 0));
}

#[test]
fn failed_action_is_not_retried() {
    let app = TestApp::new();
    call(&app, "planInVain", json!({ "n": 1 }));
    app.advance(Duration::from_secs(3_600));
    let failed = app.failed_jobs();
    assert_eq!((failed.len(), failed[0].attempts, entered(&app, 1)), (1, 1, 1));
    assert_eq!(failed[0].last_error.as_deref(), Some("PROVIDER_ERROR: Nobody is there"));
}

#[test]
fn action_with_tries_is_retried() {
    let app = TestApp::new();
    call(&app, "planPersistently", json!({ "n": 1 }));
    app.advance(Duration::from_secs(60));
    assert_eq!((entered(&app, 1), effects(&app).len()), (3, 1));
}

#[test]
fn pending_retry_blocks_a_newer_job_of_its_key() {
    let app = TestApp::new();
    call(&app, "planPersistently", json!({ "n": 1 }));
    app.run_due();
    // The repetition of the first one is pending under the key: the second adds nothing.
    call(&app, "planPersistently", json!({ "n": 2 }));
    app.advance(Duration::from_secs(60));
    assert_eq!((entered(&app, 1), entered(&app, 2)), (3, 0));
}

#[test]
fn action_interrupted_by_a_crash_is_failed() {
    let mut app = TestApp::new();
    call(&app, "pretendRunning", json!({ "key": "reachOut" }));
    call(&app, "pretendRunning", json!({ "key": "reachPersistently" }));
    app.restart();
    app.run_due();
    let failed = app.failed_jobs();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].last_error.as_deref(), Some("INTERNAL: interrupted by a restart"));
    assert_eq!(effects(&app), []);
    // The one with tries left is started again.
    let pending = app.pending_jobs();
    assert_eq!((pending.len(), pending[0].state), (1, JobState::Pending));
    app.advance(Duration::from_secs(120));
    assert_eq!(entered(&app, 1), 2);
    assert_eq!(app.failed_jobs().len(), 2);
}

#[test]
fn action_schedules_and_cancels() {
    let app = TestApp::new();
    assert_eq!(call(&app, "planFromAction", json!({ "n": 1, "afterMs": 10 })), json!(true));
    app.advance(Duration::from_millis(10));
    assert_eq!(effects(&app), [(1, 10)]);
}
