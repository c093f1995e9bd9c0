//! Steps: their results, their effects, and their order.

use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::workflows::{Either, RunState, StepState};
use serde_json::json;

use super::functions::{Keys, Reach, bulk, count, effects, note, reach, refuse, start, text, texts};

#[workflow]
pub(super) async fn chain(ctx: &WorkflowCtx) -> Result<String> {
    let first = ctx.run::<note>(text("a")).await?;
    let second = ctx.run::<reach>(Reach { text: first, failures: 2 }).retry(3).await?;
    let effects = ctx.run::<count>(NoArgs {}).await?;
    ctx.sleep(days(7)).await?;
    let third = ctx.run::<note>(text("b")).await?;
    Ok(format!("{second} {effects} {third}"))
}

#[mutation]
pub(super) fn start_chain(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<chain>(NoArgs {})?.id())
}

#[workflow]
pub(super) async fn branches(ctx: &WorkflowCtx) -> Result<String> {
    let (a, b) = ctx.join(ctx.run::<note>(text("a")), ctx.run::<note>(text("b"))).await?;
    let all = ctx.join_all(["c", "d", "e"].map(|name| ctx.run::<note>(text(name)))).await?;
    let slow = ctx.sleep(hours(2));
    let fast = ctx.select(slow, ctx.sleep(hours(1))).await?;
    assert_eq!(fast, Either::Right(()));
    let before = ctx.now();
    let run = ctx.select(ctx.sleep(days(1)), ctx.run::<note>(text("f"))).await?;
    let Either::Right(f) = run else { panic!("a pause was faster than a step") };
    ctx.sleep(secs(5)).await?;
    let passed = ctx.now().since(before);
    Ok(format!("{a} {b} {} {f} {}", all.join(" "), passed.as_secs()))
}

#[mutation]
pub(super) fn start_branches(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<branches>(NoArgs {})?.id())
}

#[workflow]
pub(super) async fn failures(ctx: &WorkflowCtx) -> Result<String> {
    let refused = ctx.run::<refuse>(text("never")).await.unwrap_err();
    let large = ctx.run::<bulk>(NoArgs {}).await.unwrap_err();
    let unknown = ctx.run::<note>(text("never")).on("no-such-queue").await.unwrap_err();
    let failed = ctx.join(ctx.run::<refuse>(text("never")), ctx.run::<note>(text("kept"))).await.unwrap_err();
    Ok(format!("{}: {}; {large}; {unknown}; {}", refused.code(), refused.message(), failed.code()))
}

#[mutation]
pub(super) fn start_failures(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<failures>(NoArgs {})?.id())
}

#[workflow]
pub(super) async fn parent(ctx: &WorkflowCtx) -> Result<(Id<Run>, Id<Run>)> {
    let first = ctx.start::<child>(text("x")).key("one").await?;
    let second = ctx.start::<child>(text("y")).key("one").await?;
    Ok((first, second))
}

#[workflow]
pub(super) async fn child(ctx: &WorkflowCtx, args: super::functions::Text) -> Result<String> {
    ctx.run::<note>(args).await
}

#[mutation]
pub(super) fn start_parent(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<parent>(NoArgs {})?.id())
}

/// Starts two runs with one key.
#[mutation]
pub(super) fn start_twice(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    let first = ctx.start::<child>(text("once"))?.key(7).id();
    let second = ctx.start::<child>(text("once"))?.key(7).id();
    assert_eq!(first, second);
    Ok(first)
}

#[mutation]
pub(super) fn start_and_refuse(ctx: &mut MutationCtx) -> Result<()> {
    ctx.start::<chain>(NoArgs {})?;
    Err(Error::failed_precondition("Not now"))
}

#[workflow]
pub(super) async fn endless(ctx: &WorkflowCtx) -> Result<String> {
    loop {
        if let Err(error) = ctx.run::<count>(NoArgs {}).await {
            return Ok(error.message().to_owned());
        }
    }
}

