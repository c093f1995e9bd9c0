//! Queries of runs for clients: `workflows/status` and `workflows/steps`, which can be live.
//!
//! A program with workflows has them. The identity that started a run and admins may see it.

use convoke_macros::{args, query, value};

use crate::context::{Context as _, QueryCtx, Read as _};
use crate::rows::run::{Run, RunState, Step, StepKind, StepState, UndoState};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::Caller;
use convoke_store::Doc;

/// The run of a query.
#[args(name = "OfRun")]
pub struct OfRun {
    /// The run.
    pub run: Id<Run>,
}

/// The error of a run or of a step.
#[value(name = "RunError")]
#[derive(Clone, Debug)]
pub struct RunError {
    /// The code, such as `PROVIDER_ERROR`.
    pub code: String,
    /// The message.
    pub message: String,
}

/// The status of a run.
#[value(name = "RunStatus", output)]
#[derive(Clone, Debug)]
pub struct RunStatus {
    /// The run.
    #[value(rename = "_id")]
    pub id: Id<Run>,
    /// Path of the workflow.
    pub workflow: String,
    /// State.
    pub state: RunState,
    /// Number of completed steps.
    pub steps_done: u32,
    /// Time of its start.
    pub started_at: Millis,
    /// Time of its end.
    pub ended_at: Option<Millis>,
    /// The error of a failed run.
    pub error: Option<RunError>,
    /// Reason why it is blocked.
    pub blocked: Option<String>,
}

/// The status of a step.
#[value(name = "StepStatus", output)]
#[derive(Clone, Debug)]
pub struct StepStatus {
    /// Position, from 0.
    pub position: u32,
    /// Kind.
    pub kind: StepKind,
    /// Path of the function or workflow, or name of the signal.
    pub name: String,
    /// State.
    pub state: StepState,
    /// State of its compensation.
    pub undone: Option<UndoState>,
    /// Time of its start.
    pub started_at: Millis,
    /// Time of its completion.
    pub ended_at: Option<Millis>,
    /// Time at which a pause or a wait ends.
    pub until: Option<Millis>,
    /// The error of a failed step.
    pub error: Option<RunError>,
}

/// Returns the status of a run of a workflow.
///
/// # Errors
/// `NOT_FOUND`: there is no such run, or the caller is neither the identity that started it nor an admin.
#[query(rights = visible_run(args.run))]
pub fn status(_ctx: &QueryCtx, run: Doc<Run>, _args: OfRun) -> Result<RunStatus> {
    Ok(RunStatus {
        id: run.id(),
        workflow: run.path.clone(),
        state: run.state,
        steps_done: run.done,
        started_at: run.creation_time(),
        ended_at: run.ended_at,
        error: read_error(run.error.as_deref()),
        blocked: run.blocked.clone(),
    })
}

/// Returns the steps of a run of a workflow, by position.
///
/// # Errors
/// `NOT_FOUND`: there is no such run, or the caller is neither the identity that started it nor an admin.
#[query(rights = visible_run(args.run))]
pub fn steps(ctx: &QueryCtx, run: Doc<Run>, _args: OfRun) -> Result<Vec<StepStatus>> {
    let steps = ctx.db().query(Step::by_run).eq(run.id()).take(usize::MAX)?;
    let shown = |step: &Doc<Step>| StepStatus {
        position: step.position,
        kind: step.kind,
        name: step.name.clone(),
        state: step.state,
        undone: step.undone,
        started_at: step.creation_time(),
        ended_at: step.ended_at,
        until: step.until,
        error: read_error(step.error.as_deref()),
    };
    Ok(steps.iter().map(shown).collect())
}

fn read_error(error: Option<&str>) -> Option<RunError> {
    serde_json::from_str(error?).ok()
}

/// Returns a run that the caller may see.
fn visible_run(ctx: &QueryCtx, run: Id<Run>) -> Result<Doc<Run>> {
    let run = ctx.db().get(run)?;
    let may_see = |run: &Doc<Run>| match ctx.caller() {
        Caller::System => true,
        Caller::DeployKey(key) if key.acting_as.is_none() => true,
        Caller::User(_) | Caller::DeployKey(_) => ctx.identity().is_some_and(|identity| {
            let is_starter =
                run.issuer.as_ref() == Some(&identity.issuer) && run.subject.as_ref() == Some(&identity.subject);
            is_starter || identity.has_role("admin")
        }),
        Caller::Nobody => false,
    };
    run.filter(may_see).ok_or_else(|| Error::not_found("No run has this id"))
}
