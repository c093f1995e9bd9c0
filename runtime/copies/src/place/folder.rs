//! Copies in a folder, for example on another disk or a network file system.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;

use super::parts::Listed;
use convoke_store::{private_file, private_folder, remove_if_there, sync_folder};

/// Suffix of a file that is not complete.
const PARTIAL: &str = ".partial";

fn identity(folder: &fs::Metadata) -> (u64, u64) {
    (folder.dev(), folder.ino())
}

/// A folder with copies.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The folder's device and number, and the file that was stored last. An empty folder of the same path, in which the
    /// disk is no longer mounted, has another identity and does not have the file.
    known: Mutex<((u64, u64), Option<String>)>,
}

impl Folder {
    /// Opens an existing folder. It is not created: a missing one may be a disk that is not mounted.
    ///
    /// # Errors
    /// A message for the operator.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                Ok(Self { path: path.to_owned(), known: Mutex::new((identity(&found), None)) })
            }
            Ok(_) => Err(format!("{} is not a folder", path.display())),
            Err(error) => Err(format!(
                "the folder of copies {} cannot be opened: {error}; mount its disk, or create it",
                path.display()
            )),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if the folder is missing, or is another one than that with the copies so far.
    fn require_same(&self) -> io::Result<()> {
        let not_found = |reason: &str| {
            let message = format!("the folder {} {reason}; mount its disk", self.path.display());
            io::Error::new(io::ErrorKind::NotFound, message)
        };
        let found = fs::metadata(&self.path).ok().filter(fs::Metadata::is_dir);
        let found = identity(&found.ok_or_else(|| not_found("does not exist"))?);
        let mut known = self.known.lock();
        // A disk that was mounted again may have another number, but has the file.
        if known.0 != found {
            if !known.1.as_ref().is_some_and(|last| self.path.join(last).exists()) {
                return Err(not_found("is not the one with the copies"));
            }
            known.0 = found;
        }
        Ok(())
    }

    pub(super) fn put_new(&self, name: &str, bytes: &[u8], at: i64) -> io::Result<()> {
        let (path, partial) = self.begin(name)?;
        let stored = write(&partial, &mut &*bytes, at).and_then(|()| take_name(&partial, &path));
        let _ = fs::remove_file(&partial);
        stored?;
        self.known.lock().1 = Some(name.to_owned());
        Ok(())
    }

    pub(super) fn put_file(&self, name: &str, from: &Path, at: i64) -> io::Result<()> {
        let (path, partial) = self.begin(name)?;
        let mut from = File::open(from)?;
        let stored = write(&partial, &mut from, at).and_then(|()| fs::rename(&partial, &path));
        if stored.is_err() {
            let _ = fs::remove_file(&partial);
        }
        stored?;
        sync_folder(&path)?;
        self.known.lock().1 = Some(name.to_owned());
        Ok(())
    }

    fn begin(&self, name: &str) -> io::Result<(PathBuf, PathBuf)> {
        let path = self.path.join(name);
        self.require_same()?;
        if let Some(folder) = path.parent()
            && !folder.is_dir()
        {
            private_folder(folder)?;
            sync_folder(folder)?;
        }
        let partial = self.path.join(format!("{name}{PARTIAL}"));
        Ok((path, partial))
    }

    pub(super) fn get(&self, name: &str) -> io::Result<File> {
        File::open(self.path.join(name))
    }

    pub(super) fn get_start(&self, name: &str, bytes: usize) -> io::Result<Vec<u8>> {
        let mut start = Vec::with_capacity(bytes);
        self.get(name)?.take(bytes as u64).read_to_end(&mut start)?;
        Ok(start)
    }

    pub(super) fn exists(&self, name: &str) -> io::Result<bool> {
        // An unmounted disk is no proof that the file does not exist.
        if fs::metadata(&self.path)?.is_dir() { self.path.join(name).try_exists() } else { Ok(false) }
    }

    pub(super) fn files_from(&self, folder: &str, from: &str) -> io::Result<Vec<Listed>> {
        fs::metadata(&self.path)?;
        let entries = match fs::read_dir(self.path.join(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if *name >= *from && entry.file_type()?.is_file() && !name.ends_with(PARTIAL) {
                files.push(Listed { name, bytes: entry.metadata()?.len() });
            }
        }
        Ok(files)
    }

    pub(super) fn folders(&self) -> io::Result<Vec<String>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(folders)
    }

    pub(super) fn remove_partial(&self, folder: &str) -> io::Result<()> {
        let entries = match fs::read_dir(self.path.join(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name().to_string_lossy().ends_with(PARTIAL) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        remove_if_there(&self.path.join(name))
    }
}

/// Writes a file to disk. Litestream takes the time of its commits from the time of the file.
fn write(path: &Path, from: &mut dyn io::Read, at: i64) -> io::Result<()> {
    let mut file = private_file(path)?;
    file.set_len(0)?;
    io::copy(from, &mut file)?;
    file.flush()?;
    file.set_modified(UNIX_EPOCH + Duration::from_millis(at.unsigned_abs()))?;
    file.sync_all()
}

/// Gives a complete file its name, if no file has it.
fn take_name(partial: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(partial, path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // Some network file systems have no links. A second server then is detected only if it is not simultaneous.
        Err(_) if path.try_exists()? => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(partial, path)?,
    }
    sync_folder(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_folder_in_place_of_an_unmounted_disk_gets_no_copies() {
        let disks = tempfile::tempdir().unwrap();
        let (path, away) = (disks.path().join("place"), disks.path().join("away"));
        fs::create_dir(&path).unwrap();
        let folder = Folder::open(&path).unwrap();
        folder.put_new("a", b"first", 0).unwrap();
        fs::rename(&path, &away).unwrap();
        fs::create_dir(&path).unwrap();
        let error = folder.put_new("b", b"second", 0).unwrap_err().to_string();
        assert!(error.contains("is not the one with the copies") && !path.join("b").exists(), "{error}");
        // The same disk under another number: its files are there.
        fs::copy(away.join("a"), path.join("a")).unwrap();
        folder.put_new("b", b"second", 0).unwrap();
    }
}
