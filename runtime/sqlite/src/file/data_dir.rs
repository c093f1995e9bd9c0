//! The data folder: made private, and locked for one process.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::names::{DATABASE, SCRATCH};
use super::swap;
use convoke_store::OpenError;
use convoke_store::files::private_file;

const LOCK: &str = "convoke.lock";

/// A data folder that this process alone serves; the lock falls with it, also when the process is killed.
pub(crate) struct DataDir {
    path: PathBuf,
    lock: File,
}

impl Drop for DataDir {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that this one is just starting holds it too until it has begun.
        let _ = self.lock.unlock();
    }
}

impl DataDir {
    /// Makes the folder (mode 0700) and the database file (0600) where they are missing, and locks the folder.
    ///
    /// # Errors
    /// As [`DataDir::lock`].
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let folder = Self::lock(path)?;
        // SQLite gives the log the mode of the database.
        private_file(&folder.database()).map_err(|source| OpenError::Folder { folder: path.to_owned(), source })?;
        Ok(folder)
    }

    /// Makes the folder where it is missing, locks it, ends a replacement of the database that was cut off, and
    /// removes what killed work left half-made.
    ///
    /// # Errors
    /// [`OpenError::Locked`] if another process serves it; [`OpenError::Folder`] if it cannot be made or written.
    pub(crate) fn lock(path: &Path) -> Result<Self, OpenError> {
        let folder = Self::hold(path)?;
        let failed = |source| OpenError::Folder { folder: path.to_owned(), source };
        swap::resume(path).map_err(failed)?;
        match fs::remove_dir_all(path.join(SCRATCH)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed(source)),
            _ => Ok(folder),
        }
    }

    /// Locks the folder, makes it where it is missing, and leaves everything in it as it is.
    ///
    /// # Errors
    /// As [`DataDir::lock`].
    pub(crate) fn hold(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder { folder: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let mut lock = private_file(&Self::lock_file(path)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Who holds it is a help to the reader of the message; not knowing changes nothing.
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

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A place for a file that is being made, of this name, on the same file system as the database.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn scratch(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.path.join(SCRATCH);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(folder.join(name))
    }

    /// The file that is locked.
    pub(crate) fn lock_file(path: &Path) -> PathBuf {
        path.join(LOCK)
    }

    /// Where the database file is.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}
