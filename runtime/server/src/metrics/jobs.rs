//! Metrics of scheduled jobs.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use convoke_calls::runtime::Runtime;
use convoke_calls::scheduler::{Job, JobKind, JobState, due};
use convoke_core::error::Result;
use convoke_store::Db;

/// The number of jobs per state, and the earliest due time.
struct Rows {
    pending: u64,
    running: u64,
    failed: u64,
    /// Due time of the first pending job.
    first: Option<convoke_core::clock::Millis>,
}

pub(super) async fn write(families: &mut Families, runtime: &Runtime) {
    let stats = &runtime.scheduler().stats;
    families.counters(
        "convoke_job_attempts_unsuccessful_total",
        "Unsuccessful attempts of jobs: will be retried (again), was the last attempt (failed), or found the queue full (postponed).",
        [
            ([("result", "again")], stats.again.load(Relaxed)),
            ([("result", "failed")], stats.failed.load(Relaxed)),
            ([("result", "postponed")], stats.postponed.load(Relaxed)),
        ],
    );
    let Ok(rows) = runtime.database().read(count).await else { return };
    families.gauges(
        "convoke_jobs",
        "Jobs in the database, by state. Successful jobs are removed; failed jobs are kept for 30 days.",
        [
            ([("state", "pending")], rows.pending as f64),
            ([("state", "running")], rows.running as f64),
            ([("state", "failed")], rows.failed as f64),
        ],
    );
    let lag = rows.first.map_or(0.0, |first| runtime.clock().now().since(first).as_secs_f64());
    families.gauge("convoke_jobs_lag_seconds", "Time since the first pending job was due; 0 if none is due.", lag);
}

fn count(db: &Db) -> Result<Rows> {
    let of = |state| db.query(Job::by_state).eq(state).count();
    let mut first = None;
    for kind in [JobKind::Mutation, JobKind::Action] {
        let due = due::jobs(db, kind, convoke_core::clock::Millis(i64::MAX), 1)?.pop().map(|job| job.run_at);
        first = [first, due].into_iter().flatten().min();
    }
    Ok(Rows { pending: of(JobState::Pending)?, running: of(JobState::Running)?, failed: of(JobState::Failed)?, first })
}
