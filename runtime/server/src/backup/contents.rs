//! The contents of files beside a backup: a folder of hard links, or of copies if the backup is on another disk.
//!
//! A content never changes, so a link is as good as a copy, and a backup on the same disk needs no space for files.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::{files_of, measure};
use convoke_calls::files::Folder;
use convoke_store::offline::everything;
use convoke_store::{ContentState, OfflineDatabase, Reader, StoreError, StoredFile, Table as _};

/// Returns the hash of each content that a database refers to.
///
/// # Errors
/// The database cannot be read.
pub fn wanted(database: &dyn OfflineDatabase) -> Result<Vec<String>, StoreError> {
    Ok(stored(database.reader())?.into_iter().map(|(hash, _)| hash).collect())
}

/// Returns the hash and the length of each content that a database refers to.
///
/// # Errors
/// The database cannot be read.
pub fn stored(reader: &dyn Reader) -> Result<Vec<(String, u64)>, StoreError> {
    let mut stored = Vec::new();
    reader.select(&everything(StoredFile::DEF), &mut |row| {
        let file = StoredFile::decode(row)?;
        if file.state == ContentState::Stored {
            stored.push((file.hash, u64::try_from(file.bytes).unwrap_or(0)));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(stored)
}

/// Returns true if a folder has a content whose bytes have its hash. A content that cannot be read is not whole.
pub fn is_whole(folder: &Folder, hash: &str) -> bool {
    measure(&folder.path_of(hash), &mut |_| {}).is_ok_and(|(found, _)| found == hash)
}

/// Adds the whole contents of `from` that `to` lacks, and replaces damaged ones. Returns the hash of each content of `from`
/// that is whole in `to`.
///
/// # Errors
/// Those of the file system.
pub fn restore_all(from: &Folder, to: &Folder) -> io::Result<HashSet<String>> {
    let (mut whole, mut failed) = (HashSet::new(), None);
    from.contents(&mut |content| {
        let hash = content.hash;
        let restore = || {
            if !is_whole(to, &hash) {
                if !is_whole(from, &hash) {
                    return Ok(false);
                }
                to.remove(&hash)?;
                to.add(&hash, &from.path_of(&hash))?;
            }
            Ok(true)
        };
        if failed.is_none() {
            match restore() {
                Ok(true) => drop(whole.insert(hash)),
                Ok(false) => {}
                Err(error) => failed = Some(error),
            }
        }
    })?;
    failed.map_or(Ok(whole), Err)
}

/// Contents that a database refers to, and that the folder of files lacks.
#[derive(Debug, Default)]
pub struct Lacking {
    missing: u64,
    damaged: u64,
    first: Option<String>,
}

impl Lacking {
    /// Looks for the contents of a database in a folder. Those in `whole` are known to be there.
    pub fn find(wanted: &[String], folder: &Folder, whole: &HashSet<String>) -> Self {
        let mut lacking = Self::default();
        for hash in wanted.iter().filter(|hash| !whole.contains(*hash) && !is_whole(folder, hash)) {
            lacking.note(hash, folder.path_of(hash).exists());
        }
        lacking
    }

    /// Looks for the [`stored`] contents of a database in a folder by their lengths, without reading them.
    pub fn by_length(stored: &[(String, u64)], folder: &Folder) -> Self {
        let mut lacking = Self::default();
        for (hash, bytes) in stored {
            match std::fs::metadata(folder.path_of(hash)) {
                Ok(found) if found.len() == *bytes => {}
                found => lacking.note(hash, found.is_ok()),
            }
        }
        lacking
    }

    fn note(&mut self, hash: &str, is_there: bool) {
        match is_there {
            true => self.damaged += 1,
            false => self.missing += 1,
        }
        self.first.get_or_insert_with(|| hash.to_owned());
    }

    /// Returns true if the folder has all contents.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { missing, damaged, first } = self;
        write!(
            f,
            "stored files: {missing} missing and {damaged} damaged (SHA-256 of the first: {})",
            first.as_deref().unwrap_or_default()
        )
    }
}

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
