//! What the runtime keeps in its own tables, and for how long.

use std::time::Duration;

use crate::admin::audit::{self, KeyUse};
use crate::auth::key_ring::DeployKey;
use crate::call::idempotency::{REMEMBERED, StoredResult};
use crate::call::own;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::scheduler::{Job, JobState};
use crate::store::Doc;

/// How long a failed job stays visible.
pub const FAILED_JOBS_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Runtime {
    /// Removes what has been kept long enough, in transactions of some milliseconds each.
    ///
    /// # Errors
    /// A failure of the store; the next run goes on.
    pub async fn remove_expired(&self) -> Result<()> {
        let now = self.clock().now();
        own::sweep(self, "remove failed jobs", move |db| {
            let old = ..now - FAILED_JOBS_KEPT;
            let jobs = db.query(Job::by_state).eq(JobState::Failed).range(old).take(own::SWEEP_ROWS)?;
            Ok(jobs.iter().map(Doc::id).collect())
        })
        .await?;
        own::sweep(self, "remove uses of deploy keys", move |db| {
            let uses = db.query(KeyUse::by_time).range(..now - audit::KEPT).take(own::SWEEP_ROWS)?;
            Ok(uses.iter().map(Doc::id).collect())
        })
        .await?;
        own::sweep(self, "remove revoked deploy keys", move |db| {
            let keys = db.query(DeployKey::by_revocation).range(..now - audit::KEPT).take(own::SWEEP_ROWS)?;
            Ok(keys.iter().map(Doc::id).collect())
        })
        .await?;
        own::sweep(self, "remove idempotency results", move |db| {
            let results = db.query(StoredResult::by_time).range(..now - REMEMBERED).take(own::SWEEP_ROWS)?;
            Ok(results.iter().map(Doc::id).collect())
        })
        .await
    }
}
