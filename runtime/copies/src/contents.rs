//! Copies of stored files: `files/<SHA-256>` in a place.
//!
//! A content never changes, and is on the local disk before a row refers to it. Each step copies new contents before it
//! stores the changes, so every restored row finds its content. A content that is removed locally stays in the place as
//! long as a moment with it can be restored: a file `files-removed/<time>.json` lists it.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::error::CopyError;
use crate::place::Place;
use convoke_core::clock::Millis;

/// Folder of the contents.
const FILES: &str = "files";
/// Folder of the lists of removed contents.
const REMOVED: &str = "files-removed";
/// A folder that was changed shortly before its last scan may have changed again within one tick of the file system.
const TICK: Duration = Duration::from_secs(2);

/// A content by its SHA-256.
type Hash = [u8; 32];

/// The contents of a data folder, and those in its place.
pub(crate) struct Contents {
    folder: PathBuf,
    stored: HashSet<Hash>,
    /// Time of the last scan of each folder.
    scanned: HashMap<String, SystemTime>,
}

impl Contents {
    /// Lists the contents of the place.
    pub(crate) fn open(folder: PathBuf, place: &Place) -> Result<Self, CopyError> {
        place.remove_partial(FILES).map_err(CopyError::of(FILES))?;
        let stored = list(place)?.iter().filter_map(|(name, _)| parse(name)).collect();
        Ok(Self { folder, stored, scanned: HashMap::new() })
    }

    /// Copies the contents that the place does not have. Returns their bytes.
    ///
    /// # Errors
    /// Errors of the folder and of the place. The next call continues.
    pub(crate) fn copy(&mut self, place: &Place) -> Result<u64, CopyError> {
        let named = self.folder.display().to_string();
        let mut bytes = 0;
        for (first, scanned_at) in self.changed().map_err(CopyError::of(&named))? {
            for (hash, path) in self.in_folder(&first).map_err(CopyError::of(&named))? {
                if self.stored.contains(&hash) {
                    continue;
                }
                let name = name_of(&hash);
                match fs::metadata(&path).and_then(|found| place.put_file(&name, &path, 0).map(|()| found.len())) {
                    Ok(stored) => bytes += stored,
                    // It was removed meanwhile.
                    Err(_) if !path.exists() => continue,
                    Err(error) => return Err(CopyError::of(&name)(error)),
                }
                self.stored.insert(hash);
            }
            self.scanned.insert(first, scanned_at);
        }
        Ok(bytes)
    }

