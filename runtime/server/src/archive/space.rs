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
        "not enough disk space: a copy of {} is first written to {}, which must keep {} free and has {} free; free some \
         space there",
        human(bytes),
        path.display(),
        human(SPARE_BYTES),
        human(free)
    ))
}

/// Formats a number of bytes.
pub fn human(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_copy_names_its_folder_and_the_reserve() {
        let folder = tempfile::tempdir().unwrap();
        let said = require(folder.path(), u64::MAX / 2).unwrap_err();
        let place = folder.path().display();
        assert!(said.contains(&format!("is first written to {place}, which must keep 64.00 MiB free")), "{said}");
        assert_eq!(require(folder.path(), 0), Ok(()));
    }
}
