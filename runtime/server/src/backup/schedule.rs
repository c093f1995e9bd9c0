//! The settings of backups and the schedule.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;

use super::{FOLDER, list};
use convoke_calls::runtime::Runtime;
use convoke_core::at_least::AtLeast;
use convoke_core::clock::Millis;
use convoke_store::private_folder;

convoke_core::section! {
    /// Scheduled backups, made in the background. Each is verified before it gets its name. A failure is logged at
    /// level ERROR, is a finding of `convoke doctor`, and is counted in `convoke_backup_failures_total`.
    pub struct BackupSettings in "backup" {
        /// Time between two backups, at least a minute. Without it, no backups are scheduled.
        #[schemars(with = "Option<String>", example = "24h")]
        pub every: Option<Every> = None,
        /// Number of backups to keep; after each scheduled backup, the server removes older ones.
        pub keep: usize = 7,
        /// Folder of the backups, for example on another disk. The default is the folder backups in the data folder.
        #[schemars(example = "/mnt/backups")]
        pub dir: Option<PathBuf> = None,
    }
}

/// The time between two backups.
pub type Every = AtLeast<60_000>;

/// Pause before a failed backup is retried, unless backups are more frequent.
const RETRY: Duration = Duration::from_secs(10 * 60);
/// Tolerated time by which a backup may be ahead of the clock.
const AHEAD_MS: i64 = 60_000;

/// Results of the scheduled backups of this process.
#[derive(Debug, Default)]
pub struct Scheduled {
    /// Number of failed backups.
    pub failures: AtomicU64,
    failed: Mutex<Option<Failed>>,
}

/// The failure of a scheduled backup.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Time of the failure.
    pub at: Millis,
    /// Reason of the failure.
    pub error: String,
}

impl Scheduled {
    /// Returns the failure of the last scheduled backup, if it failed.
    pub fn failed(&self) -> Option<Failed> {
        self.failed.lock().clone()
    }

    /// Records the result of a scheduled backup.
    pub fn ended(&self, at: Millis, outcome: Result<(), String>) {
        let failed = outcome.err().map(|error| Failed { at, error });
        self.failures.fetch_add(u64::from(failed.is_some()), Relaxed);
        *self.failed.lock() = failed;
    }

    /// Returns true if a backup is due, given the time of the newest.
    pub fn is_due(&self, every: Every, newest: Option<Millis>, now: Millis) -> bool {
        let is_soon = |at: Millis, pause: Duration| now.since(at) < pause;
        let waits = self.failed().is_some_and(|failed| is_soon(failed.at, every.duration().min(RETRY)));
        !waits && newest.is_none_or(|newest| !is_soon(newest, every.duration()))
    }
}

/// Returns the folder of backups. Creates it if it is missing, accessible only to its owner.
///
/// # Errors
/// Those of the file system.
pub fn folder(runtime: &Runtime) -> io::Result<PathBuf> {
    let dir = runtime.settings::<BackupSettings>().dir.clone();
    let folder = dir.unwrap_or_else(|| runtime.store().folder().join(FOLDER));
    private_folder(&folder)?;
    Ok(folder)
}

/// Returns the time of the newest backup in a folder. A backup from after `now` was made while a clock was ahead, and
/// does not count.
///
/// # Errors
/// Those of the file system.
pub fn newest(folder: &Path, now: Millis) -> io::Result<Option<Millis>> {
    let mut newest = None;
    for path in list(folder)? {
        let made = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let made = Millis(i64::try_from(made.as_millis()).unwrap_or(i64::MAX));
        // A file system may be a moment ahead of the clock.
        if made.0 <= now.0.saturating_add(AHEAD_MS) {
            newest = newest.max(Some(made));
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backup_is_due_when_the_newest_is_old_and_no_failure_is_recent() {
        let every = Every::new(Duration::from_secs(3_600));
        let (scheduled, hour) = (Scheduled::default(), 3_600_000);
        assert!(scheduled.is_due(every, None, Millis(0)));
        assert!(!scheduled.is_due(every, Some(Millis(0)), Millis(hour - 1)));
        assert!(scheduled.is_due(every, Some(Millis(0)), Millis(hour)));
        scheduled.ended(Millis(hour), Err("disk full".to_owned()));
        assert!(!scheduled.is_due(every, Some(Millis(0)), Millis(hour + 599_999)));
        assert!(scheduled.is_due(every, Some(Millis(0)), Millis(hour + 600_000)));
        scheduled.ended(Millis(hour), Ok(()));
        assert_eq!((scheduled.failures.load(Relaxed), scheduled.failed().is_none()), (1, true));
    }

    #[test]
    fn backup_from_the_future_does_not_count_as_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let modified = |name: &str, hour: u64| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(hour * 3_600)).unwrap();
        };
        modified("convoke-19700101-010000.db", 1);
        modified("convoke-19700101-090000.db", 9);
        let newest = |hour: i64| newest(folder.path(), Millis(hour * 3_600_000)).unwrap();
        assert_eq!((newest(0), newest(2), newest(9)), (None, Some(Millis(3_600_000)), Some(Millis(9 * 3_600_000))));
    }

    #[test]
    fn interval_is_at_least_a_minute() {
        let read = |text: &str| toml::from_str::<BackupSettings>(text).map_err(|error| error.to_string());
        assert_eq!(read("every = \"24h\"").unwrap().every.unwrap().duration(), Duration::from_secs(86_400));
        assert_eq!(read("").unwrap(), BackupSettings { every: None, keep: 7, dir: None });
        assert!(read("every = \"5s\"").unwrap_err().contains("at least 1m"));
        assert!(read("every = \"often\"").unwrap_err().contains("such as"));
    }
}
