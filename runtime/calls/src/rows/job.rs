//! The rows of scheduled work, and their state changes.
//!
//! The row of a pending mutation is deleted in the transaction of its effect. The row of an action is marked running,
//! and committed, before the action starts.

use convoke_macros::{table, value};

use super::outcome::{Ended, JobError};
use super::retry::{BACKOFF, Retry};
use super::run::OfRun;
use crate::function::{FunctionDef, Kind};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::{Caller, Identity};
use convoke_store::{Db, DbMut, Doc};
use serde::Serialize;
use serde_json::value::RawValue;

/// Default number of attempts of a mutation.
pub const MUTATION_TRIES: u32 = 5;
/// Default number of attempts of an action.
pub const ACTION_TRIES: u32 = 1;
/// Maximum bytes of the error in a row.
const ERROR_BYTES_MAX: usize = 2_048;

/// The kind of function that a job calls.
#[value(name = "JobKind")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// A mutation.
    Mutation,
    /// An action.
    Action,
}

/// The state of a job. A job that has succeeded or was cancelled has no row.
#[value(name = "JobState")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// The job waits for its time.
    Pending,
    /// An action that was started.
    Running,
    /// All its attempts failed. The row is stored for 30 days.
    Failed,
}

/// A call at a scheduled time.
#[table(name = "_jobs", prefix = "job")]
#[index(by_due(queue, kind, run_at), when(state = "pending"))]
#[index(by_lane(queue, state, lane, due_at), when(queue is not null))]
#[index(one_pending(path, key), unique, when(state = "pending"))]
#[index(by_state(state, finished_at))]
pub struct Job {
    /// The function's path.
    pub path: String,
    /// Kind of the function.
    pub kind: JobKind,
    /// The arguments' JSON.
    pub args: String,
    /// Identity that it runs as: issuer and subject. Both are empty for the runtime itself.
    pub issuer: Option<String>,
    /// See `issuer`.
    pub subject: Option<String>,
    /// Time at which it is due.
    pub run_at: Millis,
    /// Time at which it was requested, by the clock of that time, if `run_at` is a delay after it and not a time of
    /// day.
    pub asked_at: Option<Millis>,
    /// State.
    pub state: JobState,
    /// Key: at most one job per function and key is pending.
    pub key: Option<String>,
    /// Number of started attempts of an action, or of failed attempts of a mutation.
    pub attempts: u32,
    /// Error of the last attempt: the code and the chain of causes.
    pub last_error: Option<String>,
    /// Process that started it, while it is running.
    pub boot: Option<u32>,
    /// Start of its last attempt.
    pub started_at: Option<Millis>,
    /// Time of its final failure.
    pub finished_at: Option<Millis>,
    /// Queue that limits it.
    pub queue: Option<String>,
    /// Key within the queue; empty for a job without a key. None outside of queues.
    pub lane: Option<String>,
    /// Position in the order of its lane: its first time, or that of its next attempt if the lane has no order.
    pub due_at: Option<Millis>,
    /// Retries of an action that differ from those of its attribute.
    pub retry: Option<Retry>,
    /// Path of the mutation that receives the outcome.
    pub then: Option<String>,
    /// Run and step of a workflow that it belongs to.
    pub step: Option<OfRun>,
    /// The span that scheduled it, as a `traceparent`, if its trace is recorded.
    pub trace: Option<String>,
}

/// A function that runs on a schedule, and its next time.
#[table(name = "_crons", prefix = "cron")]
#[index(by_expression(path, expression), unique)]
#[index(by_next(next_at))]
pub struct Cron {
    /// The function's path.
    pub path: String,
    /// Its schedule, as a cron expression.
    pub expression: String,
    /// Next run.
    pub next_at: Millis,
    /// The job of its latest run.
    pub job: Option<Id<Job>>,
    /// The latest of its jobs that failed finally. One per cron is stored.
    pub failed: Option<Id<Job>>,
}

impl Job {
    /// Returns a pending job of the runtime itself, outside of queues.
    pub(crate) fn new(path: String, kind: JobKind, args: String, run_at: Millis) -> Self {
        Self {
            path,
            kind,
            args,
            issuer: None,
            subject: None,
            run_at,
            asked_at: None,
            state: JobState::Pending,
            key: None,
            attempts: 0,
            last_error: None,
            boot: None,
            started_at: None,
            finished_at: None,
            queue: None,
            lane: None,
            due_at: None,
            retry: None,
            then: None,
            step: None,
            trace: None,
        }
    }

