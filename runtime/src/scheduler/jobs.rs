//! What an operator sees of scheduled work, and may do about it.

use super::job::{Cron, Job, JobState};
use super::schedule;
use crate::call::own;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::runtime::Runtime;
use crate::store::{Cursor, Doc, Order, Page};

/// The scheduled work of a runtime.
pub struct Jobs<'a>(pub(crate) &'a Runtime);

impl Jobs<'_> {
    /// The jobs in a state, at most `rows_max` behind `cursor`; failed ones newest first, others by their age.
    ///
    /// # Errors
    /// A cursor of another list; a failure of the store.
    pub async fn list(&self, state: JobState, cursor: Option<Cursor>, rows_max: usize) -> Result<Page<Doc<Job>>> {
        let order = match state {
            JobState::Pending | JobState::Running => Order::Forward,
            JobState::Failed => Order::Reverse,
        };
        own::read(self.0, move |db| {
            Ok(db.query(Job::by_state).eq(state).order(order).page(cursor.as_ref(), rows_max)?)
        })
        .await
    }

    /// How many jobs are in a state.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn count(&self, state: JobState) -> Result<u64> {
        own::read(self.0, move |db| Ok(db.query(Job::by_state).eq(state).count()?)).await
    }

    /// The functions that run by themselves.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn crons(&self) -> Result<Vec<Doc<Cron>>> {
        own::read(self.0, |db| Ok(db.query(Cron::by_next).take(usize::MAX)?)).await
    }

    /// Takes a pending job back; `false` if there is none.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn cancel(&self, job: Id<Job>) -> Result<bool> {
        own::write(self.0, "cancel", move |db| schedule::cancel(db, job)).await
    }

    /// Makes a failed job pending again, at once and with all its tries.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no failed job with this id; `CONFLICT` if one of its function and key is pending.
    pub async fn retry(&self, job: Id<Job>) -> Result<()> {
        let now = self.0.clock().now();
        own::write(self.0, "retry a job", move |db| {
            let failed = db.get(job)?.filter(|job| job.state == JobState::Failed);
            let failed = failed.ok_or_else(|| Error::not_found("No failed job has this id"))?;
            db.patch_doc(failed, |job| {
                job.state = JobState::Pending;
                job.run_at = now;
                job.attempts = 0;
                job.finished_at = None;
            })?;
            Ok(())
        })
        .await?;
        self.0.scheduler().wake(now);
        Ok(())
    }
}
