//! Metrics of the continuous copies.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use crate::copies::Copies;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let Some(status) = Copies::status(runtime) else { return };
    let state = status.state();
    families.counter("convoke_copy_bytes_total", "Bytes of stored copies.", status.bytes.load(Relaxed));
    families.counter("convoke_copy_files_total", "Stored files with changes.", status.files.load(Relaxed));
    families.counter("convoke_copy_snapshots_total", "Stored snapshots.", status.snapshots.load(Relaxed));
    families.counter("convoke_copy_failures_total", "Failed attempts to copy.", status.failures.load(Relaxed));
    families.gauge(
        "convoke_copy_behind_commits",
        "Commits that are not copied. A commit may have several mutations.",
        state.commits_behind as f64,
    );
    families.gauge(
        "convoke_copy_age_seconds",
        "Time since everything was copied, in seconds; before the first copy, time since the start.",
        status.age(runtime.clock().now()).as_secs_f64(),
    );
}
