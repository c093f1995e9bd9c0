//! The data folder: private, and locked by one process.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::{Path, PathBuf};

use super::names::{DATABASE, SCRATCH};
use super::swap;
use convoke_store::{OpenError, private_file, private_folder};

const LOCK: &str = "convoke.lock";

/// A data folder that only this process serves. The lock ends with the value, also when the process is killed.
pub(crate) struct DataDir {
    path: PathBuf,
    lock: File,
}

impl Drop for DataDir {
    fn drop(&mut self) {
        if rustix::process::geteuid().is_root() {
            // A server of another user reports what it cannot open.
            let _ = give_to_owner(&self.path);
        }
        // Closing the file is not enough: a child process that is just starting holds it until its exec.
        let _ = self.lock.unlock();
    }
}

/// Gives what the superuser has created in a folder of another user to that user, whose server could not open it
/// otherwise.
fn give_to_owner(folder: &Path) -> io::Result<()> {
    let owner = fs::metadata(folder)?;
    if owner.uid() == 0 {
        return Ok(());
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let found = entry.metadata()?;
            if found.uid() == 0 {
                lchown(entry.path(), Some(owner.uid()), Some(owner.gid()))?;
            }
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

impl DataDir {
    /// Creates the folder (mode 0700) and the database file (0600) if they are missing, and locks the folder.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let folder = Self::lock(path)?;
        // SQLite gives the log the mode of the database.
        private_file(&folder.database()).map_err(|source| OpenError::Folder { folder: path.to_owned(), source })?;
        Ok(folder)
    }

    /// Creates the folder if it is missing, locks it, completes an interrupted replacement of the database, and removes
    /// unfinished files.
    ///
    /// # Errors
    /// [`OpenError::Locked`]: another process serves it; [`OpenError::Folder`]: it cannot be created or written.
    pub(crate) fn lock(path: &Path) -> Result<Self, OpenError> {
        let folder = Self::hold(path)?;
        let failed = |source| OpenError::Folder { folder: path.to_owned(), source };
        swap::resume(path).map_err(failed)?;
        match fs::remove_dir_all(path.join(SCRATCH)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed(source)),
            _ => Ok(folder),
        }
    }

    /// Locks the folder, creates it if it is missing, and changes nothing in it.
    pub(crate) fn hold(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder { folder: path.to_owned(), source };
        private_folder(path).map_err(failed)?;
        let mut lock = private_file(&Self::lock_file(path)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The process id only helps the reader of the message.
                let _ = lock.read_to_string(&mut holder);
                return Err(OpenError::Locked { folder: path.to_owned(), process: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        lock.set_len(0).map_err(failed)?;
        lock.rewind().map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { path: path.to_owned(), lock })
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path for a temporary file with this name, on the file system of the database.
    pub(crate) fn scratch(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.path.join(SCRATCH);
        private_folder(&folder)?;
        Ok(folder.join(name))
    }

    pub(crate) fn lock_file(path: &Path) -> PathBuf {
        path.join(LOCK)
    }

    /// Returns the path of the database file.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superuser_leaves_nothing_that_the_owner_of_the_folder_cannot_open() {
        const NOBODY: u32 = 65_534;
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        lchown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let held = DataDir::hold(folder.path()).unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        fs::write(folder.path().join("files/a"), "a").unwrap();
        drop(held);
        for name in [LOCK, "files", "files/a"] {
            assert_eq!(fs::metadata(folder.path().join(name)).unwrap().uid(), NOBODY, "{name}");
        }
    }
}
