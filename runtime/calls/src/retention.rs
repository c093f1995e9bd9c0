//! The retention of the runtime's own tables.

use std::time::Duration;

use crate::call::idempotency::{REMEMBERED, StoredResult};
use crate::runtime::Runtime;
use crate::scheduler::{Job, JobState};
use crate::workflow;
use convoke_core::error::Result;
use convoke_store::Doc;
use convoke_store::database::SWEEP_ROWS;

/// Retention of failed jobs.
pub const FAILED_JOBS_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Runtime {
    /// Removes expired rows, in transactions of some milliseconds each.
    ///
    /// # Errors
    /// A failure of the store; the next run continues.
    pub async fn remove_expired(&self) -> Result<()> {
        let now = self.clock().now();
        self.database()
            .sweep("remove failed jobs", move |db| {
                let old = ..now - FAILED_JOBS_KEPT;
                let jobs = db.query(Job::by_state).eq(JobState::Failed).range(old).take(SWEEP_ROWS)?;
                Ok(jobs.iter().map(Doc::id).collect())
            })
            .await?;
        let before = now - self.limits().workflow_kept;
        while self.database().write("remove ended runs", move |db| workflow::runs::sweep(db, before)).await? {}
        self.database()
            .sweep("remove idempotency results", move |db| {
                let results = db.query(StoredResult::by_time).range(..now - REMEMBERED).take(SWEEP_ROWS)?;
                Ok(results.iter().map(Doc::id).collect())
            })
            .await
    }
}
