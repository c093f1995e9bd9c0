//! Free space on the disk of a data folder, and the limit below which writes stop.

use std::io;
use std::path::Path;

use parking_lot::Mutex;

use convoke_core::limits::Limits;

/// Space on a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that this process can still write.
    pub free_bytes: u64,
    /// Capacity.
    pub total_bytes: u64,
}

/// Source of the space on a file system.
pub trait Disk: std::fmt::Debug + Send + Sync + 'static {
    /// Returns the space on the file system of `path`.
    ///
    /// # Errors
    /// Errors of the file system; `Unsupported` if it does not report its space.
    fn room(&self, path: &Path) -> io::Result<Room>;
}

/// The file systems of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn room(&self, path: &Path) -> io::Result<Room> {
        let stat = rustix::fs::statvfs(path)?;
        // Some file systems in user space report a disk of no size. That does not mean that it is full.
        if stat.f_blocks == 0 {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the file system does not report its space"));
        }
        Ok(Room {
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        })
    }
}

/// A disk whose space a test sets. At first 1 TiB, all of it free.
#[derive(Debug)]
pub struct HeldDisk(Mutex<Room>);

impl HeldDisk {
    /// Sets the space for later queries.
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

/// The free space that writes of users require.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    bytes: u64,
    percent: u64,
}

impl Floor {
    /// Returns the floor of the limits.
    pub fn of(limits: &Limits) -> Self {
        Self { bytes: limits.disk_free_bytes_min, percent: limits.disk_free_percent_min.into() }
    }

    /// Returns the floor in bytes on a disk of this size: the smaller of the two bounds; 0 = none.
    pub fn bytes(self, total_bytes: u64) -> u64 {
        self.bytes.min((total_bytes / 100).saturating_mul(self.percent))
    }

    /// Returns true if users may write. After writes have stopped, they need a tenth more space to start again, which
    /// avoids flapping.
    pub fn is_kept(self, room: Room, was_kept: bool) -> bool {
        let floor = self.bytes(room.total_bytes);
        room.free_bytes >= if was_kept { floor } else { floor.saturating_add(floor / 10) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[cfg(target_os = "linux")]
    #[test]
    fn file_system_without_a_size_is_not_a_full_disk() {
        assert_eq!(SystemDisk.room(Path::new("/proc")).unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert!(SystemDisk.room(&std::env::temp_dir()).unwrap().total_bytes > 0);
    }

    #[test]
    fn smaller_bound_applies() {
        let floor = Floor::of(&Limits::default());
        assert_eq!(floor.bytes(10 * 1024 * GIB), GIB);
        assert_eq!(floor.bytes(2 * GIB), 2 * GIB / 100 * 5);
        assert_eq!(Floor::of(&Limits { disk_free_percent_min: 0, ..Limits::default() }).bytes(GIB), 0);
        assert_eq!(Floor::of(&Limits { disk_free_bytes_min: 0, ..Limits::default() }).bytes(GIB), 0);
    }

    #[test]
    fn writes_start_again_with_a_tenth_more_space() {
        let floor = Floor::of(&Limits { disk_free_bytes_min: 1_000, ..Limits::default() });
        let room = |free_bytes| Room { free_bytes, total_bytes: 1 << 40 };
        assert!(floor.is_kept(room(1_000), true) && !floor.is_kept(room(999), true));
        assert!(!floor.is_kept(room(1_099), false) && floor.is_kept(room(1_100), false));
        let off = Floor::of(&Limits { disk_free_bytes_min: 0, ..Limits::default() });
        assert!(off.is_kept(room(0), false));
    }
}
