//! Failures and cancellation, with compensation in reverse order.

use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::workflows::{RunState, StepState, UndoState};
use serde_json::json;

use super::functions::{Reach, call, note, reach, refuse, start, text, texts};

#[args]
pub(super) struct Fails {
    fails: bool,
}

#[workflow]
pub(super) async fn travel(ctx: &WorkflowCtx, args: Fails) -> Result<()> {
    ctx.run::<note>(text("hotel")).undo::<note>(text("no hotel")).await?;
    ctx.join(
        ctx.run::<note>(text("train")).undo::<reach>(Reach { text: "no train".to_owned(), failures: 1 }),
        ctx.run::<note>(text("seat")).undo::<note>(text("no seat")),
    )
    .await?;
    if args.fails {
        ctx.run::<refuse>(text("museum")).undo::<note>(text("no museum")).await?;
    }
    ctx.sleep(days(10)).await
}

#[mutation]
pub(super) fn start_travel(ctx: &mut MutationCtx, args: Fails) -> Result<Id<Run>> {
    Ok(ctx.start::<travel>(args)?.id())
}

#[args]
pub(super) struct OfRun {
    run: Id<Run>,
}

#[mutation]
pub(super) fn cancel(ctx: &mut MutationCtx, args: OfRun) -> Result<bool> {
    ctx.cancel_run(args.run)
}

const UNDONE: [&str; 6] = ["hotel", "train", "seat", "no seat", "no train", "no hotel"];

#[test]
fn failed_run_undoes_its_steps_in_reverse_order() {
    let app = TestApp::new();
    let run = serde_json::from_value(call(&app, "ends/startTravel", json!({ "fails": true }))).unwrap();
    app.advance(mins(5));
    let ended = app.workflow(run);
    assert_eq!(ended.state, RunState::Failed);
    assert_eq!(ended.error.as_deref(), Some(r#"{"code":"NOT_FOUND","message":"There is no such thing"}"#));
    assert_eq!(texts(&app), UNDONE);
    assert_eq!(ended.steps()[3].undone, None, "a failed step had no effect");
    assert!(ended.steps()[..3].iter().all(|step| step.undone == Some(UndoState::Done)));
    let retried = app.block_on(app.runs().retry(run)).unwrap_err();
    assert_eq!(retried.message(), "Steps of the run were undone; start another run");
}

#[test]
fn cancelled_run_undoes_its_steps_and_its_timer_is_gone() {
    let app = TestApp::new();
    let run: Id<Run> = serde_json::from_value(call(&app, "ends/startTravel", json!({ "fails": false }))).unwrap();
    app.advance(days(1));
    assert_eq!(call(&app, "ends/cancel", json!({ "run": run })), json!(true));
    assert_eq!(call(&app, "ends/cancel", json!({ "run": run })), json!(false));
    app.advance(mins(5));
    let ended = app.workflow(run);
    assert_eq!((ended.state, texts(&app)), (RunState::Cancelled, UNDONE.map(str::to_owned).to_vec()));
    assert_eq!(ended.steps()[3].state, StepState::Abandoned);
    assert_eq!(app.pending_jobs().len(), 0);
}

#[workflow]
pub(super) async fn fragile(ctx: &WorkflowCtx) -> Result<String> {
    ctx.run::<note>(text("before")).await?;
    ctx.run::<reach>(Reach { text: "service".to_owned(), failures: 1 }).await
}

#[mutation]
pub(super) fn start_fragile(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<fragile>(NoArgs {})?.id())
}

#[test]
fn failed_run_can_be_retried_from_its_failed_step() {
    let app = TestApp::new();
    let run = start(&app, "ends/startFragile");
    app.run_due();
    assert_eq!(app.workflow(run).state, RunState::Failed);
    app.block_on(app.runs().retry(run)).unwrap();
    app.run_due();
    assert_eq!(app.workflow(run).value::<String>(), "serviceservice");
    assert_eq!(texts(&app), ["before", "service"]);
}

#[test]
fn run_can_be_resumed_from_a_step() {
    let app = TestApp::new();
    let run = start(&app, "ends/startFragile");
    app.run_due();
    app.block_on(app.runs().resume(run, 0)).unwrap();
    app.run_due();
    assert_eq!(
        (app.workflow(run).state, texts(&app)),
        (RunState::Completed, ["before", "before", "service"].map(str::to_owned).to_vec())
    );
    assert_eq!(app.block_on(app.runs().retry(run)).unwrap_err().code(), Code::FailedPrecondition);
    let beyond = app.block_on(app.runs().resume(run, 99)).unwrap_err();
    assert_eq!((beyond.code(), app.workflow(run).state), (Code::InvalidArgument, RunState::Completed));
}

#[test]
fn ended_runs_are_removed_after_their_time() {
    let app = TestApp::new();
    let run: Id<Run> = serde_json::from_value(call(&app, "ends/startTravel", json!({ "fails": true }))).unwrap();
    app.advance(mins(5));
    app.advance(days(29));
    app.block_on(app.remove_expired()).unwrap();
    assert_eq!(app.workflow(run).state, RunState::Failed);
    app.advance(days(2));
    app.block_on(app.remove_expired()).unwrap();
    assert_eq!((app.count::<Run>(), app.count::<convoke::workflows::Step>()), (0, 0));
}
