//! The check of free disk space before large writes.

use std::io;
use std::path::Path;

use convoke_store::{Disk as _, SystemDisk};

/// Free space that a copy must leave for the log and other data.
const SPARE_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the bytes that this process can still write to the file system of `path`.
///
/// # Errors
/// Those of the file system.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    Ok(SystemDisk.room(path)?.free_bytes)
}

/// Checks that a copy of `bytes` fits on the disk of `path`.
///
/// # Errors
/// A message for the caller.
pub fn require(path: &Path, bytes: u64) -> Result<(), String> {
    // If the free space is unknown, the copy itself may fail.
    let Ok(free) = free_bytes(path) else { return Ok(()) };
    if free >= bytes.saturating_add(SPARE_BYTES) {
        return Ok(());
    }
    Err(format!(
        "not enough disk space: the copy takes {} and {} has {} free; free some space, or copy to another disk",
        human(bytes),
        path.display(),
        human(free)
    ))
}

/// Formats a number of bytes.
pub fn human(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}
