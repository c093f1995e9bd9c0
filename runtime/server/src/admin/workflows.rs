//! The handlers of workflows: list, show, cancel, retry and resume runs.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Admin, AdminRequest, success};
use convoke_calls::workflow::{Run, RunState, Step};
use convoke_core::error::{Error, Result};
use convoke_http::Reply;
use convoke_store::Doc;

/// `GET workflows?state=&cursor=&limit=`: lists the runs of a state (active by default), newest first, and the number
/// of runs per state.
///
/// # Errors
/// `INVALID_ARGUMENT`: an unknown state or a cursor of another list; a failure of the store.
pub async fn list(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let state = request.query_as::<RunState>("state")?.unwrap_or(RunState::Active);
    let limit = request.limit()?;
    let runs = admin.runtime.runs();
    let page = runs.list(state, request.cursor()?, limit).await?;
    let mut counts = serde_json::Map::new();
    for state in RunState::ALL {
        counts.insert(state.as_str().to_owned(), runs.count(*state).await?.into());
    }
    let items: Vec<Value> = page.items.iter().map(shown).collect();
    success(&Listed { items, cursor: page.cursor, counts })
}

#[derive(Serialize)]
struct Listed<C> {
    items: Vec<Value>,
    cursor: Option<C>,
    counts: serde_json::Map<String, Value>,
}

/// `GET workflows/{id}`: returns a run with its arguments and its steps.
///
/// # Errors
/// `NOT_FOUND`: the run never existed, or is no longer stored.
pub async fn show(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let (run, steps) = admin.runtime.runs().show(request.id()?).await?;
    let mut value = shown(&run);
    value["args"] = parsed(&run.args);
    value["value"] = run.value.as_deref().map_or(Value::Null, parsed);
    value["steps"] = steps.iter().map(shown_step).collect();
    success(&value)
}

/// `POST workflows/{id}/cancel`: undoes the completed steps of a run in reverse order, and ends it.
///
/// # Errors
/// `NOT_FOUND`; `FAILED_PRECONDITION`: the run has ended or is being undone.
pub async fn cancel(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    if admin.runtime.runs().cancel(request.id()?).await? {
        return success(&Value::Null);
    }
    Err(Error::failed_precondition("The run has ended or is being undone"))
}

/// `POST workflows/{id}/retry`: retries the failed steps of a failed run, or checks a blocked run again.
///
/// # Errors
/// `NOT_FOUND`; `FAILED_PRECONDITION`: the run is neither failed nor blocked, or steps were undone.
pub async fn retry(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    admin.runtime.runs().retry(request.id()?).await?;
    success(&Value::Null)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resume {
    from: u32,
}

/// `POST workflows/{id}/resume` with `{"from": 3}`: forgets the steps from this position, which then run again.
///
/// # Errors
/// `NOT_FOUND`; `INVALID_ARGUMENT`; `FAILED_PRECONDITION`: a step runs now, or steps were undone.
pub async fn resume(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let Resume { from } = request.args()?;
    admin.runtime.runs().resume(request.id()?, from).await?;
    success(&Value::Null)
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| json.into())
}

fn shown(run: &Doc<Run>) -> Value {
    let starter = run.issuer.as_deref().zip(run.subject.as_deref());
    json!({
        "id": run.id(),
        "path": run.path,
        "version": run.version,
        "key": run.key,
        "state": run.state,
        "startedBy": starter.map(|(issuer, subject)| format!("{issuer}|{subject}")),
        "createdAt": run.creation_time(),
        "endedAt": run.ended_at,
        "stepsDone": run.done,
        "error": run.error.as_deref().map(parsed),
        "blocked": run.blocked,
    })
}

fn shown_step(step: &Doc<Step>) -> Value {
    json!({
        "position": step.position,
        "kind": step.kind,
        "name": step.name,
        "state": step.state,
        "args": step.args.as_deref().map(parsed),
        "value": step.value.as_deref().map(parsed),
        "error": step.error.as_deref().map(parsed),
        "failures": step.attempts,
        "lastError": step.last_error,
        "until": step.until,
        "startedAt": step.creation_time(),
        "endedAt": step.ended_at,
        "undo": step.undo,
        "undone": step.undone,
    })
}
