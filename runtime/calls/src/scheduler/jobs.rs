//! What an operator sees of scheduled work, and may do about it.

use super::job::{Cron, Job, JobState};
use super::schedule;
use crate::services::Services;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::{Cursor, Doc, Order, Page};

/// The scheduled work of a runtime.
pub struct Jobs<'a>(pub(crate) &'a Services);

impl Jobs<'_> {
    /// The jobs in a state, at most `rows_max` behind `cursor`; failed ones newest first, others by their age.
    ///
    /// # Errors
    /// A cursor of another list; a failure of the store.
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

    /// How many jobs are in a state.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn count(&self, state: JobState) -> Result<u64> {
        self.0.database().read(move |db| Ok(db.query(Job::by_state).eq(state).count()?)).await
    }

    /// The functions that run by themselves.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn crons(&self) -> Result<Vec<Doc<Cron>>> {
        self.0.database().read(|db| Ok(db.query(Cron::by_next).take(usize::MAX)?)).await
    }

    /// Takes a pending job back; `false` if there is none.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn cancel(&self, job: Id<Job>) -> Result<bool> {
        self.0.database().write("cancel", move |db| schedule::cancel(db, job)).await
    }

    /// Makes a failed job pending again, at once and with all its tries.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no failed job with this id; `CONFLICT` if one of its function and key is pending.
    pub async fn retry(&self, job: Id<Job>) -> Result<()> {
        let now = self.0.clock().now();
        self.0
            .database()
            .write("retry a job", move |db| {
                let failed = db.get(job)?.filter(|job| job.state == JobState::Failed);
                let failed = failed.ok_or_else(|| Error::not_found("No failed job has this id"))?;
                db.patch_doc(failed, |job| {
                    job.state = JobState::Pending;
                    job.run_at = now;
                    job.asked_at = Some(now);
                    job.attempts = 0;
                    job.finished_at = None;
                })?;
                Ok(())
            })
            .await?;
        self.0.alarm().wake(now);
        Ok(())
    }
}
