//! Scheduled mutations: exactly one effect, whatever happens on the way.

use std::time::Duration;

use convoke::scheduler::JobState;
use convoke::testing::TestApp;
use serde_json::json;

use super::functions::Effect;
use super::harness::{call, effects, entered};

#[test]
fn scheduled_mutation_runs_once_at_its_time() {
    let app = TestApp::new();
    call(&app, "plan", json!({ "n": 1, "afterMs": 5_000 }));
    app.advance(Duration::from_millis(4_999));
    assert_eq!(effects(&app), []);
    app.advance(Duration::from_millis(1));
    assert_eq!(effects(&app), [(1, 5_000)]);
    app.advance(Duration::from_secs(3_600));
    assert_eq!(effects(&app), [(1, 5_000)]);
    assert_eq!((entered(&app, 1), app.pending_jobs().len()), (1, 0));
}

#[test]
fn failed_mutation_schedules_nothing() {
    let app = TestApp::new();
    let refused = app.nobody().call("scheduler/functions/planAndRefuse", json!({ "n": 1, "afterMs": 0 }));
    assert_eq!(refused.code(), "FAILED_PRECONDITION");
    call(&app, "planDespite", json!({ "n": 2, "afterMs": 0 }));
    assert_eq!(app.run_due(), 1);
    assert_eq!(effects(&app), [(2, 0)]);
}

#[test]
fn due_jobs_run_by_time_then_by_schedule_order() {
    let app = TestApp::new();
    for (n, after_ms) in [(1, 30), (2, 10), (3, 20), (4, 10), (5, 30)] {
        call(&app, "plan", json!({ "n": n, "afterMs": after_ms }));
    }
    // All at once: the clock jumps past them.
    app.clock().advance(Duration::from_secs(1));
    assert_eq!(app.run_due(), 5);
    let order: Vec<_> = effects(&app).into_iter().map(|(n, _)| n).collect();
    assert_eq!(order, [2, 4, 3, 1, 5]);
}

#[test]
fn failed_attempt_rolls_back_and_the_delay_grows() {
    let app = TestApp::new();
    call(&app, "planStumble", json!({ "n": 1, "failures": 3 }));
    let mut waits = Vec::new();
    for attempt in 1..=3 {
        assert_eq!(app.run_due(), 1);
        assert_eq!((effects(&app), entered(&app, 1)), (vec![], attempt));
        let job = app.pending_jobs().remove(0);
        assert_eq!(job.attempts, attempt);
        assert_eq!(job.last_error.as_deref(), Some(&*format!("FAILED_PRECONDITION: Stumbled for the {attempt}. time")));
        waits.push(job.run_at.0 - app.now().0);
        app.clock().set(job.run_at);
    }
    for (wait, plain) in waits.iter().zip([1_000, 4_000, 16_000]) {
        assert!((plain..plain + plain / 4).contains(wait), "{waits:?}");
    }
    assert_eq!(app.run_due(), 1);
    assert_eq!(app.count::<Effect>(), 1);
    assert_eq!(app.pending_jobs().len(), 0);
}

#[test]
fn job_is_failed_after_five_attempts() {
    let app = TestApp::new();
    call(&app, "planStumble", json!({ "n": 1, "failures": 100 }));
    app.advance(Duration::from_secs(3_600));
    let failed = app.failed_jobs();
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].attempts, failed[0].state), (5, JobState::Failed));
    assert_eq!(failed[0].last_error.as_deref(), Some("FAILED_PRECONDITION: Stumbled for the 5. time"));
    assert!(failed[0].finished_at.is_some());
    assert_eq!((effects(&app), entered(&app, 1)), (vec![], 5));
}

#[test]
fn panic_counts_as_a_failure_and_tries_are_configurable() {
    let app = TestApp::new();
    call(&app, "planBreakDown", json!({ "n": 1 }));
    app.advance(Duration::from_secs(60));
    let failed = app.failed_jobs();
    assert_eq!((failed.len(), failed[0].attempts, entered(&app, 1)), (1, 2, 2));
    assert!(failed[0].last_error.as_ref().unwrap().contains("a bug in job 1"), "{failed:?}");
}

#[test]
fn cancelled_job_does_not_run() {
    let app = TestApp::new();
    let job = call(&app, "plan", json!({ "n": 1, "afterMs": 10 }));
    call(&app, "plan", json!({ "n": 2, "afterMs": 10 }));
    assert_eq!(call(&app, "takeBack", json!({ "job": job })), json!(true));
    assert_eq!(call(&app, "takeBack", json!({ "job": job })), json!(false));
    app.advance(Duration::from_millis(10));
    assert_eq!(effects(&app), [(2, 10)]);
}

#[test]
fn job_runs_as_the_runtime_or_its_identity() {
    let app = TestApp::new();
    let ada = app.user("ada");
    ada.call("scheduler/functions/plan", json!({ "n": 1, "afterMs": 0 })).value();
    ada.call("scheduler/functions/planAsCaller", json!({ "n": 2, "afterMs": 0 })).value();
    assert_eq!(app.run_due(), 2);
    let subjects = app.read(|db| Ok(db.scan::<Effect>().take(9)?));
    let subjects: Vec<_> = subjects.iter().map(|row| row.subject.as_deref()).collect();
    assert_eq!(subjects, [None, Some("ada")]);
}

#[test]
fn restart_resumes_pending_jobs() {
    let mut app = TestApp::new();
    call(&app, "plan", json!({ "n": 1, "afterMs": 1_000 }));
    call(&app, "plan", json!({ "n": 2, "afterMs": 9_000 }));
    app.restart();
    // Due while nothing ran.
    app.clock().advance(Duration::from_secs(5));
    assert_eq!(app.run_due(), 1);
    app.advance(Duration::from_secs(4));
    assert_eq!(effects(&app), [(1, 5_000), (2, 9_000)]);
}

#[test]
fn unknown_job_of_another_release_fails_with_the_reason() {
    let app = TestApp::new();
    call(&app, "pretendPlanned", json!({ "key": "args" }));
    call(&app, "pretendPlanned", json!({ "key": "gone/function" }));
    app.run_due();
    let failed = app.failed_jobs();
    let errors: Vec<_> = failed.iter().map(|job| job.last_error.clone().unwrap()).collect();
    assert!(errors[0].starts_with("INVALID_ARGUMENT: "), "{errors:?}");
    assert!(errors[1].contains("no function gone/function"), "{errors:?}");
}

#[test]
fn thousand_jobs_run_once_each() {
    let app = TestApp::new();
    for n in 0..1_000 {
        call(&app, "plan", json!({ "n": n, "afterMs": n % 7 }));
    }
    app.advance(Duration::from_millis(7));
    let mut found: Vec<_> = effects(&app).into_iter().map(|(n, _)| n).collect();
    found.sort_unstable();
    assert!(found.into_iter().eq(0..1_000));
}
