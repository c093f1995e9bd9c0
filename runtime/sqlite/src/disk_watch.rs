//! The disk under the database, watched: whether it has room, and whether it answers reads.
//!
//! Both are looked at on a thread of their own, so that no call pays for it and none waits for a disk that hangs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{error, warn};

use super::shared::{Shared, Switch};
use convoke_core::clock::Clock;
use convoke_store::Disk;
use convoke_store::disk::Floor;

/// Between two looks at the disk.
const PERIOD: Duration = Duration::from_millis(250);
/// Reads count as failing until none has failed for so long, and a look at the database succeeds. With [`PERIOD`] it is
/// below a second from the first moment at which the disk works.
const QUIET: Duration = Duration::from_millis(500);

/// Whether the disk answers reads: told by those who read, and asked by the watch.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    failing: AtomicBool,
    last: Mutex<Option<Failed>>,
}

#[derive(Debug)]
struct Failed {
    reason: String,
    /// In monotonic time.
    at: Duration,
}

impl Reads {
    /// A read has failed.
    pub(crate) fn failed(&self, reason: &str, at: Duration) {
        *self.last.lock() = Some(Failed { reason: reason.to_owned(), at });
        if !self.failing.swap(true, Ordering::AcqRel) {
            error!("the disk does not answer reads: {reason}");
        }
    }

    /// Why reads fail, if they do.
    pub(crate) fn why(&self) -> Option<String> {
        if !self.failing.load(Ordering::Acquire) {
            return None;
        }
        self.last.lock().as_ref().map(|failed| format!("the disk does not answer reads: {}", failed.reason))
    }

    /// Reads again whether the database can be read, if it could not be lately.
    fn look(&self, now: Duration, probe: &impl Fn() -> Result<(), String>) {
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

/// What is looked at.
pub(crate) struct Watched<P> {
    /// The data folder.
    pub folder: PathBuf,
    /// Where the room is asked.
    pub disk: Arc<dyn Disk>,
    /// The least room.
    pub floor: Floor,
    /// What closes below it, and what readers have met.
    pub shared: Arc<Shared>,
    /// Reads from the database, past every cache of the process.
    pub probe: P,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl<P: Fn() -> Result<(), String> + Send + 'static> Watched<P> {
    /// Looks at it once here, then on a thread of its own until `switch` is off.
    ///
    /// # Errors
    /// That of the system, if it gives no thread.
    pub(crate) fn watch(self, switch: Switch) -> io::Result<JoinHandle<()>> {
        let mut is_kept = self.look_for_room(true);
        thread::Builder::new().name("convoke-disk".to_owned()).spawn(move || {
            while !switch.off_within(PERIOD) {
                is_kept = self.look_for_room(is_kept);
                self.shared.reads.look(self.clock.monotonic(), &self.probe);
            }
        })
    }

    /// Says whether there is enough.
    fn look_for_room(&self, was_kept: bool) -> bool {
        // A file system that does not say is no reason to refuse: the write itself will tell.
        let Ok(room) = self.disk.room(&self.folder) else { return was_kept };
        let is_kept = self.floor.is_kept(room, was_kept);
        match (was_kept, is_kept) {
            (true, false) => {
                let mib = |bytes: u64| bytes / (1024 * 1024);
                let reason = format!(
                    "the disk has {} MiB free, and calls write with {} MiB or more only; make room",
                    mib(room.free_bytes),
                    mib(self.floor.bytes(room.total_bytes))
                );
                error!("{reason}");
                self.shared.gate.set_room(Some(reason));
            }
            (false, true) => {
                warn!("the disk has room again");
                self.shared.gate.set_room(None);
            }
            (true, true) | (false, false) => {}
        }
        is_kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fail_until_a_look_succeeds_and_none_has_failed_for_a_while() {
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
