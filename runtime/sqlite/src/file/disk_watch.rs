//! The disk under the database, watched: whether it has room, and whether it answers reads.
//!
//! Both are looked at on a thread of their own, so that no call pays for it and none waits for a disk that hangs.

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

/// Between two looks at the disk.
const PERIOD: Duration = Duration::from_millis(250);

/// What is looked at.
pub(crate) struct Watched<P> {
    /// The data folder.
    pub folder: PathBuf,
    /// Where the room is asked.
    pub disk: Arc<dyn Disk>,
    /// The least room.
    pub floor: Floor,
    /// Closes for writes of users below it.
    pub gate: Arc<Gate>,
    /// Failed reads.
    pub reads: Arc<Reads>,
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
                self.reads.look(self.clock.monotonic(), &self.probe);
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
