//! One job from its row to its end.
//!
//! Two failures are told apart: of the function (counted, backed off, in the end visible), and of the store or a queue
//! (not counted: the job waits until there is room).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::job::{self, Failed, Failure, Job, JobState};
use crate::call::decode::{Body, Format};
use crate::call::erased::Prepared;
use crate::call::{execute, own};
use crate::context::MutationCtx;
use crate::context::shared::Call;
use crate::error::{Error, Result};
use crate::logs::{Capture, LogLines};
use crate::performance::recorder::By;
use crate::registry::Registered;
use crate::runtime::Runtime;
use crate::store::{Doc, StoreError};

/// The first and the longest pause before the end of an action is tried to be written again.
const SETTLE_PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The function ran, or the job was gone.
    Ran,
    /// There was no room, or the store refused writes: the job is as it was.
    NoRoom,
}

/// Runs a job that is due.
///
/// # Errors
/// A failure of the store while the end of the attempt was to be written.
pub(crate) async fn run(runtime: &Runtime, job: &Doc<Job>) -> Result<Ended> {
    let Some(function) = runtime.registry().get(&job.path).cloned() else {
        let error = Error::internal(format!("no function {}", job.path));
        return failed(runtime, job, 1, Failure { for_good: true, ..Failure::of(&error, job.run_at) }).await;
    };
    let tries = job::tries(function.entry);
    let prepared = match (function.entry.call.0)(Body::Args(&job.args, Format::Json)) {
        Ok(prepared) => prepared,
        // The arguments were written by another version of the function: they will not fit next time either.
        Err(error) => {
            let failure = Failure { for_good: true, ..Failure::of(&error, job.run_at) };
            return failed(runtime, job, tries, failure).await;
        }
    };
    let request_id: Arc<str> = job.id().to_string().into();
    let capture = Capture::new(runtime.limits(), request_id.clone(), function.path.clone());
    let call = Arc::new(Call::new(runtime.clone(), function.entry, job.caller(), request_id));
    match prepared {
        Prepared::Mutation(prepared) => {
            let (id, run_at) = (job.id(), job.run_at);
            let work = move |ctx: &mut MutationCtx| {
                if !job::consume(ctx.db_mut(), id, run_at)? {
                    return Ok(false);
                }
                prepared.run(ctx, &mut Vec::new())?;
                Ok(true)
            };
            let result = execute::mutation(call.clone(), capture.clone(), &function, work).await;
            match result {
                Ok(false) => Ok(Ended::Ran),
                Ok(true) => {
                    told(&call, &function, &capture, None);
                    Ok(Ended::Ran)
                }
                Err(error) if is_of_the_store(&error) => Ok(no_room(runtime)),
                Err(error) => {
                    told(&call, &function, &capture, Some(&error));
                    failed(runtime, job, tries, Failure::of(&error, run_at)).await
                }
            }
        }
        Prepared::Action(prepared) => {
            let Ok(permit) = runtime.action_permit() else { return Ok(no_room(runtime)) };
            if !claim(runtime, job).await? {
                return Ok(Ended::Ran);
            }
            let result = execute::action(call.clone(), capture.clone(), permit, move |ctx| prepared.run(ctx)).await;
            told(&call, &function, &capture, result.as_ref().err());
            settle(runtime, job, &function, result.map(|_| ())).await
        }
        Prepared::Query(_) => {
            let error = Error::internal(format!("{} is a query now", function.path));
            failed(runtime, job, 1, Failure { for_good: true, ..Failure::of(&error, job.run_at) }).await
        }
    }
}

/// Takes in an attempt that has ended.
fn told(call: &Call, function: &Registered, capture: &Capture, error: Option<&Error>) {
    let log_lines: LogLines = capture.take();
    call.runtime.ended(&call.ended(function, By::Scheduler, error, &log_lines), capture);
}

fn no_room(runtime: &Runtime) -> Ended {
    runtime.scheduler().figures.postponed.fetch_add(1, Relaxed);
    Ended::NoRoom
}

/// Whether the error is of the store or of its queue and says nothing about the function, which may use the same codes.
fn is_of_the_store(error: &Error) -> bool {
    use std::error::Error as _;
    let failure = error.source().and_then(|cause| cause.downcast_ref::<StoreError>());
    matches!(failure, Some(StoreError::QueueFull(_) | StoreError::Closed(_) | StoreError::CommitUnknown(_)))
}

async fn claim(runtime: &Runtime, job: &Doc<Job>) -> Result<bool> {
    let (id, run_at, boot, now) = (job.id(), job.run_at, runtime.boot(), runtime.clock().now());
    own::write(runtime, "claim a job", move |db| job::claim(db, id, run_at, boot, now)).await
}

/// Writes how an action ended, again and again until it is written: what is left as running counts as interrupted after
/// a restart, and keeps its cron from being fired until then.
async fn settle(runtime: &Runtime, job: &Doc<Job>, function: &Registered, result: Result<()>) -> Result<Ended> {
    let id = job.id();
    let tries = job::tries(function.entry);
    let mut pause = SETTLE_PAUSES.0;
    loop {
        let settled = match &result {
            Ok(()) => own::write(runtime, "end a job", move |db| Ok(db.delete(id)?)).await.map(|_| Ended::Ran),
            Err(error) => failed(runtime, job, tries, Failure::of(error, job.run_at)).await,
        };
        match settled {
            Ok(ended) => return Ok(ended),
            Err(error) => {
                let path = &*job.path;
                tracing::warn!(target: "convoke::job", job = %id, function = path, "its end is not written yet: {}", error.chain());
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(SETTLE_PAUSES.1);
            }
        }
    }
}

/// Records a failed attempt and tells the operator.
async fn failed(runtime: &Runtime, job: &Doc<Job>, tries: u32, failure: Failure) -> Result<Ended> {
    let (id, now) = (job.id(), runtime.clock().now());
    let text = failure.text.clone();
    let outcome = own::write(runtime, "record a failed job", move |db| job::fail(db, id, &failure, tries, now)).await?;
    let path = &*job.path;
    let figures = &runtime.scheduler().figures;
    match outcome {
        Failed::Again(next) => {
            figures.again.fetch_add(1, Relaxed);
            runtime.scheduler().wake(next);
            tracing::warn!(target: "convoke::job", job = %id, function = path, again_at = next.0, "{text}");
        }
        Failed::ForGood => {
            figures.failed.fetch_add(1, Relaxed);
            tracing::error!(target: "convoke::job", job = %id, function = path, "failed: {text}");
        }
        Failed::Gone => tracing::warn!(target: "convoke::job", job = %id, function = path, "not tried again: {text}"),
    }
    Ok(Ended::Ran)
}

/// Fails, or makes pending again, the actions that were running when the process before this one ended.
///
/// # Errors
/// A failure of the store.
pub(crate) async fn recover(runtime: &Runtime) -> Result<()> {
    let boot = runtime.boot();
    let left = own::read(runtime, move |db| {
        let running = db.query(Job::by_state).eq(JobState::Running).take(usize::MAX)?;
        Ok(running.into_iter().filter(|job| job.boot != Some(boot)).collect::<Vec<_>>())
    })
    .await?;
    for job in left {
        let tries = runtime.registry().get(&job.path).map_or(1, |function| job::tries(function.entry));
        let text = "INTERNAL: interrupted by a restart".to_owned();
        failed(runtime, &job, tries, Failure { run_at: job.run_at, text, for_good: false }).await?;
    }
    Ok(())
}
