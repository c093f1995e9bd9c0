//! Waits for signals, and one-time URLs.

use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::workflows::RunState;

use super::functions::{note, signal, start, text, texts};

#[workflow]
pub(super) async fn confirm(ctx: &WorkflowCtx) -> Result<String> {
    match ctx.wait::<i64>("confirmed").at_most(days(3)).await? {
        Some(number) => ctx.run::<note>(text(&format!("confirmed {number}"))).await,
        None => ctx.run::<note>(text("reminded")).await,
    }
}

#[mutation]
pub(super) fn start_confirm(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<confirm>(NoArgs {})?.id())
}

#[workflow]
pub(super) async fn collect(ctx: &WorkflowCtx) -> Result<Vec<i64>> {
    ctx.sleep(hours(1)).await?;
    let mut values = Vec::new();
    for _ in 0..3 {
        values.push(ctx.wait("value").await?);
    }
    Ok(values)
}

#[mutation]
pub(super) fn start_collect(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<collect>(NoArgs {})?.id())
}

#[workflow]
pub(super) async fn ask(ctx: &WorkflowCtx) -> Result<i64> {
    let url = ctx.callback::<i64>("answer").await?;
    ctx.run::<note>(text(&url)).await?;
    ctx.wait("answer").await
}

#[mutation]
pub(super) fn start_ask(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<ask>(NoArgs {})?.id())
}

#[test]
fn signal_ends_a_wait_and_its_timer() {
    let app = TestApp::new();
    let run = start(&app, "waits/startConfirm");
    app.advance(days(2));
    signal(&app, run, "other", 1);
    signal(&app, run, "confirmed", 7);
    app.run_due();
    assert_eq!(app.workflow(run).state, RunState::Completed);
    assert_eq!((texts(&app), app.pending_jobs().len()), (vec!["confirmed 7".to_owned()], 0));
}

#[test]
fn wait_without_a_signal_times_out() {
    let app = TestApp::new();
    let run = start(&app, "waits/startConfirm");
    app.advance(days(45));
    assert_eq!((app.workflow(run).state, texts(&app)), (RunState::Completed, vec!["reminded".to_owned()]));
    let late = app
        .nobody()
        .call("workflow/functions/sendSignal", serde_json::json!({ "run": run, "name": "confirmed", "value": 1 }));
    assert_eq!((late.code(), late.message()), ("FAILED_PRECONDITION", "The run has ended"));
}

#[test]
fn early_signals_are_stored_and_each_is_received_once() {
    let app = TestApp::new();
    let run = start(&app, "waits/startCollect");
    app.run_due();
    signal(&app, run, "value", 1);
    signal(&app, run, "value", 2);
    app.advance(hours(1));
    assert_eq!(app.workflow(run).state, RunState::Active);
    signal(&app, run, "value", 3);
    app.run_due();
    assert_eq!(app.workflow(run).value::<Vec<i64>>(), [1, 2, 3]);
}

#[test]
fn callback_url_sends_its_signal_once() {
    let app = TestApp::new();
    let run = start(&app, "waits/startAsk");
    app.run_due();
    let url = texts(&app).remove(0);
    let token = url.strip_prefix("/api/callback/").unwrap();
    let send = |token: &str, body: &str| app.block_on(app.runtime().call_back(token, body));
    let mut forged = token.to_owned();
    forged.replace_range(5..6, if &token[5..6] == "A" { "B" } else { "A" });
    assert_eq!(send(&forged, "42").unwrap_err().code(), Code::NotFound);
    assert_eq!(send("", "42").unwrap_err().code(), Code::NotFound);
    assert_eq!(send(token, "{").unwrap_err().code(), Code::InvalidJson);
    send(token, "42").unwrap();
    assert_eq!(send(token, "43").unwrap_err().code(), Code::Conflict);
    app.run_due();
    assert_eq!(app.workflow(run).value::<i64>(), 42);
}
