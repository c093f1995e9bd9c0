//! Sleeping runs: many cost rows only and delay neither a start nor other work, a jump of the clock strands none, and
//! they are no leftovers of a test.

use std::time::{Duration, Instant};

use convoke::Caller;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::workflows::RunState;
use serde_json::json;

use super::functions::{StepEffect, call, note, signal, start, text, texts};

/// Number of runs; `CONVOKE_TEST_SLEEPING` sets another.
const RUNS: i64 = 5_000;
/// Runs per transaction.
const PART: i64 = 500;

#[workflow]
pub(super) async fn nap(ctx: &WorkflowCtx) -> Result<()> {
    ctx.sleep(days(30)).await
}

#[mutation]
pub(super) fn start_naps(ctx: &mut MutationCtx) -> Result<()> {
    for _ in 0..PART {
        ctx.start::<nap>(NoArgs {})?;
    }
    Ok(())
}

#[mutation]
pub(super) fn note_now(ctx: &mut MutationCtx) -> Result<()> {
    ctx.schedule::<note>(When::now(), text("on time"))?;
    Ok(())
}

#[test]
#[allow(clippy::disallowed_methods, reason = "it measures the time of a start")]
fn sleeping_runs_delay_no_start_and_no_job() {
    let runs = std::env::var("CONVOKE_TEST_SLEEPING").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let mut app = TestApp::with(|options| options.limits.user_bytes_written_per_hour = 0);
    for _ in 0..runs / PART {
        call(&app, "sleeping/startNaps", json!({}));
    }
    app.run_due();
    assert_eq!(app.block_on(app.runs().count(RunState::Active)).unwrap(), runs.unsigned_abs());
    let began = Instant::now();
    app.restart();
    call(&app, "sleeping/noteNow", json!({}));
    app.run_due();
    let took = began.elapsed();
    assert_eq!(texts(&app), ["on time"]);
    println!("start and one job with {runs} sleeping runs: {took:?}");
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[mutation]
pub(super) fn start_later(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<naps>(NoArgs {})?.key("later").after(hours(1)).id())
}

#[mutation]
pub(super) fn start_after_another(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<naps>(NoArgs {})?.key("later").after(hours(5)).id())
}

/// Sleeps for days between its steps.
#[workflow]
pub(super) async fn naps(ctx: &WorkflowCtx) -> Result<i64> {
    for part in ["first", "second", "third"] {
        ctx.run::<note>(text(part)).await?;
        ctx.sleep(days(2)).await?;
    }
    Ok(ctx.wait::<i64>("number").at_most(days(1)).await?.unwrap_or(-1))
}

#[mutation]
pub(super) fn start_naps_of_days(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<naps>(NoArgs {})?.id())
}

#[test]
fn run_that_begins_later_keeps_its_time_and_its_signals() {
    let app = TestApp::new();
    let run = start(&app, "sleeping/startLater");
    assert_eq!(start(&app, "sleeping/startAfterAnother"), run, "the stored run of the key stays as it is");
    signal(&app, run, "number", 7);
    app.advance(hours(1) - Duration::from_millis(1));
    assert_eq!((app.workflow(run).steps().len(), texts(&app).len()), (0, 0));
    app.advance(Duration::from_millis(1));
    assert_eq!(texts(&app), ["first"]);
    app.advance(days(6));
    assert_eq!(app.workflow(run).value::<i64>(), 7);
}

#[test]
fn run_that_begins_later_can_be_cancelled_before() {
    let app = TestApp::new();
    let run = start(&app, "sleeping/startLater");
    assert!(app.block_on(app.runs().cancel(run)).unwrap());
    app.advance(days(1));
    assert_eq!((app.workflow(run).state, texts(&app).len()), (RunState::Cancelled, 0));
}

#[test]
fn clock_that_was_set_back_by_days_strands_no_run() {
    let app = TestApp::new();
    let begun = start(&app, "sleeping/startNapsOfDays");
    app.run_due();
    app.advance(days(1));
    // The scheduler reads the clock at least every minute.
    app.run_due();
    let later = start(&app, "sleeping/startLater");
    // Its first advance is due, and has not run when the clock jumps.
    let due = start(&app, "sleeping/startNapsOfDays");
    app.clock().set(app.now() - days(30));
    app.run_due();
    assert_eq!(texts(&app), ["first", "first"]);
    app.advance(hours(1));
    assert_eq!(texts(&app).len(), 3, "the later run has begun after its hour");
    app.advance(days(1));
    let notes = |run| app.workflow(run).steps().iter().filter(|step| step.name == "workflow/functions/note").count();
    assert_eq!([begun, due, later].map(notes), [2, 1, 1], "the first run has slept its two days");
    app.advance(days(7));
    assert_eq!([begun, due, later].map(|run| app.workflow(run).value::<i64>()), [-1; 3]);
    assert_eq!(texts(&app).len(), 9, "each step ran once");
}

