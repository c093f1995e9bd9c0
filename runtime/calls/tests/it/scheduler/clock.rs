//! A clock that jumps: what was asked for before is neither stranded nor run twice.

use std::sync::Arc;
use std::time::Duration;

use convoke::testing::{START, TestApp};
use serde_json::json;

use super::functions::Effect;
use super::harness::{call, effects};

const HOUR: Duration = Duration::from_secs(3_600);

fn due_in_s(app: &TestApp) -> Vec<i64> {
    app.block_on(app.next_due()).unwrap();
    app.pending_jobs().iter().map(|job| (job.run_at.0 - app.now().0) / 1_000).collect()
}

#[test]
fn job_scheduled_before_a_clock_setback_runs_with_its_successors() {
    let app = TestApp::new();
    app.run_due();
    call(&app, "plan", json!({ "n": 1, "afterMs": 0, "key": "k" }));
    app.clock().set(START - HOUR);
    // It is pending, so this one adds nothing and waits with it.
    call(&app, "plan", json!({ "n": 2, "afterMs": 0, "key": "k" }));
    assert_eq!(app.run_due(), 1);
    call(&app, "plan", json!({ "n": 3, "afterMs": 0, "key": "k" }));
    assert_eq!(app.run_due(), 1);
    assert_eq!(effects(&app).iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn delay_survives_a_clock_setback() {
    let app = TestApp::new();
    call(&app, "plan", json!({ "n": 1, "afterMs": 3 * 3_600_000 }));
    app.advance(2 * HOUR);
    app.run_due();
    call(&app, "plan", json!({ "n": 2, "afterMs": 60_000 }));
    app.clock().set(app.now() - 5 * HOUR);
    call(&app, "plan", json!({ "n": 3, "afterMs": 60_000 }));
    assert_eq!(due_in_s(&app), [3_600, 60, 60]);
    // Once it is followed, nothing moves any more.
    assert_eq!(due_in_s(&app), [3_600, 60, 60]);
    app.advance(HOUR);
    assert_eq!(app.count::<Effect>(), 3);
}

#[test]
fn absolute_time_waits_for_the_clock() {
    let app = TestApp::new();
    app.run_due();
    call(&app, "planFor", json!({ "n": 1, "afterMs": 60_000 }));
    app.clock().set(START - HOUR);
    assert_eq!(due_in_s(&app), [3_660]);
}

#[test]
fn clock_setback_during_downtime_is_detected() {
    let mut app = TestApp::new();
    call(&app, "plan", json!({ "n": 1, "afterMs": 0 }));
    call(&app, "plan", json!({ "n": 2, "afterMs": 90_000 }));
    app.clock().set(START - HOUR);
    app.restart();
    assert_eq!(app.run_due(), 1);
    assert_eq!(due_in_s(&app), [90]);
    app.restart();
    assert_eq!(due_in_s(&app), [90]);
    app.advance(Duration::from_secs(90));
    assert_eq!(app.count::<Effect>(), 2);
}

#[test]
fn clock_jump_forward_runs_due_jobs_once_and_strands_none() {
    let app = TestApp::new();
    app.run_due();
    call(&app, "plan", json!({ "n": 1, "afterMs": 60_000 }));
    app.clock().set(START + 24 * HOUR);
    assert_eq!(app.run_due(), 2, "the job, and the cron once");
    call(&app, "plan", json!({ "n": 2, "afterMs": 60_000 }));
    app.clock().set(START);
    assert_eq!(due_in_s(&app), [60]);
    app.advance(Duration::from_secs(60));
    let ran: Vec<i64> = effects(&app).iter().map(|(n, _)| *n).filter(|n| *n > 0).collect();
    assert_eq!(ran, [1, 2]);
}

#[test]
fn lag_counts_from_the_new_clock() {
    let app = TestApp::new();
    app.run_due();
    call(&app, "plan", json!({ "n": 1, "afterMs": 0 }));
    app.clock().set(START - HOUR);
    assert_eq!(due_in_s(&app), [0]);
    app.clock().advance(Duration::from_secs(20));
    let server = app.serve();
    let page = app.block_on(async { reqwest::get(format!("http://{}/metrics", server.address())).await?.text().await });
    assert!(page.unwrap().contains("\nconvoke_jobs_lag_seconds 20\n"));
    app.run_due();
}

#[test]
fn sleeping_scheduler_detects_a_clock_setback() {
    let clock = Arc::new(convoke_core::clock::HeldClock::at(START));
    let app = TestApp::with(|options| options.clock = clock.clone());
    let background = app.block_on(async { app.start_background() });
    call(&app, "plan", json!({ "n": 1, "afterMs": 5_000 }));
    let wait = |done: &dyn Fn() -> bool| {
        app.block_on(async {
            for _ in 0..3_000 {
                if done() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            panic!("it did not come to an end");
        });
    };
    clock.set(START - HOUR);
    wait(&|| app.pending_jobs().iter().all(|job| job.run_at == START - HOUR + Duration::from_secs(5)));
    assert_eq!(app.count::<Effect>(), 0);
    clock.advance(Duration::from_secs(5));
    wait(&|| app.count::<Effect>() == 1);
    app.block_on(background.stop());
}
