//! The operator's view of scheduled work, and its commands.

use super::schedule;
use crate::rows::job::{Cron, Job, JobState};
use crate::services::Services;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::{Cursor, Doc, Order, Page};

/// The scheduled work of a runtime.
pub struct Jobs<'a>(pub(crate) &'a Services);

impl Jobs<'_> {
    /// Returns the jobs in a state, at most `rows_max` after `cursor`: failed jobs newest first, others oldest first.
    ///
    /// # Errors
    /// The cursor belongs to another list; a failure of the store.
    pub async fn list(&self, state: JobState, cursor: Option<Cursor>, rows_max: usize) -> Result<Page<Doc<Job>>> {
        let order = match state {
            JobState::Pending | JobState::Running => Order::Asc,
            JobState::Failed => Order::Desc,
        };
        self.0
            .database()
            .read(move |db| Ok(db.query(Job::by_state).eq(state).order(order).page(cursor.as_ref(), rows_max)?))
            .await
    }

    /// Returns the number of jobs in a state.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn count(&self, state: JobState) -> Result<u64> {
        self.0.database().read(move |db| Ok(db.query(Job::by_state).eq(state).count()?)).await
    }

    /// Returns the crons.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn crons(&self) -> Result<Vec<Doc<Cron>>> {
        self.0.database().read(|db| Ok(db.query(Cron::by_next).take(usize::MAX)?)).await
    }

    /// Cancels a pending job. Returns `false` if there is no such job.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn cancel(&self, job: Id<Job>) -> Result<bool> {
        let now = self.0.clock().now();
        let cancelled = self.0.database().write("cancel", move |db| schedule::cancel(db, job, now)).await?;
        self.0.alarm().wake(now);
        Ok(cancelled)
    }

    /// Makes a job due now: a failed job with all its attempts, a pending job with its remaining attempts.
    ///
    /// # Errors
    /// `NOT_FOUND` if no failed or pending job has this id; `CONFLICT` if a pending job has the key of the failed one.
    pub async fn retry(&self, job: Id<Job>) -> Result<()> {
        let now = self.0.clock().now();
        self.0
            .database()
            .write("retry a job", move |db| {
                let waits = |job: &Job| matches!(job.state, JobState::Failed | JobState::Pending);
                let found = db.get(job)?.filter(|job| waits(job));
                let found = found.ok_or_else(|| Error::not_found("No failed or pending job has this id"))?;
                if found.state == JobState::Pending && found.run_at <= now {
                    return Ok(());
                }
                db.patch_doc(found, |job| {
                    if job.state == JobState::Failed {
                        job.state = JobState::Pending;
                        job.attempts = 0;
                        job.finished_at = None;
                    }
                    job.run_at = now;
                    job.asked_at = Some(now);
                })?;
                Ok(())
            })
            .await?;
        self.0.alarm().wake(now);
        Ok(())
    }
}
