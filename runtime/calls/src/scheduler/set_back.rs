//! A clock that was set back: work that was due before must not wait until the old time comes again.
//!
//! A job that was requested with a delay becomes due sooner by the amount that the clock was set back, so that its
//! delay stays the same. A job for a time of day waits for that time. The process notices a jump at its next reading of
//! the clock. A jump between two processes shows in the rows: a job that was requested in the future. A clock that was
//! set forward needs no handling: due work runs.

use super::clock::SetBack;
use super::state::Scheduler;
use crate::rows::job::{Job, JobState};
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::id::Id;
use convoke_store::{Db, DbMut};

/// Rows per transaction: some milliseconds of the writer.
const ROWS: usize = 100;

impl Scheduler {
    /// Reads the clock. If it was set back, moves crons and jobs to earlier times. Returns the time.
    ///
    /// # Errors
    /// A failure of the store; the next reading retries.
    pub(super) async fn follow_clock(&self) -> Result<Millis> {
        let (now, monotonic) = (self.services().clock().now(), self.services().clock().monotonic());
        let set_back = self.looked.lock().look(now, monotonic);
        if let Some(set_back) = set_back {
            self.enter_crons().await?;
            let moved = self.bring_forward(now, set_back).await?;
            self.looked.lock().has_followed();
            let by_ms = u64::try_from(set_back.by.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(target: "convoke::job", by_ms, moved, "the clock was set back; jobs were moved to earlier times");
        }
        Ok(now)
    }

    async fn bring_forward(&self, now: Millis, set_back: SetBack) -> Result<usize> {
        let pending = self.services().database().read(pending).await?;
        let mut moved = 0;
        for jobs in pending.chunks(ROWS) {
            let jobs = jobs.to_vec();
            let work = move |db: &mut DbMut| {
                let moved = jobs.iter().map(|job| bring_forward(db, *job, now, set_back));
                moved.sum::<Result<usize>>()
            };
            moved += self.services().database().write("bring jobs forward", work).await?;
        }
        Ok(moved)
    }
}

fn pending(db: &Db) -> Result<Vec<Id<Job>>> {
    let keys = db.query(Job::by_state).eq(JobState::Pending).keys(usize::MAX)?;
    Ok(keys.into_iter().map(|(id, _)| id).collect())
}

/// Returns the number of moved jobs: one or zero.
fn bring_forward(db: &mut DbMut, id: Id<Job>, now: Millis, set_back: SetBack) -> Result<usize> {
    let Some(job) = db.get(id)?.filter(|job| job.state == JobState::Pending && job.run_at > now) else { return Ok(0) };
    let Some(asked_at) = job.asked_at else { return Ok(0) };
    let sooner = set_back.sooner(asked_at, now);
    if sooner.is_zero() {
        return Ok(0);
    }
    db.patch_doc(job, |job| {
        job.run_at = job.run_at - sooner;
        job.due_at = job.due_at.map(|due_at| due_at - sooner);
        job.asked_at = Some(asked_at - sooner);
    })?;
    Ok(1)
}
