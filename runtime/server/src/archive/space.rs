//! Room on a disk, asked before work that fills it.

use std::io;
use std::path::Path;

use convoke_store::{Disk as _, SystemDisk};

/// What is left for other data when a copy is made: the log and whatever else grows meanwhile.
const SPARE_BYTES: u64 = 64 * 1024 * 1024;

/// The bytes that this process may still write on the file system of `path`.
///
/// # Errors
/// Those of the file system.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    Ok(SystemDisk.room(path)?.free_bytes)
}

/// Says that a copy of `bytes` has no room beside `path`, if it has none.
///
/// # Errors
/// The sentence for the caller who asked for the copy.
pub fn require(path: &Path, bytes: u64) -> Result<(), String> {
    // Where the file system does not say, the copy itself will.
    let Ok(free) = free_bytes(path) else { return Ok(()) };
    if free >= bytes.saturating_add(SPARE_BYTES) {
        return Ok(());
    }
    Err(format!(
        "there is no room: the copy takes {} and {} has {} free; make room, or copy to another disk",
        human(bytes),
        path.display(),
        human(free)
    ))
}

/// A number of bytes for people.
pub fn human(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}
