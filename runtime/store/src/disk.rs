//! The disk under a data folder: how much room it has, and how little is too little.

use std::io;
use std::path::Path;

use parking_lot::Mutex;

use convoke_core::limits::Limits;

/// The room on a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What this process may still write.
    pub free_bytes: u64,
    /// What there is in all.
    pub total_bytes: u64,
}

/// Where the runtime learns how much room there is.
pub trait Disk: std::fmt::Debug + Send + Sync + 'static {
    /// The room on the file system of `path`.
    ///
    /// # Errors
    /// Those of the file system.
    fn room(&self, path: &Path) -> io::Result<Room>;
}

/// The machine's file systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn room(&self, path: &Path) -> io::Result<Room> {
        let stat = rustix::fs::statvfs(path)?;
        Ok(Room {
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        })
    }
}

/// A disk with the room that a test gives it, whatever the machine has: 1 TiB, all of it free, until it is set.
#[derive(Debug)]
pub struct HeldDisk(Mutex<Room>);

impl HeldDisk {
    /// Sets the room, which counts from the next look on.
    pub fn set(&self, room: Room) {
        *self.0.lock() = room;
    }
}

impl Default for HeldDisk {
    fn default() -> Self {
        let bytes = 1 << 40;
        Self(Mutex::new(Room { free_bytes: bytes, total_bytes: bytes }))
    }
}

impl Disk for HeldDisk {
    fn room(&self, _: &Path) -> io::Result<Room> {
        Ok(*self.0.lock())
    }
}

/// The least room with which calls may write.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    bytes: u64,
    percent: u64,
}

impl Floor {
    /// The floor that the limits set.
    pub fn of(limits: &Limits) -> Self {
        Self { bytes: limits.disk_free_bytes_min, percent: limits.disk_free_percent_min.into() }
    }

    /// In bytes, on a disk of this size: the smaller one of the two bounds; 0 = none.
    pub fn bytes(self, total_bytes: u64) -> u64 {
        self.bytes.min((total_bytes / 100).saturating_mul(self.percent))
    }

    /// Whether calls may write. Where they may not, they may again with a tenth more, so that it does not go to and fro.
    pub fn is_kept(self, room: Room, was_kept: bool) -> bool {
        let floor = self.bytes(room.total_bytes);
        room.free_bytes >= if was_kept { floor } else { floor.saturating_add(floor / 10) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn the_smaller_bound_counts_so_that_neither_a_small_nor_a_large_disk_is_closed_too_early() {
        let floor = Floor::of(&Limits::default());
        assert_eq!(floor.bytes(10 * 1024 * GIB), GIB);
        assert_eq!(floor.bytes(2 * GIB), 2 * GIB / 100 * 5);
        assert_eq!(Floor::of(&Limits { disk_free_percent_min: 0, ..Limits::default() }).bytes(GIB), 0);
        assert_eq!(Floor::of(&Limits { disk_free_bytes_min: 0, ..Limits::default() }).bytes(GIB), 0);
    }

    #[test]
    fn writes_go_on_with_a_tenth_more_than_they_stopped_at() {
        let floor = Floor::of(&Limits { disk_free_bytes_min: 1_000, ..Limits::default() });
        let room = |free_bytes| Room { free_bytes, total_bytes: 1 << 40 };
        assert!(floor.is_kept(room(1_000), true) && !floor.is_kept(room(999), true));
        assert!(!floor.is_kept(room(1_099), false) && floor.is_kept(room(1_100), false));
        let off = Floor::of(&Limits { disk_free_bytes_min: 0, ..Limits::default() });
        assert!(off.is_kept(room(0), false));
    }
}
