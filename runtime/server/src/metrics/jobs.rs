//! Metrics of scheduled jobs.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use convoke_calls::runtime::Runtime;
use convoke_calls::scheduler::{Job, JobState, due};
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::queues::Queues;
use convoke_store::Db;

/// The number of jobs per state, and the earliest due time.
struct Rows {
    pending: u64,
    running: u64,
    failed: u64,
    /// Due time of the first pending job.
    first: Option<Millis>,
    /// Number of jobs by queue and state.
    in_queues: Vec<(&'static str, JobState, u64)>,
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
    let queues = runtime.queues().clone();
    let Ok(rows) = runtime.database().read(move |db| count(db, &queues)).await else { return };
    families.gauges(
        "convoke_jobs",
        "Jobs in the database, by state. Successful jobs are removed; failed jobs are kept for 30 days.",
        [
            ([("state", "pending")], rows.pending as f64),
            ([("state", "running")], rows.running as f64),
            ([("state", "failed")], rows.failed as f64),
        ],
    );
    families.gauges(
        "convoke_queue_jobs",
        "Pending and running jobs of each declared queue.",
        rows.in_queues
            .into_iter()
            .map(|(queue, state, jobs)| ([("queue", queue), ("state", state.as_str())], jobs as f64)),
    );
    let lag = rows.first.map_or(0.0, |first| runtime.clock().now().since(first).as_secs_f64());
    families.gauge("convoke_jobs_lag_seconds", "Time since the first pending job was due; 0 if none is due.", lag);
}

fn count(db: &Db, queues: &Queues) -> Result<Rows> {
    let of = |state| db.query(Job::by_state).eq(state).count();
    let mut in_queues = Vec::new();
    for queue in queues.all() {
        for state in [JobState::Pending, JobState::Running] {
            in_queues.push((queue.name, state, db.query(Job::by_lane).eq(queue.name).eq(state).count()?));
        }
    }
    let first = due::first_time(db, queues)?;
    let (pending, running, failed) = (of(JobState::Pending)?, of(JobState::Running)?, of(JobState::Failed)?);
    Ok(Rows { pending, running, failed, first, in_queues })
}
