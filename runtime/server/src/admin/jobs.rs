//! The handlers of jobs: list, show, retry and cancel.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Admin, AdminRequest, success};
use convoke_calls::scheduler::{Job, JobState};
use convoke_core::error::{Error, Result};
use convoke_http::Reply;
use convoke_store::Doc;

/// `GET jobs?state=&cursor=&limit=`: lists the jobs of a state (failed by default), the number of jobs per state and,
/// on the first page, the crons.
///
/// # Errors
/// `INVALID_ARGUMENT`: an unknown state or a cursor of another list; a failure of the store.
pub async fn list(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let state = request.query_as::<JobState>("state")?.unwrap_or(JobState::Failed);
    let limit = request.limit()?;
    let cursor = request.cursor()?;
    let is_first = cursor.is_none();
    let jobs = admin.runtime.jobs();
    let page = jobs.list(state, cursor, limit).await?;
    let mut counts = serde_json::Map::new();
    for state in [JobState::Pending, JobState::Running, JobState::Failed] {
        counts.insert(state.as_str().to_owned(), jobs.count(state).await?.into());
    }
    let crons: Vec<Value> = if is_first {
        let crons = jobs.crons().await?;
        crons
            .iter()
            .map(|cron| json!({ "path": cron.path, "expression": cron.expression, "nextAt": cron.next_at }))
            .collect()
    } else {
        Vec::new()
    };
    let items: Vec<Value> = page.items.iter().map(shown).collect();
    success(&Jobs { items, cursor: page.cursor, counts, crons })
}

#[derive(Serialize)]
struct Jobs<C> {
    items: Vec<Value>,
    cursor: Option<C>,
    counts: serde_json::Map<String, Value>,
    crons: Vec<Value>,
}

/// `GET jobs/{id}`: returns a job with its arguments.
///
/// # Errors
/// `NOT_FOUND`: the job has succeeded, was cancelled, or never existed.
pub async fn show(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    let job = admin.runtime.database().read_admin(move |db| Ok(db.get(id)?)).await?;
    let job =
        job.ok_or_else(|| Error::not_found("No job has this id: it has succeeded, was cancelled, or never existed"))?;
    let mut value = shown(&job);
    value["args"] = serde_json::from_str(&job.args).unwrap_or_else(|_| job.args.as_str().into());
    success(&value)
}

/// `POST jobs/{id}/retry`: makes a job due now. A failed job gets all its attempts again; a pending job keeps the rest
/// of its attempts.
///
/// # Errors
/// `NOT_FOUND`; `CONFLICT`: a job with the function and key of the failed job is pending; a failure of the store.
pub async fn retry(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    admin.runtime.jobs().retry(request.id()?).await?;
    success(&Value::Null)
}

/// `POST jobs/{id}/cancel`: cancels a pending job.
///
/// # Errors
/// `NOT_FOUND`: no pending job has the id; a failure of the store.
pub async fn cancel(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    if admin.runtime.jobs().cancel(request.id()?).await? {
        return success(&Value::Null);
    }
    Err(Error::not_found("No pending job has this id"))
}

fn shown(job: &Doc<Job>) -> Value {
    let acting = job.issuer.as_deref().zip(job.subject.as_deref());
    json!({
        "id": job.id(),
        "path": job.path,
        "kind": job.kind,
        "state": job.state,
        "runAt": job.run_at,
        "key": job.key,
        "queue": job.queue,
        "queueKey": job.lane.as_deref().filter(|lane| !lane.is_empty()),
        "then": job.then,
        "runsAs": acting.map(|(issuer, subject)| format!("{issuer}|{subject}")),
        "attempts": job.attempts,
        "lastError": job.last_error,
        "createdAt": job.creation_time(),
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
    })
}
