//! The rows of scheduled work, and their state changes.
//!
//! The row of a pending mutation is deleted in the transaction of its effect. The row of an action is marked running,
//! and committed, before the action starts.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use convoke_macros::{table, value};

use crate::function::{FunctionDef, Kind};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::{Caller, Identity};
use convoke_store::{Db, DbMut};

/// Default number of attempts of a mutation.
pub const MUTATION_TRIES: u32 = 5;
/// Default number of attempts of an action.
pub const ACTION_TRIES: u32 = 1;
/// Pause after the first failure. Each further pause is four times as long.
const BACKOFF_MIN: Duration = Duration::from_secs(1);
/// Maximum pause.
const BACKOFF_MAX: Duration = Duration::from_secs(3_600);
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
#[index(by_due(kind, run_at), when(state = "pending"))]
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

/// Returns the maximum number of attempts of a function.
pub(crate) fn tries(function: &FunctionDef) -> u32 {
    function.tries.unwrap_or(match function.kind {
        Kind::Query | Kind::Mutation => MUTATION_TRIES,
        Kind::Action => ACTION_TRIES,
    })
}

/// Returns true if this job is still pending for this time: it may have been cancelled, moved or run in the meantime.
fn still_pending(db: &Db, id: Id<Job>, run_at: Millis) -> Result<bool> {
    Ok(db.get(id)?.is_some_and(|job| job.state == JobState::Pending && job.run_at == run_at))
}

/// Deletes a pending mutation's row, in the transaction that then runs it. The row is deleted before the function runs,
/// so that the function can schedule itself again under the same key.
pub(crate) fn consume(db: &mut DbMut, id: Id<Job>, run_at: Millis) -> Result<bool> {
    Ok(still_pending(db, id, run_at)? && db.delete(id)?)
}

/// Marks a pending action as running in process `boot`. Returns `false` if it is no longer pending.
pub(crate) fn claim(db: &mut DbMut, id: Id<Job>, run_at: Millis, boot: u32, now: Millis) -> Result<bool> {
    if !still_pending(db, id, run_at)? {
        return Ok(false);
    }
    db.patch(id, |job| {
        job.state = JobState::Running;
        job.attempts += 1;
        job.boot = Some(boot);
        job.started_at = Some(now);
    })?;
    Ok(true)
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

/// Deletes the row of an action that process `boot` has run. An attempt that another process has started in the
/// meantime, because this process seemed dead, stays.
pub(crate) fn end(db: &mut DbMut, id: Id<Job>, boot: u32) -> Result<()> {
    if db.get(id)?.is_some_and(|job| job.state == JobState::Running && job.boot == Some(boot)) {
        db.delete(id)?;
    }
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

/// Records a failed attempt: of a mutation that was pending for `run_at`, or of a running action.
pub(crate) fn fail(db: &mut DbMut, id: Id<Job>, failure: &Failure, tries: u32, now: Millis) -> Result<AfterFailure> {
    let Some(job) = db.get(id)? else { return Ok(AfterFailure::Gone) };
    let attempts = match job.state {
        JobState::Pending if job.run_at == failure.run_at => job.attempts + 1,
        JobState::Running if job.boot == failure.boot => job.attempts,
        JobState::Running | JobState::Pending | JobState::Failed => return Ok(AfterFailure::Gone),
    };
    let again = !failure.for_good && attempts < tries;
    // A running action does not hold its key. A job that took the key in the meantime does the work of this one.
    if again && job.state == JobState::Running && pending_of_key(db, &job.path, job.key.as_deref())?.is_some() {
        db.delete(id)?;
        return Ok(AfterFailure::Gone);
    }
    let next = now + backoff(id, attempts);
    db.patch_doc(job, |job| {
        job.attempts = attempts;
        job.last_error = Some(failure.text.clone());
        job.boot = None;
        if again {
            job.state = JobState::Pending;
            job.run_at = next;
            job.asked_at = Some(now);
        } else {
            job.state = JobState::Failed;
            job.finished_at = Some(now);
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
    /// For an action, the process that started it. Another process may own it by now.
    pub boot: Option<u32>,
    /// True if another attempt would fail in the same way.
    pub for_good: bool,
}

impl Failure {
    pub(crate) fn of(error: &Error, run_at: Millis) -> Self {
        let mut text = format!("{}: {}", error.code(), error.chain());
        text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
        Self { run_at, text, boot: None, for_good: false }
    }
}

/// Returns the pending job of a function and key.
pub(crate) fn pending_of_key(db: &Db, path: &str, key: Option<&str>) -> Result<Option<convoke_store::Doc<Job>>> {
    let Some(key) = key else { return Ok(None) };
    Ok(db.query(Job::one_pending).eq(path).eq(key).unique()?)
}

/// Returns the pause after a number of failed attempts: it grows fourfold, up to an hour, plus up to a quarter of
/// jitter, so that jobs that failed together do not retry together. The jitter depends on the job's id only, so it is
/// the same on each call.
fn backoff(id: Id<Job>, attempts: u32) -> Duration {
    let plain = BACKOFF_MIN.saturating_mul(4u32.saturating_pow(attempts.saturating_sub(1))).min(BACKOFF_MAX);
    let mut hasher = DefaultHasher::new();
    (id.bits(), attempts).hash(&mut hasher);
    plain + plain.mul_f64(f64::from(u16::try_from(hasher.finish() % 1_000).unwrap_or(0)) / 4_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_fourfold_to_an_hour_with_up_to_a_quarter_of_jitter() {
        for id in 0..50u128 {
            for (attempts, plain) in [(1, 1), (2, 4), (3, 16), (4, 64), (7, 3_600), (40, 3_600)] {
                let pause = backoff(Id::from_bits(id), attempts);
                let plain = Duration::from_secs(plain);
                assert!(pause >= plain && pause < plain + plain / 4, "{attempts}: {pause:?}");
                assert_eq!(pause, backoff(Id::from_bits(id), attempts));
            }
        }
        let pauses: std::collections::HashSet<_> = (0..50u128).map(|id| backoff(Id::from_bits(id), 3)).collect();
        assert!(pauses.len() > 40);
    }
}
