//! Jobs for an operator: lists, actions, and retention.

use std::time::Duration;

use convoke::scheduler::JobState;
use convoke::testing::TestApp;
use serde_json::json;

use super::harness::{call, effects, entered};

#[test]
fn jobs_are_listed_cancelled_and_retried() {
    let app = TestApp::new();
    call(&app, "planInVain", json!({ "n": 1 }));
    call(&app, "plan", json!({ "n": 2, "afterMs": 9_000 }));
    app.run_due();
    let failed = app.failed_jobs();
    app.block_on(async {
        let jobs = app.jobs();
        assert_eq!(jobs.count(JobState::Failed).await.unwrap(), 1);
        let pending = jobs.list(JobState::Pending, None, 10).await.unwrap().items;
        assert_eq!(pending.len(), 1);
        assert!(jobs.cancel(pending[0].id()).await.unwrap());
        assert!(!jobs.cancel(failed[0].id()).await.unwrap());
        assert_eq!(jobs.retry(pending[0].id()).await.unwrap_err().code().as_str(), "NOT_FOUND");
        jobs.retry(failed[0].id()).await.unwrap();
        assert_eq!(jobs.count(JobState::Failed).await.unwrap(), 0);
    });
    app.run_due();
    assert_eq!((entered(&app, 1), effects(&app).len()), (2, 0));
    assert_eq!(app.failed_jobs().len(), 1);
}

#[test]
fn job_between_attempts_can_run_now() {
    let app = TestApp::new();
    call(&app, "planPersistently", json!({ "n": 1 }));
    app.run_due();
    let waiting = || app.block_on(app.jobs().list(JobState::Pending, None, 10)).unwrap().items;
    let first = waiting();
    assert_eq!((first.len(), first[0].attempts, entered(&app, 1)), (1, 1, 1));
    assert!(first[0].run_at > app.now(), "it is in back-off");
    app.block_on(app.jobs().retry(first[0].id())).unwrap();
    assert_eq!(waiting()[0].run_at, app.now());
    app.run_due();
    assert_eq!((waiting()[0].attempts, entered(&app, 1)), (2, 2));
    assert!(effects(&app).is_empty());
}

#[test]
fn failed_jobs_and_idempotency_results_expire() {
    let app = TestApp::new();
    for n in 0..250 {
        call(&app, "planInVain", json!({ "n": n }));
    }
    app.run_due();
    assert_eq!(app.failed_jobs().len(), 250);
    app.clock().advance(Duration::from_secs(30 * 86_400));
    app.block_on(app.remove_expired()).unwrap();
    assert_eq!(app.failed_jobs().len(), 250);
    app.clock().advance(Duration::from_millis(1));
    app.block_on(app.remove_expired()).unwrap();
    assert_eq!(app.failed_jobs().len(), 0);
}