#[mutation]
pub(super) fn start_endless(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<endless>(NoArgs {})?.id())
}

#[test]
fn each_step_has_its_effect_once_and_an_action_one_key() {
    let app = TestApp::new();
    let run = start(&app, "steps/startChain");
    app.run_due();
    assert_eq!(texts(&app), ["a"]);
    app.advance(days(8));
    let ended = app.workflow(run);
    assert_eq!((ended.state, ended.value::<String>().as_str()), (RunState::Completed, "aaaa 2 bb"));
    assert_eq!(texts(&app), ["a", "aa", "b"]);
    let week = i64::try_from(days(7).as_millis()).unwrap();
    let last = effects(&app)[2].1;
    assert!(last >= week && last < week + 30_000, "{last}");
    let keys = app.runtime().memory::<Keys>();
    assert_eq!(keys.0.lock().unwrap()["aa"], vec![format!("{run}/1"); 3]);
    let states: Vec<_> = ended.steps().iter().map(|step| (step.position, step.state, step.attempts)).collect();
    let done = StepState::Done;
    assert_eq!(states, [(0, done, 0), (1, done, 2), (2, done, 0), (3, done, 0), (4, done, 0)]);
    assert_eq!(app.pending_jobs().len(), 0);
}

#[test]
fn sleeping_run_survives_a_restart_and_is_one_job() {
    let mut app = TestApp::new();
    let run = start(&app, "steps/startChain");
    app.advance(mins(5));
    assert_eq!(app.pending_jobs().len(), 1);
    app.restart();
    app.advance(days(8));
    assert_eq!(app.workflow(run).state, RunState::Completed);
    assert_eq!(texts(&app), ["a", "aa", "b"]);
}

#[test]
fn join_and_select_take_the_recorded_order() {
    let app = TestApp::new();
    let run = start(&app, "steps/startBranches");
    app.advance(days(2));
    assert_eq!(app.workflow(run).value::<String>(), "aa bb cc dd ee ff 5");
    assert_eq!(texts(&app), ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(app.pending_jobs().len(), 0, "the timers of the slower branches are gone");
}

#[test]
fn error_of_a_step_is_its_result_and_its_effect_is_rolled_back() {
    let app = TestApp::new();
    let run = start(&app, "steps/startFailures");
    app.advance(mins(1));
    let value = app.workflow(run).value::<String>();
    assert!(value.starts_with("NOT_FOUND: There is no such thing; "), "{value}");
    assert!(value.contains("workflow_value_bytes_max") && value.contains("no queue \"no-such-queue\""), "{value}");
    assert_eq!(texts(&app), ["kept"], "a value that is too large takes back the effect");
}

#[test]
fn key_makes_a_run_unique() {
    let app = TestApp::new();
    let run = start(&app, "steps/startTwice");
    let parent = start(&app, "steps/startParent");
    app.run_due();
    assert_eq!(start(&app, "steps/startTwice"), run);
    app.run_due();
    assert_eq!(texts(&app), ["once", "x"]);
    let (first, second) = app.workflow(parent).value::<(Id<Run>, Id<Run>)>();
    assert_eq!((first, app.workflow(second).state), (second, RunState::Completed));
}

#[test]
fn run_exists_only_if_its_mutation_commits() {
    let app = TestApp::new();
    let refused = app.nobody().call("workflow/steps/startAndRefuse", json!({}));
    assert_eq!(refused.code(), "FAILED_PRECONDITION");
    assert_eq!((app.count::<Run>(), app.pending_jobs().len()), (0, 0));
}

#[test]
fn step_beyond_the_limit_is_an_error_of_the_code() {
    let app = TestApp::with(|options| options.limits.workflow_steps_max = 5);
    let run = start(&app, "steps/startEndless");
    app.run_due();
    let ended = app.workflow(run);
    assert_eq!(ended.value::<String>(), "A run has at most 5 steps; start another run for the rest");
    assert_eq!(ended.steps().len(), 5);
}