    /// Returns the maximum number of attempts.
    pub(crate) fn tries(&self, function: &FunctionDef) -> u32 {
        self.retry.as_ref().map_or_else(|| tries(function), |retry| retry.tries)
    }

    /// Returns true if another attempt can have another result: after a failure with this error.
    pub(crate) fn is_retried_after(&self, error: &Error) -> bool {
        self.retry.is_none() || Retry::applies_to(error.code())
    }

    /// Returns the caller of the job. Its identity has only issuer and subject: the function reads everything else from
    /// the rows of that user.
    pub(crate) fn caller(&self) -> Caller {
        match (&self.issuer, &self.subject) {
            (Some(issuer), Some(subject)) => Caller::User(std::sync::Arc::new(Identity {
                issuer: issuer.clone(),
                subject: subject.clone(),
                ..Identity::default()
            })),
            _ => Caller::System,
        }
    }
}

/// Returns the maximum number of attempts of a function without a policy of its own.
fn tries(function: &FunctionDef) -> u32 {
    function.tries.unwrap_or(match function.kind {
        Kind::Query | Kind::Mutation => MUTATION_TRIES,
        Kind::Action => ACTION_TRIES,
    })
}

/// Returns true if this job is still as it was when it was read: it may have been cancelled, moved or run since.
fn is_unchanged(db: &Db, read: &Doc<Job>) -> Result<bool> {
    Ok(db.get(read.id())?.is_some_and(|job| {
        job.state == read.state && job.run_at == read.run_at && job.boot == read.boot && job.attempts == read.attempts
    }))
}

/// Deletes the row of a mutation, in the transaction that then runs it. The row is deleted before the function runs, so
/// that the function can schedule itself again under the same key.
pub(crate) fn consume(db: &mut DbMut, read: &Doc<Job>) -> Result<bool> {
    Ok(is_unchanged(db, read)? && db.delete(read.id())?)
}

/// Marks a pending action as running in process `boot`. Returns `false` if it is no longer pending.
pub(crate) fn claim(db: &mut DbMut, read: &Doc<Job>, boot: u32, now: Millis) -> Result<bool> {
    if !is_unchanged(db, read)? {
        return Ok(false);
    }
    db.patch(read.id(), |job| job.start(boot, now))?;
    Ok(true)
}

impl Job {
    /// Marks it as running in process `boot`.
    pub(crate) fn start(&mut self, boot: u32, now: Millis) {
        self.state = JobState::Running;
        self.attempts += u32::from(self.kind == JobKind::Action);
        self.boot = Some(boot);
        self.started_at = Some(now);
    }
}

/// Returns a running job that did not run after all to its place, due at `run_at`.
pub(crate) fn release(db: &mut DbMut, id: Id<Job>, boot: Option<u32>, run_at: Millis, now: Millis) -> Result<()> {
    let Some(job) = db.get(id)?.filter(|job| job.state == JobState::Running && job.boot == boot) else { return Ok(()) };
    if pending_of_key(db, &job.path, job.key.as_deref())?.is_some() {
        // The newer job of the key does the work of this one.
        return discard(db, &job, now);
    }
    db.patch_doc(job, |job| {
        job.state = JobState::Pending;
        job.attempts -= u32::from(job.kind == JobKind::Action).min(job.attempts);
        job.boot = None;
        job.run_at = run_at;
    })?;
    Ok(())
}

/// Checks that process `boot` still owns this attempt of an action.
///
/// # Errors
/// `CONFLICT` if the attempt was given up and may have been started by another process.
pub(crate) fn require_held(db: &Db, id: Id<Job>, attempt: u32, boot: u32) -> Result<()> {
    let is_held = db
        .get(id)?
        .is_some_and(|job| job.state == JobState::Running && job.boot == Some(boot) && job.attempts == attempt);
    if is_held {
        Ok(())
    } else {
        Err(Error::conflict("This node was unreachable, and its action counts as interrupted"))
    }
}

/// Deletes the row of an action that process `boot` has run, and returns it. An attempt that another process has started
/// in the meantime, because this process seemed dead, stays.
pub(crate) fn end(db: &mut DbMut, id: Id<Job>, boot: u32) -> Result<Option<Doc<Job>>> {
    let ended = db.get(id)?.filter(|job| job.state == JobState::Running && job.boot == Some(boot));
    if ended.is_some() {
        db.delete(id)?;
    }
    Ok(ended)
}

