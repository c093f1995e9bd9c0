//! Code that changes under a run: the run is blocked, never wrong.

use std::sync::atomic::{AtomicU32, Ordering};

use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::workflows::RunState;

use super::functions::{count, note, signal, start, text, texts};

/// The version of the code that changes while its runs wait.
static CODE: AtomicU32 = AtomicU32::new(0);

#[workflow]
pub(super) async fn changing(ctx: &WorkflowCtx) -> Result<u32> {
    let code = CODE.load(Ordering::SeqCst);
    if code == 1 {
        ctx.run::<count>(NoArgs {}).await?;
    } else if code != 2 {
        ctx.run::<note>(text("first")).await?;
    }
    if code == 3 {
        panic!("a bug of code 3");
    }
    if code == 4 {
        std::future::pending::<()>().await;
    }
    ctx.sleep(hours(1)).await?;
    Ok(code)
}

#[mutation]
pub(super) fn start_changing(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<changing>(NoArgs {})?.id())
}

#[test]
fn run_whose_code_changed_is_blocked_until_the_code_fits() {
    let mut app = TestApp::new();
    let run = start(&app, "changes/startChanging");
    app.run_due();
    for (code, reason) in [
        (1, "step 0 was `run workflow/functions/note` and is `run workflow/functions/count` in the code"),
        (2, "step 0 was `run workflow/functions/note` and is `sleep` in the code"),
        (3, "the code panicked: "),
        (4, "step 1 `sleep` is not in the code any more"),
    ] {
        CODE.store(code, Ordering::SeqCst);
        signal(&app, run, "nothing", 0);
        app.run_due();
        let blocked = app.workflow(run);
        assert_eq!(blocked.state, RunState::Blocked, "{code}");
        let found = blocked.blocked.clone().unwrap();
        assert!(found.starts_with(reason), "{code}: {found}");
    }
    assert_eq!(texts(&app), ["first"]);
    CODE.store(0, Ordering::SeqCst);
    app.restart();
    app.run_due();
    assert_eq!(app.workflow(run).state, RunState::Active, "a start checks blocked runs again");
    app.advance(hours(2));
    assert_eq!(app.workflow(run).value::<u32>(), 0);
}

#[workflow(version = 2)]
pub(super) async fn versioned(ctx: &WorkflowCtx) -> Result<String> {
    if ctx.since(2) {
        ctx.run::<note>(text("new")).await?;
    }
    ctx.sleep(hours(1)).await?;
    Ok("current".to_owned())
}

#[workflow(version = 1, retired)]
pub(super) async fn versioned_v1(ctx: &WorkflowCtx) -> Result<String> {
    ctx.sleep(hours(1)).await?;
    Ok("retired".to_owned())
}

#[mutation]
pub(super) fn start_versioned(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<versioned>(NoArgs {})?.id())
}

/// Starts a run as an earlier or later release did.
#[mutation]
pub(super) fn start_other(ctx: &mut MutationCtx) -> Result<Vec<Id<Run>>> {
    let mut runs = Vec::new();
    for version in [1, 3] {
        let run = ctx.start::<versioned>(NoArgs {})?.id();
        ctx.db_mut().patch(run, |run| run.version = version)?;
        runs.push(run);
    }
    Ok(runs)
}

#[test]
fn retired_code_ends_the_runs_of_its_version() {
    let app = TestApp::new();
    let new = start(&app, "changes/startVersioned");
    let reply = app.nobody().call("workflow/changes/startOther", serde_json::json!({}));
    let others: Vec<Id<Run>> = reply.into_value();
    app.advance(hours(2));
    assert_eq!(app.workflow(new).value::<String>(), "current");
    assert_eq!(app.workflow(others[0]).value::<String>(), "retired");
    let later = app.workflow(others[1]);
    assert_eq!(later.state, RunState::Blocked);
    let reason = "the program has no workflow workflow/changes/versioned of version 3";
    assert_eq!(later.blocked.as_deref(), Some(reason));
    assert_eq!(texts(&app), ["new"]);
    app.leave_workflows_running();
}
