//! The loop of a server, with a real clock.

use std::sync::Arc;
use std::time::Duration;

use convoke::scheduler::JobState;
use convoke::testing::TestApp;
use convoke_core::clock::SystemClock;
use serde_json::json;

use super::functions::Effect;
use super::harness::{call, effects, entered};

fn app() -> TestApp {
    TestApp::with(|options| options.clock = Arc::new(SystemClock::new()))
}

/// Waits until `done`, at most 120 s.
fn wait(app: &TestApp, done: impl Fn() -> bool) {
    app.block_on(async {
        for _ in 0..12_000 {
            if done() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it did not come to an end");
    });
}

#[test]
fn scheduler_runs_due_jobs_and_wakes_for_new_ones() {
    let app = app();
    call(&app, "plan", json!({ "n": 1, "afterMs": 0 }));
    let background = app.block_on(async { app.start_background() });
    wait(&app, || app.count::<Effect>() == 1);
    // The scheduler sleeps until the next job, and an earlier one wakes it.
    call(&app, "plan", json!({ "n": 2, "afterMs": 3_600_000 }));
    call(&app, "plan", json!({ "n": 3, "afterMs": 300 }));
    call(&app, "plan", json!({ "n": 4, "afterMs": 0 }));
    wait(&app, || app.count::<Effect>() == 3);
    let mut ran: Vec<_> = effects(&app).into_iter().map(|(n, _)| n).collect();
    ran.sort_unstable();
    assert_eq!(ran, [1, 3, 4]);
    app.block_on(background.stop());
    call(&app, "plan", json!({ "n": 5, "afterMs": 60_000 }));
    assert_eq!(app.count::<Effect>(), 3);
}

#[test]
fn thousands_of_jobs_run_once_each() {
    let app = app();
    let background = app.block_on(async { app.start_background() });
    let planned = 1_500;
    app.block_on(async {
        let nobody = app.nobody();
        for chunk in 0..planned / 50 {
            let calls = (chunk * 50..chunk * 50 + 50).map(|n| {
                let name = if n % 5 == 0 { "planReachOut" } else { "plan" };
                let nobody = nobody.clone();
                async move {
                    nobody
                        .call_async(&format!("scheduler/functions/{name}"), json!({ "n": n, "afterMs": n % 40 }))
                        .await
                }
            });
            for reply in futures_util::future::join_all(calls).await {
                reply.value();
            }
        }
    });
    wait(&app, || app.count::<Effect>() >= planned);
    app.block_on(background.stop());
    let mut found: Vec<_> = effects(&app).into_iter().map(|(n, _)| n).collect();
    found.sort_unstable();
    assert!(found.into_iter().eq(0..i64::try_from(planned).unwrap()));
    assert_eq!(app.pending_jobs().len(), 0);
    assert_eq!(app.failed_jobs().len(), 0);
}

#[test]
fn failure_is_retried_automatically() {
    let app = app();
    let background = app.block_on(async { app.start_background() });
    call(&app, "planStumble", json!({ "n": 1, "failures": 1 }));
    wait(&app, || app.count::<Effect>() == 1);
    assert_eq!(entered(&app, 1), 2);
    app.block_on(background.stop());
    assert_eq!(app.block_on(app.jobs().count(JobState::Failed)).unwrap(), 0);
}
