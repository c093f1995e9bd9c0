//! Metrics of the continuous copies, and of a server that follows them.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use crate::copies::Copies;
use crate::following::Following;
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

pub(super) fn write_follower(families: &mut Families, runtime: &Runtime) {
    let Some(status) = Following::status(runtime) else { return };
    let state = status.state();
    families.counter("convoke_follower_bytes_total", "Bytes of applied copies.", status.bytes.load(Relaxed));
    families.counter("convoke_follower_files_total", "Applied files of copies.", status.files.load(Relaxed));
    families.counter("convoke_follower_failures_total", "Failed attempts to follow.", status.failures.load(Relaxed));
    families.gauge("convoke_follower_commit", "Last applied commit of the generation.", state.commit as f64);
    families.gauge(
        "convoke_follower_behind_seconds",
        "Time since the follower had all copies, in seconds; before it has caught up, time since the start.",
        status.behind(runtime.clock().now()).as_secs_f64(),
    );
}
