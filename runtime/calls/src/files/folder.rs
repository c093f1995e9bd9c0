//! Contents in a folder: `ab/cdef…` for the hash `abcdef…`, and `incoming/` for uploads that are not complete.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use convoke_store::{private_file, private_folder, remove_if_there, sync_folder};

/// The folder of incomplete uploads.
const INCOMING: &str = "incoming";
/// Bytes that are copied at a time.
const COPIED_BYTES: usize = 1 << 16;
/// Length of a SHA-256 in hexadecimal.
const HASH_CHARS: usize = 64;

/// A folder of contents.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// A content that is in the folder.
#[derive(Clone, Debug)]
pub struct StoredBytes {
    /// The SHA-256 that its name states.
    pub hash: String,
    /// Its length.
    pub bytes: u64,
    /// Time at which it was placed.
    pub placed_at: SystemTime,
}

impl Folder {
    /// Ending of the name of an upload that arrives in parts.
    pub(crate) const PART: &str = ".part";

    /// The folder at this path. It is created when the first file arrives.
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns true if a text is a SHA-256 as the folder writes it, and so no path.
    pub fn is_hash(text: &str) -> bool {
        text.len() == HASH_CHARS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a content.
    pub fn path_of(&self, hash: &str) -> PathBuf {
        let (first, rest) = hash.split_at(hash.len().min(2));
        self.0.join(first).join(rest)
    }

    /// Returns the path of an incomplete upload. Creates its folder.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn incoming(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.0.join(INCOMING);
        private_folder(&folder)?;
        Ok(folder.join(name))
    }