/// Schedules the mutation that receives the outcome of a job, in the transaction of its end.
pub(crate) fn report(db: &mut DbMut, job: &Doc<Job>, outcome: &Ended<&RawValue>, now: Millis) -> Result<()> {
    #[derive(Serialize)]
    struct Report<'a> {
        job: Id<Job>,
        args: &'a RawValue,
        outcome: &'a Ended<&'a RawValue>,
    }
    let Some(path) = job.then.clone() else { return Ok(()) };
    let args = serde_json::from_str(&job.args).map_err(Error::internal)?;
    let args = serde_json::to_string(&Report { job: job.id(), args, outcome }).map_err(Error::internal)?;
    let (issuer, subject) = (job.issuer.clone(), job.subject.clone());
    db.insert(Job { issuer, subject, asked_at: Some(now), ..Job::new(path, JobKind::Mutation, args, now) })?;
    Ok(())
}

/// Deletes a job that will not run, and reports it as cancelled.
pub(crate) fn discard(db: &mut DbMut, job: &Doc<Job>, now: Millis) -> Result<()> {
    report(db, job, &Ended::Cancelled, now)?;
    db.delete(job.id())?;
    Ok(())
}

/// The result of a failed attempt for its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    /// It is retried at this time.
    Retry(Millis),
    /// It stays as failed.
    Final,
    /// It was cancelled or moved, or a newer job with its key is pending. Nothing is left to do.
    Gone,
}

/// Records a failed attempt: of a mutation that was pending or claimed, or of a running action. `has_order` is true if
/// the jobs of its lane run in order.
pub(crate) fn fail(
    db: &mut DbMut,
    id: Id<Job>,
    failure: &Failure,
    tries: u32,
    has_order: bool,
    now: Millis,
) -> Result<AfterFailure> {
    let Some(job) = db.get(id)? else { return Ok(AfterFailure::Gone) };
    let attempts = match (job.state, job.kind) {
        (JobState::Pending, _) if job.run_at == failure.run_at => job.attempts + 1,
        (JobState::Running, JobKind::Mutation) if job.boot == failure.boot => job.attempts + 1,
        (JobState::Running, JobKind::Action) if job.boot == failure.boot => job.attempts,
        (JobState::Running | JobState::Pending | JobState::Failed, _) => return Ok(AfterFailure::Gone),
    };
    let again = !failure.for_good && attempts < tries;
    // A running job does not hold its key. A job that took the key in the meantime does the work of this one.
    if again && job.state == JobState::Running && pending_of_key(db, &job.path, job.key.as_deref())?.is_some() {
        discard(db, &job, now)?;
        return Ok(AfterFailure::Gone);
    }
    if !again && job.step.is_some() {
        // The journal of the run has the error.
        db.delete(id)?;
        return Ok(AfterFailure::Final);
    }
    if !again {
        report(db, &job, &Ended::Error(failure.error.clone()), now)?;
    }
    let next = now + job.retry.as_ref().unwrap_or(&BACKOFF).pause(id.bits(), attempts);
    db.patch_doc(job, |job| {
        job.attempts = attempts;
        job.last_error = Some(failure.text.clone());
        job.boot = None;
        if again {
            job.state = JobState::Pending;
            job.run_at = next;
            job.asked_at = Some(now);
            if !has_order {
                job.due_at = job.due_at.and(Some(next));
            }
        } else {
            job.state = JobState::Failed;
            job.finished_at = Some(now);
            // The outcome is reported once, even if the operator runs the job again.
            job.then = None;
        }
    })?;
    Ok(if again { AfterFailure::Retry(next) } else { AfterFailure::Final })
}

/// The error of an attempt, as stored in its row.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Time for which it was pending.
    pub run_at: Millis,
    /// The code and the chain of causes, truncated.
    pub text: String,
    /// The code and the message.
    pub error: JobError,
    /// For an action, the process that started it. Another process may own it by now.
    pub boot: Option<u32>,
    /// True if another attempt would fail in the same way.
    pub for_good: bool,
}

impl Failure {
    pub(crate) fn of(error: &Error, run_at: Millis) -> Self {
        let mut text = format!("{}: {}", error.code(), error.chain());
        text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
        Self { run_at, text, error: JobError::of(error), boot: None, for_good: false }
    }
}

/// Returns the pending job of a function and key.
pub(crate) fn pending_of_key(db: &Db, path: &str, key: Option<&str>) -> Result<Option<Doc<Job>>> {
    let Some(key) = key else { return Ok(None) };
    Ok(db.query(Job::one_pending).eq(path).eq(key).unique()?)
}