#[test]
fn clock_that_was_set_back_between_two_processes_strands_no_run() {
    let mut app = TestApp::new();
    let run = start(&app, "sleeping/startNapsOfDays");
    app.clock().set(app.now() - days(3));
    app.restart();
    app.run_due();
    app.advance(days(1));
    app.clock().set(app.now() - days(10));
    app.restart();
    // The new process knows when a pause began, but not how much of it had passed.
    app.advance(days(7));
    assert_eq!((app.workflow(run).value::<i64>(), texts(&app).len()), (-1, 3));
}

#[test]
fn clock_that_was_set_forward_by_days_repeats_no_step() {
    let app = TestApp::new();
    let run = start(&app, "sleeping/startNapsOfDays");
    app.run_due();
    for _ in 0..3 {
        app.clock().set(app.now() + days(20));
        app.run_due();
    }
    assert_eq!(texts(&app), ["first", "second", "third"]);
    signal(&app, run, "number", 9);
    app.run_due();
    assert_eq!(app.workflow(run).value::<i64>(), 9, "the wait begins after the jump");
}

/// Waits for a signal without a time limit.
#[workflow]
pub(super) async fn patience(ctx: &WorkflowCtx) -> Result<i64> {
    ctx.wait("number").await
}

#[mutation]
pub(super) fn start_patience(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<patience>(NoArgs {})?.id())
}

#[test]
fn run_that_no_time_continues_fails_the_test() {
    let dropped = |path: &'static str| {
        std::panic::catch_unwind(move || {
            let app = TestApp::new();
            start(&app, path);
            app.run_due();
        })
    };
    assert!(dropped("sleeping/startNapsOfDays").is_ok(), "the pause ends by itself");
    let failed = dropped("sleeping/startPatience").expect_err("nothing but a signal ends the wait");
    let message = failed.downcast_ref::<String>().unwrap();
    assert!(message.contains("send the signal") && message.contains("sleeping/patience"), "{message}");
}

/// CPU time of this process so far, in ticks of 10 ms.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // After the name in parentheses: state is field 3, utime and stime are 14 and 15.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    [11, 12].iter().map(|at| fields[*at].parse::<u64>().unwrap()).sum()
}

#[test]
#[ignore = "it starts 100,000 runs first, which takes minutes without optimization"]
#[allow(clippy::disallowed_methods, reason = "it measures the time of a start")]
fn hundred_thousand_sleeping_runs_start_within_a_second_and_use_no_cpu() {
    const MANY: i64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let open = || Runtime::start(RuntimeOptions::in_folder(folder.path(), convoke::embed::default_engine())).unwrap();
    executor.block_on(async {
        let runtime = open();
        for _ in 0..MANY / PART {
            runtime.run::<start_naps>(Caller::System, NoArgs {}).await.unwrap();
            runtime.run_due().await.unwrap();
        }
        runtime.store().close();
        // The folder is locked as long as the runtime exists.
        drop(runtime);
        let began = Instant::now();
        let runtime = open();
        let background = runtime.start_background();
        let opened = began.elapsed();
        runtime.run::<note_now>(Caller::System, NoArgs {}).await.unwrap();
        while runtime.read(|db| Ok(db.scan::<StepEffect>().count()?)).unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let started = began.elapsed();
        assert_eq!(runtime.runs().count(RunState::Active).await.unwrap(), MANY.unsigned_abs());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ticks = cpu_ticks();
        tokio::time::sleep(Duration::from_secs(10)).await;
        let idle_ms = 10 * (cpu_ticks() - ticks);
        println!(
            "{MANY} sleeping runs: opened in {opened:?}, first job after {started:?}, {idle_ms} ms of CPU in 10 s"
        );
        assert!(started < Duration::from_secs(1), "{started:?}");
        // A cron of these tests may run once per minute.
        assert!(idle_ms <= 50, "{idle_ms} ms of CPU time in 10 s");
        background.stop().await;
        runtime.store().close();
    });
}