    /// Moves a complete, synchronized file to the name of its hash, and makes the name durable.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn place(&self, from: &Path, hash: &str) -> io::Result<()> {
        let to = self.path_of(hash);
        let folder = to.parent().unwrap_or(&self.0);
        if !folder.is_dir() {
            private_folder(folder)?;
            sync_folder(folder)?;
        }
        fs::rename(from, &to)?;
        sync_folder(&to)
    }

    /// Adds a content of another folder: a hard link, or a copy if that is on another disk. Returns false if it is there.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn add(&self, hash: &str, from: &Path) -> io::Result<bool> {
        let to = self.path_of(hash);
        let length = fs::metadata(from)?.len();
        if fs::metadata(&to).is_ok_and(|there| there.len() == length) {
            return Ok(false);
        }
        remove_if_there(&to)?;
        private_folder(to.parent().unwrap_or(&self.0))?;
        if fs::hard_link(from, &to).is_ok() {
            sync_folder(&to)?;
        } else {
            self.take_in(hash, &mut File::open(from)?)?;
        }
        Ok(true)
    }

    /// Adds a content from a stream. Replaces the content if it is there.
    ///
    /// # Errors
    /// `InvalidData`: the bytes do not have this hash; those of the file system.
    pub fn take_in(&self, hash: &str, from: &mut dyn Read) -> io::Result<u64> {
        let incoming = self.incoming(hash)?;
        let mut file = private_file(&incoming)?;
        file.set_len(0)?;
        let (mut digest, mut buffer, mut bytes) = (Sha256::new(), vec![0; COPIED_BYTES], 0);
        loop {
            match from.read(&mut buffer)? {
                0 => break,
                read => {
                    digest.update(&buffer[..read]);
                    file.write_all(&buffer[..read])?;
                    bytes += read as u64;
                }
            }
        }
        let found = hex::encode(digest.finalize());
        if found != hash {
            fs::remove_file(&incoming)?;
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the checksum of a file is {found}, not {hash}"),
            ));
        }
        file.sync_all()?;
        self.place(&incoming, hash)?;
        Ok(bytes)
    }

    /// Opens a content.
    ///
    /// # Errors
    /// Those of the file system; `NotFound` if there is no such content.
    pub fn open(&self, hash: &str) -> io::Result<File> {
        File::open(self.path_of(hash))
    }

    /// Removes a content, if it is there.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove(&self, hash: &str) -> io::Result<()> {
        remove_if_there(&self.path_of(hash))
    }

    /// Calls `visit` for each content.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn contents(&self, visit: &mut dyn FnMut(StoredBytes)) -> io::Result<()> {
        for folder in entries(&self.0)? {
            let folder = folder?;
            let Some(first) = folder.file_name().to_str().filter(|name| name.len() == 2).map(str::to_owned) else {
                continue;
            };
            for file in entries(&folder.path())? {
                let file = file?;
                let hash = format!("{first}{}", file.file_name().to_string_lossy());
                // A content may be removed while the folder is read.
                let Ok(found) = file.metadata() else { continue };
                if Self::is_hash(&hash) && found.is_file() {
                    let placed_at = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    visit(StoredBytes { hash, bytes: found.len(), placed_at });
                }
            }
        }
        Ok(())
    }

    /// Removes incomplete uploads for which `is_left` is true: it gets the name and the time of the last write.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove_incoming(&self, is_left: &dyn Fn(&str, SystemTime) -> bool) -> io::Result<u64> {
        let mut removed = 0;
        for file in entries(&self.0.join(INCOMING))? {
            let file = file?;
            let Ok(written_at) = file.metadata().and_then(|found| found.modified()) else { continue };
            if is_left(&file.file_name().to_string_lossy(), written_at) {
                remove_if_there(&file.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Returns the entries of a folder; none if there is no folder.
fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None.into_iter().flatten())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_placed_under_its_hash_listed_and_removed() {
        let data = tempfile::tempdir().unwrap();
        let folder = Folder::at(data.path().join("files"));
        let hash = "ab".repeat(32);
        let listed = |folder: &Folder| {
            let mut found = Vec::new();
            folder.contents(&mut |content| found.push((content.hash, content.bytes))).unwrap();
            found
        };
        assert_eq!(listed(&folder), [], "a folder that does not exist has no contents");
        let incoming = folder.incoming("upload_1").unwrap();
        fs::write(&incoming, "bytes").unwrap();
        folder.place(&incoming, &hash).unwrap();
        assert!(!incoming.exists() && folder.path().join("ab").join("ab".repeat(31)).exists());
        assert_eq!(listed(&folder), [(hash.clone(), 5)]);
        folder.remove(&hash).unwrap();
        folder.remove(&hash).unwrap();
        assert_eq!(listed(&folder), []);
    }

    #[test]
    fn content_of_another_folder_is_linked_and_a_stream_with_another_hash_is_rejected() {
        let data = tempfile::tempdir().unwrap();
        let (from, to) = (Folder::at(data.path().join("from")), Folder::at(data.path().join("to")));
        let hash = hex::encode(Sha256::digest(b"bytes"));
        assert_eq!(from.take_in(&hash, &mut &b"bytes"[..]).unwrap(), 5);
        let wrong = from.take_in(&"ab".repeat(32), &mut &b"bytes"[..]).unwrap_err();
        assert_eq!(wrong.kind(), io::ErrorKind::InvalidData);
        assert!(to.add(&hash, &from.path_of(&hash)).unwrap() && !to.add(&hash, &from.path_of(&hash)).unwrap());
        assert_eq!(fs::read(to.path_of(&hash)).unwrap(), b"bytes");
    }

    #[test]
    fn only_chosen_incomplete_uploads_are_removed() {
        let data = tempfile::tempdir().unwrap();
        let folder = Folder::at(data.path().to_owned());
        for name in ["old", "new"] {
            fs::write(folder.incoming(name).unwrap(), "").unwrap();
        }
        assert_eq!(folder.remove_incoming(&|name, _| name == "old").unwrap(), 1);
        assert!(folder.incoming("new").unwrap().exists() && !folder.incoming("old").unwrap().exists());
    }
}
