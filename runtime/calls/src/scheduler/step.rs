//! The results of jobs that belong to a run of a workflow, and the jobs that only advance one.

use serde_json::value::RawValue;

use crate::rows::job::{AfterFailure, Failure, Job, JobKind, JobState};
use crate::rows::run::{OfRun, RunPart, RunState};
use crate::workflow::advance::{Advancer, StepEnd, Suspended, Upcoming};
use crate::workflow::journal;
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_store::{DbMut, Doc};

/// Records the value of a step or of a compensation, and advances its run.
pub(super) fn succeeded(
    runs: &Advancer,
    db: &mut DbMut,
    (job, of): (&Doc<Job>, &OfRun),
    (value, suspended): (Option<&RawValue>, Option<Suspended>),
    now: Millis,
) -> Result<Upcoming> {
    match of.part {
        RunPart::Step => {
            let result = Ok(value.map(|value| value.get().to_owned()));
            runs.complete(db, of, StepEnd { result, must_fit: job.kind == JobKind::Mutation, suspended }, now)
        }
        RunPart::Undo => {
            journal::undone(db, of, None)?;
            runs.advance(db, of.run, now)
        }
        RunPart::Advance | RunPart::Timer => runs.advance(db, of.run, now),
    }
}

/// Advances a run, after the end of a pause or of the time for a wait.
pub(super) fn advance(runs: &Advancer, db: &mut DbMut, of: &OfRun, now: Millis) -> Result<Upcoming> {
    match of.part {
        RunPart::Timer => runs.complete(db, of, Ok(None), now),
        RunPart::Advance | RunPart::Step | RunPart::Undo => runs.advance(db, of.run, now),
    }
}

/// Blocks the run of a job whose function does not fit. The job is due again at `run_at`.
pub(super) fn block(db: &mut DbMut, read: &Doc<Job>, reason: &str, boot: u32, run_at: Millis) -> Result<()> {
    let (Some(of), Some(job)) = (&read.step, db.get(read.id())?) else { return Ok(()) };
    if job.state != read.state || job.run_at != read.run_at {
        return Ok(());
    }
    db.patch_doc(job, |job| (job.state, job.boot, job.run_at) = (JobState::Pending, None, run_at))?;
    match db.get(of.run)? {
        Some(run) if !run.state.is_end() => journal::block(db, run, reason.to_owned(), boot),
        Some(_) | None => Ok(()),
    }
}

/// Records a failed attempt of a step or of a compensation. After the last attempt, advances its run.
pub(super) fn failed(
    runs: &Advancer,
    db: &mut DbMut,
    of: &OfRun,
    failure: &Failure,
    outcome: AfterFailure,
    now: Millis,
) -> Result<()> {
    match (outcome, of.part) {
        (AfterFailure::Gone, _) | (_, RunPart::Advance | RunPart::Timer) => Ok(()),
        (AfterFailure::Retry(_), _) => {
            journal::note_failure(db, of, &failure.text)?;
            // A run that was cancelled meanwhile gives the step up.
            match db.get(of.run)?.is_some_and(|run| run.state == RunState::Undoing) {
                true => runs.advance(db, of.run, now).map(drop),
                false => Ok(()),
            }
        }
        (AfterFailure::Final, RunPart::Step) => {
            journal::note_failure(db, of, &failure.text)?;
            runs.complete(db, of, Err(failure.error.clone()), now).map(drop)
        }
        (AfterFailure::Final, RunPart::Undo) => {
            journal::undone(db, of, Some(&failure.error))?;
            runs.advance(db, of.run, now).map(drop)
        }
    }
}
