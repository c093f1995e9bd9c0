//! Shared parts of the scheduler's tests, and checks of `TestApp` itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use convoke::testing::TestApp;
use serde_json::{Value, json};

use super::functions::{Effect, Entered};

/// Calls a function of the tests, and returns its value.
pub(super) fn call(app: &TestApp, name: &str, args: Value) -> Value {
    app.nobody().call(&format!("scheduler/functions/{name}"), args).value().clone()
}

/// Every effect as (n, milliseconds after the start of the test's clock), in the order of their rows.
pub(super) fn effects(app: &TestApp) -> Vec<(i64, i64)> {
    app.read(|db| {
        let rows = db.scan::<Effect>().take(100_000)?;
        Ok(rows.iter().map(|row| (row.n, row.at.0 - convoke::testing::START.0)).collect())
    })
}

/// Returns the number of runs of a function with this number.
pub(super) fn entered(app: &TestApp, n: i64) -> u32 {
    app.runtime().memory::<Entered>().times(n)
}

fn complaint(app: TestApp) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(app))).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn dropped_app_with_due_work_panics() {
    let app = TestApp::new();
    call(&app, "plan", json!({ "n": 1, "afterMs": 0 }));
    assert!(complaint(app).contains("scheduled work is due and was not run"));
}

#[test]
fn dropped_app_with_later_work_does_not_panic() {
    let app = TestApp::new();
    call(&app, "plan", json!({ "n": 1, "afterMs": 1 }));
    assert_eq!(app.pending_jobs().len(), 1);
}

#[test]
fn unchecked_failed_job_panics() {
    let app = TestApp::new();
    call(&app, "planInVain", json!({ "n": 1 }));
    app.run_due();
    assert!(complaint(app).contains("Nobody is there"));
    let app = TestApp::new();
    call(&app, "planInVain", json!({ "n": 1 }));
    app.run_due();
    assert_eq!(app.failed_jobs().len(), 1);
}

#[test]
fn test_clock_stops_at_each_job() {
    let app = TestApp::new();
    call(&app, "planCountDown", json!({ "n": 3 }));
    call(&app, "plan", json!({ "n": 100, "afterMs": 15_000 }));
    app.advance(Duration::from_secs(25));
    assert_eq!(effects(&app), [(3, 0), (2, 10_000), (100, 15_000), (1, 20_000)]);
    assert_eq!(app.now().0 - convoke::testing::START.0, 25_000);
}

#[test]
fn after_commit_work_follows_commits_only() {
    let app = TestApp::new();
    let refused = app.nobody().call("scheduler/functions/note", json!({ "refuse": true }));
    assert_eq!(refused.code(), "FAILED_PRECONDITION");
    call(&app, "note", json!({ "refuse": false }));
    let notes = app.runtime().memory::<super::functions::Notes>();
    assert_eq!(*notes.0.lock().unwrap(), ["outer", "last"]);
}
