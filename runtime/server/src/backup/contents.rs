//! The contents of files beside a backup: a folder of hard links, or of copies if the backup is on another disk.
//!
//! A content never changes, so a link is as good as a copy, and a backup on the same disk needs no space for files.

use std::io;
use std::path::Path;

use super::files_of;
use convoke_calls::files::Folder;

/// Adds every content of `from` that `to` does not have. Returns the number of added contents.
///
/// # Errors
/// Those of the file system.
pub fn add_all(from: &Folder, to: &Folder) -> io::Result<u64> {
    let (mut added, mut failed) = (0, None);
    from.contents(&mut |content| {
        if failed.is_none() {
            match to.add(&content.hash, &from.path_of(&content.hash)) {
                Ok(is_new) => added += u64::from(is_new),
                Err(error) => failed = Some(error),
            }
        }
    })?;
    failed.map_or(Ok(added), Err)
}

/// Moves the contents of a backup with it.
///
/// # Errors
/// Those of the file system.
pub fn take_along(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (files_of(from), files_of(to));
    if !from.is_dir() || std::fs::rename(&from, &to).is_ok() {
        return Ok(());
    }
    add_all(&Folder::at(from.clone()), &Folder::at(to))?;
    std::fs::remove_dir_all(from)
}
