//! Many sleeping runs: they cost rows, and delay neither a start nor other work.

use std::time::{Duration, Instant};

use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::workflows::RunState;
use serde_json::json;

use super::functions::{call, note, text, texts};

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
    assert!(took < Duration::from_secs(20), "{took:?}");
}
