//! Detection of a disk that does not serve reads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{error, warn};

/// Reads count as failing until none has failed for this time and a probe of the database succeeds. With the interval
/// of the watch (`disk_watch.rs`), recovery takes less than a second.
const QUIET: Duration = Duration::from_millis(500);

/// The state of reads from the disk: updated by readers, and probed by the watch.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    failing: AtomicBool,
    last: Mutex<Option<Failed>>,
}

#[derive(Debug)]
struct Failed {
    reason: String,
    /// Monotonic time.
    at: Duration,
}

impl Reads {
    /// Records a failed read.
    pub(crate) fn failed(&self, reason: &str, at: Duration) {
        *self.last.lock() = Some(Failed { reason: reason.to_owned(), at });
        if !self.failing.swap(true, Ordering::AcqRel) {
            error!("the disk does not answer reads: {reason}");
        }
    }

    /// Returns the reason why reads fail, if they do.
    pub(crate) fn why(&self) -> Option<String> {
        if !self.failing.load(Ordering::Acquire) {
            return None;
        }
        self.last.lock().as_ref().map(|failed| format!("the disk does not answer reads: {}", failed.reason))
    }

    /// Probes the database again after a recent failure.
    pub(crate) fn look(&self, now: Duration, probe: &impl Fn() -> Result<(), String>) {
        if !self.failing.load(Ordering::Acquire) {
            return;
        }
        if let Err(reason) = probe() {
            return self.failed(&reason, now);
        }
        let mut last = self.last.lock();
        if last.as_ref().is_none_or(|failed| now.saturating_sub(failed.at) >= QUIET) {
            *last = None;
            self.failing.store(false, Ordering::Release);
            warn!("the disk answers reads again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fail_until_a_probe_succeeds_without_recent_failures() {
        let (reads, ms) = (Reads::default(), Duration::from_millis);
        reads.look(ms(0), &|| panic!("nothing failed, and it was looked at"));
        reads.failed("first", ms(1_000));
        reads.look(ms(1_200), &|| Err("still".to_owned()));
        assert_eq!(reads.why().unwrap(), "the disk does not answer reads: still");
        reads.look(ms(1_400), &|| Ok(()));
        assert!(reads.why().is_some(), "one has failed just now");
        reads.look(ms(1_700), &|| Ok(()));
        assert_eq!(reads.why(), None);
    }
}
