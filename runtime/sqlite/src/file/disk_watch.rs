//! The watch of the disk: its free space, and if it serves reads.
//!
//! It runs on its own thread, so that no call pays for it or waits for a hanging disk.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::{error, warn};

use crate::connection::Reads;
use crate::switch::Switch;
use convoke_core::clock::Clock;
use convoke_store::Disk;
use convoke_store::disk::Floor;
use convoke_store::gate::Gate;

/// Interval of the watch.
const PERIOD: Duration = Duration::from_millis(250);

/// The watched disk.
pub(crate) struct Watched<P> {
    /// The data folder.
    pub folder: PathBuf,
    /// Source of the free space.
    pub disk: Arc<dyn Disk>,
    /// Limit of the free space.
    pub floor: Floor,
    /// Closes for writes of users below the limit.
    pub gate: Arc<Gate>,
    /// State of reads.
    pub reads: Arc<Reads>,
    /// Reads from the database, past every cache of the process.
    pub probe: P,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

impl<P: Fn() -> Result<(), String> + Send + 'static> Watched<P> {
    /// Checks once immediately, then on its own thread until `switch` is off.
    ///
    /// # Errors
    /// The system provides no thread.
    pub(crate) fn watch(self, switch: Switch) -> io::Result<JoinHandle<()>> {
        let mut is_kept = self.look_for_room(true);
        thread::Builder::new().name("convoke-disk".to_owned()).spawn(move || {
            while !switch.off_within(PERIOD) {
                is_kept = self.look_for_room(is_kept);
                self.reads.look(self.clock.monotonic(), &self.probe);
            }
        })
    }

    /// Returns true if there is enough space.
    fn look_for_room(&self, was_kept: bool) -> bool {
        // If the file system reports nothing, the write itself will show it.
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
                self.gate.set_room(Some(reason));
            }
            (false, true) => {
                warn!("the disk has room again");
                self.gate.set_room(None);
            }
            (true, true) | (false, false) => {}
        }
        is_kept
    }
}
