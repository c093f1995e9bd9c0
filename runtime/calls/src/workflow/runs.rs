//! The operator's view of runs, and its commands.

use super::advance;
use super::journal;
use crate::rows::job;
use crate::rows::run::{OfRun, Run, RunPart, RunState, Step, StepState};
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::database::SWEEP_ROWS;
use convoke_store::{Cursor, Db, DbMut, Doc, Order, Page};

/// Maximum number of blocked runs that are checked again at a start.
const BLOCKED_MAX: usize = 10_000;

/// The runs of a runtime.
pub struct Runs<'a>(pub(crate) &'a Services);

impl Runs<'_> {
    /// Returns the runs in a state, newest first, at most `rows_max` after `cursor`.
    ///
    /// # Errors
    /// The cursor belongs to another list; a failure of the store.
    pub async fn list(&self, state: RunState, cursor: Option<Cursor>, rows_max: usize) -> Result<Page<Doc<Run>>> {
        let list =
            move |db: &Db| Ok(db.query(Run::by_state).eq(state).order(Order::Desc).page(cursor.as_ref(), rows_max)?);
        self.0.database().read(list).await
    }

    /// Returns the number of runs in a state.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn count(&self, state: RunState) -> Result<u64> {
        self.0.database().read(move |db| Ok(db.query(Run::by_state).eq(state).count()?)).await
    }

    /// Returns a run and its steps.
    ///
    /// # Errors
    /// `NOT_FOUND`: there is no such run.
    pub async fn show(&self, run: Id<Run>) -> Result<(Doc<Run>, Vec<Doc<Step>>)> {
        self.0.database().read_admin(move |db| Ok((found(db, run)?, journal::steps(db, run)?))).await
    }

    /// Cancels a run. Returns `false` if it has ended or is being undone.
    ///
    /// # Errors
    /// `NOT_FOUND`: there is no such run.
    pub async fn cancel(&self, run: Id<Run>) -> Result<bool> {
        self.change("cancel a run", move |db, now| advance::cancel(db, run, now)).await
    }

    /// As [`MutationCtx::retry_run`](crate::MutationCtx::retry_run).
    ///
    /// # Errors
    /// As there.
    pub async fn retry(&self, run: Id<Run>) -> Result<()> {
        self.change("retry a run", move |db, now| retry(db, run, now)).await
    }

    /// As [`MutationCtx::resume_run`](crate::MutationCtx::resume_run).
    ///
    /// # Errors
    /// As there.
    pub async fn resume(&self, run: Id<Run>, from: u32) -> Result<()> {
        self.change("resume a run", move |db, now| resume(db, run, from, now)).await
    }

    /// Schedules the check of blocked runs that this process has not found blocked: its code may fit them.
    pub(crate) async fn wake_blocked(&self) -> Result<()> {
        let boot = self.0.process();
        let blocked = move |db: &Db| {
            let blocked = db.query(Run::by_state).eq(RunState::Blocked).take(BLOCKED_MAX)?;
            Ok(blocked.into_iter().filter(|run| run.blocked_by != Some(boot)).collect::<Vec<_>>())
        };
        for runs in self.0.database().read(blocked).await?.chunks(SWEEP_ROWS) {
            let runs = runs.to_vec();
            self.change("wake blocked runs", move |db, now| {
                runs.iter().try_for_each(|run| journal::wake(db, run, now).map(drop))
            })
            .await?;
        }
        Ok(())
    }

    async fn change<R: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut DbMut, Millis) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let now = self.0.clock().now();
        let changed = self.0.database().write(name, move |db| work(db, now)).await?;
        self.0.alarm().wake(now);
        Ok(changed)
    }
}

fn found(db: &Db, run: Id<Run>) -> Result<Doc<Run>> {
    db.get(run)?.ok_or_else(|| Error::not_found("No run has this id"))
}

/// Retries the failed steps of a failed run, or checks a blocked run again.
pub(super) fn retry(db: &mut DbMut, id: Id<Run>, now: Millis) -> Result<()> {
    let run = found(db, id)?;
    match run.state {
        RunState::Blocked => return journal::wake(db, &run, now).map(drop),
        RunState::Failed => {}
        RunState::Active | RunState::Undoing | RunState::Completed | RunState::Cancelled => {
            return Err(Error::failed_precondition(format!(
                "The run is {}; only a failed or blocked run can be retried",
                run.state.as_str()
            )));
        }
    }
    let steps = journal::steps(db, id)?;
    let failed = steps.iter().find(|step| step.state == StepState::Failed).map(|step| step.position);
    resume(db, id, failed.unwrap_or_else(|| next(&steps)), now)
}

/// Forgets the steps from a position, and schedules an advance.
pub(super) fn resume(db: &mut DbMut, id: Id<Run>, from: u32, now: Millis) -> Result<()> {
    let run = found(db, id)?;
    let steps = journal::steps(db, id)?;
    if run.state == RunState::Undoing || steps.iter().any(|step| step.undone.is_some()) {
        return Err(Error::failed_precondition("Steps of the run were undone; start another run"));
    }
    if from > next(&steps) {
        let message = format!("from: the run has no step {from}; its next one is {}", next(&steps));
        return Err(Error::invalid_argument("from", message));
    }
    for step in &steps {
        if step.position >= from && step.state == StepState::Pending && journal::is_running(db, step)? {
            let message = format!("Step {} runs now; try again when it has ended", step.position);
            return Err(Error::failed_precondition(message));
        }
    }
    for step in steps {
        // Steps that the end of the run gave up wait again.
        if step.position >= from || (run.state.is_end() && step.state == StepState::Abandoned) {
            forget(db, &run, &step)?;
        }
    }
    let run = db.patch_doc(run, |run| {
        run.state = RunState::Active;
        run.is_cancelled = false;
        (run.value, run.error, run.blocked, run.ended_at) = (None, None, None, None);
    })?;
    journal::wake(db, &run, now).map(drop)
}

/// Returns the position of the step after these.
fn next(steps: &[Doc<Step>]) -> u32 {
    steps.iter().map(|step| step.position + 1).max().unwrap_or_default()
}

fn forget(db: &mut DbMut, run: &Doc<Run>, step: &Doc<Step>) -> Result<()> {
    for (part, path) in [(RunPart::Step, &step.name), (RunPart::Timer, &run.path)] {
        let key = OfRun { run: run.id(), position: step.position, part }.key();
        if let Some(job) = job::pending_of_key(db, path, Some(&key))? {
            db.delete(job.id())?;
        }
    }
    db.delete(step.id())?;
    Ok(())
}

/// Deletes some rows of runs that ended before `before`. Returns true if more may follow.
pub(crate) fn sweep(db: &mut DbMut, before: Millis) -> Result<bool> {
    for state in [RunState::Completed, RunState::Failed, RunState::Cancelled] {
        let Some(run) = db.query(Run::by_state).eq(state).range(..before).first()? else { continue };
        let steps = db.query(Step::by_run).eq(run.id()).take(SWEEP_ROWS)?;
        if steps.len() < SWEEP_ROWS {
            db.delete(run.id())?;
        }
        for step in steps {
            db.delete(step.id())?;
        }
        return Ok(true);
    }
    Ok(false)
}