    /// Returns the folders below, such as `ab`, that may have new contents, with the time of this scan.
    fn changed(&self) -> io::Result<Vec<(String, SystemTime)>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut changed = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.len() != 2 {
                continue;
            }
            let modified = entry.metadata()?.modified()?;
            if self.scanned.get(&name).is_none_or(|scanned| modified + TICK >= *scanned) {
                #[expect(clippy::disallowed_methods, reason = "the file system does not use the clock of the runtime")]
                changed.push((name, SystemTime::now()));
            }
        }
        Ok(changed)
    }

    fn in_folder(&self, first: &str) -> io::Result<Vec<(Hash, PathBuf)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder.join(first))? {
            let entry = entry?;
            if let Some(hash) = parse(&format!("{first}{}", entry.file_name().to_string_lossy())) {
                found.push((hash, entry.path()));
            }
        }
        Ok(found)
    }

    /// Removes contents from the place that were removed locally before `oldest`, and records those that are removed
    /// now.
    pub(crate) fn remove_old(&mut self, place: &Place, oldest: Millis, now: Millis) -> Result<usize, CopyError> {
        let is_local = |hash: &Hash| {
            let text = text_of(hash);
            self.folder.join(&text[..2]).join(&text[2..]).exists()
        };
        let (mut recorded, mut old) = (HashSet::new(), Vec::new());
        for file in place.files(REMOVED).map_err(CopyError::of(REMOVED))? {
            let name = format!("{REMOVED}/{}", file.name);
            let read = || serde_json::from_reader::<_, Vec<String>>(place.get(&name)?).map_err(io::Error::other);
            let hashes: Vec<Hash> =
                read().map_err(CopyError::of(&name))?.iter().filter_map(|text| parse(text)).collect();
            let at = file.name.strip_suffix(".json").and_then(|text| i64::from_str_radix(text, 16).ok());
            if at.is_some_and(|at| at < oldest.0) {
                old.push((name, hashes));
            } else {
                recorded.extend(hashes);
            }
        }
        let mut removed = 0;
        for (list, hashes) in old {
            for hash in hashes.iter().filter(|hash| !recorded.contains(*hash) && !is_local(hash)) {
                let name = name_of(hash);
                place.remove(&name).map_err(CopyError::of(&name))?;
                removed += 1;
            }
            self.stored.retain(|hash| !hashes.contains(hash) || is_local(hash));
            place.remove(&list).map_err(CopyError::of(&list))?;
        }
        let gone: Vec<String> =
            self.stored.iter().filter(|hash| !recorded.contains(*hash) && !is_local(hash)).map(text_of).collect();
        if !gone.is_empty() {
            let name = format!("{REMOVED}/{:016x}.json", now.0);
            let text = serde_json::to_vec(&gone).unwrap_or_default();
            place.put_new(&name, &text, now.0).map_err(CopyError::of(&name))?;
        }
        Ok(removed)
    }
}

fn parse(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    // Names of contents are lower-case.
    let is_lower = text.bytes().all(|byte| !byte.is_ascii_uppercase());
    (is_lower && hex::decode_to_slice(text, &mut hash).is_ok()).then_some(hash)
}

fn text_of(hash: &Hash) -> String {
    hex::encode(hash)
}

fn name_of(hash: &Hash) -> String {
    format!("{FILES}/{}", text_of(hash))
}

/// Returns the SHA-256 and the size of each copied content.
///
/// # Errors
/// Errors of the place.
pub fn list(place: &Place) -> Result<Vec<(String, u64)>, CopyError> {
    let files = place.files(FILES).map_err(CopyError::of(FILES))?;
    Ok(files.into_iter().filter(|file| parse(&file.name).is_some()).map(|file| (file.name, file.bytes)).collect())
}

/// A folder of stored files that receives copied ones.
pub trait ContentFolder: Send {
    /// Returns true if the folder has the content with this SHA-256.
    fn has(&self, hash: &str) -> bool;

    /// Adds a content.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`]: the bytes do not have this SHA-256; errors of the file system.
    fn take_in(&self, hash: &str, from: &mut dyn Read) -> io::Result<()>;
}

/// Opens a copied content.
///
/// # Errors
/// Errors of the place; there is no such content.
pub fn open(place: &Place, hash: &str) -> Result<File, CopyError> {
    let name = format!("{FILES}/{hash}");
    place.get(&name).map_err(CopyError::of(&name))
}

/// Adds the copied contents that a folder does not have. `progress` receives the bytes so far, and of all of them. Returns
/// the hash of each damaged content, which it does not add.
///
/// # Errors
/// Errors of the place and of the folder.
pub fn fetch(
    place: &Place,
    folder: &dyn ContentFolder,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<String>, CopyError> {
    let mut damaged = Vec::new();
    let mut missing = list(place)?;
    missing.retain(|(hash, _)| !folder.has(hash));
    let total = missing.iter().map(|(_, bytes)| bytes).sum();
    let mut done = 0;
    for (hash, bytes) in &missing {
        let name = format!("{FILES}/{hash}");
        match place.get(&name).and_then(|mut content| folder.take_in(hash, &mut content)) {
            // It was removed meanwhile, so no row needs it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => damaged.push(hash.clone()),
            taken => taken.map_err(CopyError::of(&name))?,
        }
        done += bytes;
        progress(done, total);
    }
    Ok(damaged)
}
