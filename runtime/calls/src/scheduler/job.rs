//! The rows of scheduled work, and the moves they make.
//!
//! A mutation's row goes from pending to gone, in the transaction that has its effect. An action's row is marked
//! running, and committed as that, before it starts.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use convoke_macros::{table, value};

use crate::function::{FunctionDef, Kind};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::{Caller, Identity};
use convoke_store::{Db, DbMut};

/// How often a mutation is tried unless its function says otherwise.
pub const MUTATION_TRIES: u32 = 5;
/// How often an action is started unless its function says otherwise.
pub const ACTION_TRIES: u32 = 1;
/// The pause after the first failure; each further one is four times as long.
const BACKOFF_MIN: Duration = Duration::from_secs(1);
/// The longest pause.
const BACKOFF_MAX: Duration = Duration::from_secs(3_600);
/// Bytes of the error that a row keeps.
const ERROR_BYTES_MAX: usize = 2_048;

/// What a job calls.
#[value(name = "JobKind")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// A mutation.
    Mutation,
    /// An action.
    Action,
}

/// Where a job stands. One that has succeeded or was cancelled has no row.
#[value(name = "JobState")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Waits for its time.
    Pending,
    /// An action that was started.
    Running,
    /// All its tries failed. Kept for 30 days.
    Failed,
}

/// A call that is to be made at a time.
#[table(name = "_jobs", prefix = "job")]
#[index(by_due(kind, run_at), when(state = "pending"))]
#[index(one_pending(path, key), unique, when(state = "pending"))]
#[index(by_state(state, finished_at))]
pub struct Job {
    /// The function's path.
    pub path: String,
    /// What kind of function that is.
    pub kind: JobKind,
    /// The arguments' JSON.
    pub args: String,
    /// Whom it runs as: the issuer and subject of an identity, or neither for the runtime itself.
    pub issuer: Option<String>,
    /// See `issuer`.
    pub subject: Option<String>,
    /// When it is due.
    pub run_at: Millis,
    /// When it was asked for, by the clock of then, if `run_at` is a delay after that and no time of day.
    pub asked_at: Option<Millis>,
    /// Where it stands.
    pub state: JobState,
    /// Of the jobs of one function with one key at most one is pending.
    pub key: Option<String>,
    /// Attempts that were begun, for an action; that failed, for a mutation.
    pub attempts: u32,
    /// What the last attempt failed with: the code and the chain of causes.
    pub last_error: Option<String>,
    /// The process that started it, while it is running.
    pub boot: Option<u32>,
    /// When its last attempt began.
    pub started_at: Option<Millis>,
    /// When it failed for good.
    pub finished_at: Option<Millis>,
}

/// A function that runs by itself, and when it does so next.
#[table(name = "_crons", prefix = "cron")]
#[index(by_expression(path, expression), unique)]
#[index(by_next(next_at))]
pub struct Cron {
    /// The function's path.
    pub path: String,
    /// Its schedule, as a cron expression.
    pub expression: String,
    /// When it runs next.
    pub next_at: Millis,
    /// The job of its newest run.
    pub job: Option<Id<Job>>,
    /// The newest of its jobs that failed for good: one a cron is kept.
    pub failed: Option<Id<Job>>,
}

impl Job {
    /// Whom the job runs as. An identity has its issuer and subject only: what runs as it takes everything else
    /// from the rows of that user.
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

/// How often a function is tried.
pub(crate) fn tries(function: &FunctionDef) -> u32 {
    function.tries.unwrap_or(match function.kind {
        Kind::Query | Kind::Mutation => MUTATION_TRIES,
        Kind::Action => ACTION_TRIES,
    })
}

/// Whether this job is still pending for this time: it may have been cancelled, moved or run meanwhile.
fn still_pending(db: &Db, id: Id<Job>, run_at: Millis) -> Result<bool> {
    Ok(db.get(id)?.is_some_and(|job| job.state == JobState::Pending && job.run_at == run_at))
}

/// Takes a pending mutation's row away, in the transaction that then runs it. First the row, then the function: so
/// that the function can schedule itself again under the same key.
pub(crate) fn consume(db: &mut DbMut, id: Id<Job>, run_at: Millis) -> Result<bool> {
    Ok(still_pending(db, id, run_at)? && db.delete(id)?)
}

/// Marks a pending action as running in process `boot`; `false` if it is not pending any more.
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

/// Whether an action is still the one that process `boot` has started as this attempt.
///
/// # Errors
/// `CONFLICT` if it was given up, and perhaps started by another process.
pub(crate) fn require_held(db: &Db, id: Id<Job>, attempt: u32, boot: u32) -> Result<()> {
    let is_held = db
        .get(id)?
        .is_some_and(|job| job.state == JobState::Running && job.boot == Some(boot) && job.attempts == attempt);
    if is_held {
        Ok(())
    } else {
        Err(Error::conflict("This node was not heard of, and the action counts as interrupted"))
    }
}

/// Ends an action that process `boot` has run. What another one has started meanwhile, since this one seemed dead, stays.
pub(crate) fn end(db: &mut DbMut, id: Id<Job>, boot: u32) -> Result<()> {
    if db.get(id)?.is_some_and(|job| job.state == JobState::Running && job.boot == Some(boot)) {
        db.delete(id)?;
    }
    Ok(())
}

/// What becomes of a job whose attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// It is tried again at this time.
    Again(Millis),
    /// It stays as failed.
    ForGood,
    /// It was cancelled, moved, or a newer one of its key is pending: nothing is left to do.
    Gone,
}

/// Records a failed attempt of a mutation that was pending for `run_at`, or of an action that is running.
pub(crate) fn fail(db: &mut DbMut, id: Id<Job>, failure: &Failure, tries: u32, now: Millis) -> Result<Failed> {
    let Some(job) = db.get(id)? else { return Ok(Failed::Gone) };
    let attempts = match job.state {
        JobState::Pending if job.run_at == failure.run_at => job.attempts + 1,
        JobState::Running if job.boot == failure.boot => job.attempts,
        JobState::Running | JobState::Pending | JobState::Failed => return Ok(Failed::Gone),
    };
    let again = !failure.for_good && attempts < tries;
    // A running action gave its key free; the job that took it meanwhile does this one's work.
    if again && job.state == JobState::Running && pending_of_key(db, &job.path, job.key.as_deref())?.is_some() {
        db.delete(id)?;
        return Ok(Failed::Gone);
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
    Ok(if again { Failed::Again(next) } else { Failed::ForGood })
}

/// Why an attempt failed, as its row keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The time it was pending for.
    pub run_at: Millis,
    /// The code and the chain of causes, cut.
    pub text: String,
    /// The process that started it, of an action: another one may have it by now.
    pub boot: Option<u32>,
    /// Whether another attempt would fail the same way.
    pub for_good: bool,
}

impl Failure {
    pub(crate) fn of(error: &Error, run_at: Millis) -> Self {
        let mut text = format!("{}: {}", error.code(), error.chain());
        text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
        Self { run_at, text, boot: None, for_good: false }
    }
}

/// The pending job of a function and key.
pub(crate) fn pending_of_key(db: &Db, path: &str, key: Option<&str>) -> Result<Option<convoke_store::Doc<Job>>> {
    let Some(key) = key else { return Ok(None) };
    Ok(db.query(Job::one_pending).eq(path).eq(key).unique()?)
}

/// The pause after so many failed attempts: four times as long each, up to an hour, and up to a quarter longer, so
/// that those who failed together do not come back together. Chance is the job's own, the same whenever it is asked.
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
    fn pauses_grow_fourfold_to_an_hour_with_up_to_a_quarter_of_chance() {
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
