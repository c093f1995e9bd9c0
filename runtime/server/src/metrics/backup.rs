//! Metrics of scheduled backups.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use crate::backup::schedule::{self, BackupSettings, Scheduled};
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    families.counter(
        "convoke_backup_failures_total",
        "Scheduled backups that failed.",
        runtime.memory::<Scheduled>().failures.load(Relaxed),
    );
    if runtime.settings::<BackupSettings>().every.is_none() {
        return;
    }
    let newest = schedule::folder(runtime).and_then(|folder| schedule::newest(&folder, runtime.clock().now()));
    if let Ok(Some(newest)) = newest {
        families.gauge(
            "convoke_backup_newest_timestamp_seconds",
            "Time of the newest backup in the folder, in seconds since 1970.",
            newest.0 as f64 / 1_000.0,
        );
    }
}
