//! Functions that run by themselves.

use std::time::Duration;

use convoke::Millis;
use convoke::scheduler::Cron;
use convoke::testing::TestApp;

use super::harness::{effects, entered};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

fn ran_at(app: &TestApp) -> Vec<i64> {
    effects(app).into_iter().filter(|(n, _)| *n == -1).map(|(_, at)| at).collect()
}

#[test]
fn cron_runs_in_utc() {
    let app = TestApp::new();
    app.advance(Duration::from_secs(3 * 86_400));
    let first = 4 * HOUR + HOUR / 2;
    assert_eq!(ran_at(&app), [first, first + DAY, first + 2 * DAY]);
}

#[test]
fn missed_cron_runs_are_made_up_once() {
    let mut app = TestApp::new();
    app.advance(Duration::from_secs(3_600));
    app.restart();
    app.clock().advance(Duration::from_secs(5 * 86_400));
    app.run_due();
    assert_eq!(ran_at(&app), [HOUR + 5 * DAY]);
    app.advance(Duration::from_secs(86_400));
    assert_eq!(ran_at(&app), [HOUR + 5 * DAY, 5 * DAY + 4 * HOUR + HOUR / 2]);
}

#[test]
fn restart_neither_skips_nor_repeats_a_cron() {
    let mut app = TestApp::new();
    app.advance(Duration::from_secs(86_400));
    app.restart();
    app.restart();
    app.advance(Duration::from_secs(86_400));
    assert_eq!(ran_at(&app).len(), 2);
    let crons = app.read(|db| Ok(db.scan::<Cron>().take(99)?));
    let mut paths: Vec<_> = crons.iter().map(|cron| cron.path.as_str()).collect();
    paths.sort_unstable();
    paths.retain(|path| path.starts_with("scheduler/"));
    assert_eq!(paths, ["scheduler/functions/daily", "scheduler/functions/onLeapDays"]);
}

#[test]
fn failed_cron_runs_at_its_next_time_and_stores_few_failures() {
    let app = TestApp::new();
    // 2028-02-29T00:00:00Z
    app.clock().set(Millis(1_835_395_200_000 - 1));
    app.run_due();
    app.advance(Duration::from_secs(20 * 3_600));
    // At 0, 8 and 16 o'clock, twice each.
    assert_eq!(entered(&app, -29), 6);
    let failed = app.failed_jobs();
    assert_eq!(failed.len(), 2, "{failed:#?}");
    assert!(failed.iter().all(|job| job.path == "scheduler/functions/onLeapDays"));
}

#[test]
fn clock_setback_does_not_stop_crons() {
    let mut app = TestApp::new();
    let start = convoke::testing::START;
    app.clock().advance(Duration::from_secs(366 * 86_400));
    app.run_due();
    app.clock().set(start);
    app.restart();
    app.advance(Duration::from_secs(86_400));
    assert_eq!(ran_at(&app), [4 * HOUR + HOUR / 2]);
}
