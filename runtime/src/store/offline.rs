//! An installation whose server is stopped: locked, looked at, and given another database.
//!
//! Nothing here changes the database that is there. Another one is made beside it and put in its place as a whole.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::StoreError;
use super::handle::OpenError;
use super::sqlite::draft::Draft;
use super::sqlite::file::DatabaseFile;
use super::sqlite::folder::{DATABASE, Folder, SCRATCH, private_file, sync_folder};
use super::sqlite::swap;
use super::table::TableDef;
use super::transaction::{Plan, Transaction};
use crate::clock::Clock;

/// Why work on a database that nobody serves failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfflineError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is not a database of Convoke", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The engine finds something wrong with it.
    #[error("{} is damaged: {found}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found first.
        found: String,
    },
    /// The folder cannot be had.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The engine failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for OfflineError {
    fn from(error: rusqlite::Error) -> Self {
        OfflineError::Store(StoreError::Engine(error.to_string()))
    }
}

impl From<OfflineError> for StoreError {
    fn from(error: OfflineError) -> Self {
        match error {
            OfflineError::Store(error) => error,
            error => StoreError::Engine(error.to_string()),
        }
    }
}

/// A data folder that is locked, so that no server runs on it.
pub struct Installation {
    folder: Folder,
    clock: Arc<dyn Clock>,
    /// Whether half-made files are removed at the end.
    clears: bool,
}

impl Installation {
    /// Locks the folder, and makes it where it is missing.
    ///
    /// # Errors
    /// [`OpenError::Locked`] if a server runs; [`OpenError::Folder`].
    pub fn lock(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Ok(Self { folder: Folder::lock(folder)?, clock, clears: true })
    }

    /// As [`Installation::lock`], and leaves everything as it is.
    ///
    /// # Errors
    /// As [`Installation::lock`].
    pub fn look(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Ok(Self { folder: Folder::hold(folder)?, clock, clears: false })
    }

    /// The database, if there is one.
    ///
    /// # Errors
    /// As [`DatabaseFile::open`].
    pub fn database(&self) -> Result<Option<DatabaseFile>, OfflineError> {
        let path = self.folder.database();
        match fs::metadata(&path) {
            Ok(metadata) if metadata.len() > 0 => DatabaseFile::open(&path, self.clock.clone()).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(OfflineError::File { path, source }),
        }
    }

    /// Begins another database beside the one that is there.
    ///
    /// # Errors
    /// As [`Draft::create`].
    pub fn draft(&self, tables: &[&'static TableDef]) -> Result<Draft, OfflineError> {
        Draft::create(&self.replacement()?, tables, self.clock.clone())
    }

    /// Takes a database from elsewhere in as the replacement: a copy of it, on disk, opened for whoever checks it.
    /// `progress` is told the bytes copied so far.
    ///
    /// # Errors
    /// Those of the file system; [`OfflineError::Foreign`].
    pub fn take_in(&self, from: &Path, mut progress: impl FnMut(u64)) -> Result<DatabaseFile, OfflineError> {
        let to = self.replacement()?;
        copy(from, &to, &mut progress)?;
        let (log, log_to) = (swap::log_of(from), swap::log_of(&to));
        if log.exists() {
            // What is in the log only belongs to the database: it is copied back, so that one file is left.
            copy(&log, &log_to, &mut |_| {})?;
            let sqlite = rusqlite::Connection::open(&to)?;
            sqlite.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            sqlite.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
            sqlite.close().map_err(|(_, error)| error)?;
            File::open(&to)
                .and_then(|file| file.sync_all())
                .map_err(|source| OfflineError::File { path: to.clone(), source })?;
        }
        DatabaseFile::open(&to, self.clock.clone())
    }

    /// Puts the replacement in the place of the database, and says what the former one is called now, if there was
    /// one. The file is named for the time: `convoke.db.before-20260131-235959`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn replace(&self) -> Result<Option<PathBuf>, OfflineError> {
        let folder = self.folder.path();
        let failed = |source| OfflineError::File { path: self.folder.database(), source };
        let there = fs::metadata(self.folder.database()).is_ok_and(|metadata| metadata.len() > 0);
        let former = self.former_name();
        swap::swap(folder, REPLACEMENT, &former).map_err(failed)?;
        Ok(there.then(|| folder.join(former)))
    }

    fn former_name(&self) -> String {
        let stamp = crate::clock::stamp(self.clock.now());
        let plain = format!("{DATABASE}.before-{stamp}");
        let taken = |name: &str| self.folder.path().join(name).exists();
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        std::iter::once(plain.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(plain)
    }

    /// Where the replacement is made.
    fn replacement(&self) -> Result<PathBuf, OfflineError> {
        let name = REPLACEMENT.rsplit('/').next().unwrap_or(REPLACEMENT);
        let failed = |source| OfflineError::File { path: self.folder.path().to_owned(), source };
        self.folder.scratch(name).map_err(failed)
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        // Half-made files are of no use to anybody; what cannot be removed now is removed by the next lock.
        if self.clears {
            let _ = fs::remove_dir_all(self.folder.path().join(SCRATCH));
        }
    }
}

/// The replacement, within the data folder.
const REPLACEMENT: &str = "tmp/replacement.db";

/// How many rows a table has.
///
/// # Errors
/// The engine's.
pub fn count(transaction: &dyn Transaction, table: &'static TableDef) -> Result<u64, StoreError> {
    transaction.count(&everything(table))
}

/// All rows of a table, by id.
pub fn everything(table: &'static TableDef) -> Plan {
    Plan::new(table, None)
}

fn copy(from: &Path, to: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), OfflineError> {
    let failed_from = |source| OfflineError::File { path: from.to_owned(), source };
    let failed = |source| OfflineError::File { path: to.to_owned(), source };
    let mut reader = File::open(from).map_err(failed_from)?;
    let mut writer = private_file(to).map_err(failed)?;
    writer.set_len(0).map_err(failed)?;
    let (mut buffer, mut done) = (vec![0; 1 << 18], 0);
    loop {
        let read = reader.read(&mut buffer).map_err(failed_from)?;
        if read == 0 {
            break;
        }
        writer.write_all(&buffer[..read]).map_err(failed)?;
        done += read as u64;
        progress(done);
    }
    writer.sync_all().and_then(|()| sync_folder(to)).map_err(failed)
}
