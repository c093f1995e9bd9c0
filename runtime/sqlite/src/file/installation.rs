//! An installation whose server is stopped: locked, inspected, and given a new database.
//!
//! This module never changes the existing database. A new one is created beside it and replaces it as a whole.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data_dir::DataDir;
use super::database_builder::FileBuilder;
use super::database_file::DatabaseFile;
use super::names::{SCRATCH, former_name, log_of};
use super::swap;
use crate::failure::Offline as _;
use crate::page_feed;
use convoke_core::clock::Clock;
use convoke_store::{
    DatabaseBuilder, Installation, OfflineDatabase, OfflineError, OpenError, TableDef, private_file, sync_folder,
};

/// A data folder that is locked, so that no server runs on it.
pub(crate) struct DataDirInstallation {
    folder: DataDir,
    clock: Arc<dyn Clock>,
    /// True if unfinished files are removed at the end.
    clears: bool,
}

impl DataDirInstallation {
    /// Locks the folder, and creates it if it is missing.
    ///
    /// # Errors
    /// [`OpenError::Locked`]: a server is running; [`OpenError::Folder`].
    pub(crate) fn lock(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Ok(Self { folder: DataDir::lock(folder)?, clock, clears: true })
    }

    /// Like [`DataDirInstallation::lock`], without any change.
    pub(crate) fn look(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Ok(Self { folder: DataDir::hold(folder)?, clock, clears: false })
    }

    fn free_name(&self) -> String {
        let plain = former_name(&convoke_core::clock::stamp(self.clock.now()));
        let taken = |name: &str| self.folder.path().join(name).exists();
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        std::iter::once(plain.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(plain)
    }

    fn replacement(&self) -> Result<PathBuf, OfflineError> {
        let name = REPLACEMENT.rsplit('/').next().unwrap_or(REPLACEMENT);
        let failed = |source| OfflineError::File { path: self.folder.path().to_owned(), source };
        self.folder.scratch(name).map_err(failed)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn OfflineDatabase>, OfflineError> {
        Ok(Box::new(DatabaseFile::open(path, self.clock.clone())?))
    }
}

impl Installation for DataDirInstallation {
    fn database(&self) -> Result<Option<Box<dyn OfflineDatabase>>, OfflineError> {
        let path = self.folder.database();
        match fs::metadata(&path) {
            Ok(metadata) if metadata.len() > 0 => self.open(&path).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(OfflineError::File { path, source }),
        }
    }

    fn build(&self, tables: &[&'static TableDef]) -> Result<Box<dyn DatabaseBuilder>, OfflineError> {
        Ok(Box::new(FileBuilder::create(&self.replacement()?, tables, self.clock.clone())?))
    }

    fn take_in(&self, from: &Path, progress: &mut dyn FnMut(u64)) -> Result<Box<dyn OfflineDatabase>, OfflineError> {
        let to = self.replacement()?;
        copy(from, &to, progress)?;
        let (log, log_to) = (log_of(from), log_of(&to));
        if log.exists() {
            // Content of the log only belongs to the database: it is copied back, so that one file is left.
            copy(&log, &log_to, &mut |_| {})?;
            let sqlite = rusqlite::Connection::open(&to).offline()?;
            sqlite.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).offline()?;
            sqlite.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).offline()?;
            sqlite.close().map_err(|(_, error)| error).offline()?;
            File::open(&to)
                .and_then(|file| file.sync_all())
                .map_err(|source| OfflineError::File { path: to.clone(), source })?;
        }
        self.open(&to)
    }

    fn set_feed_note(&self, note: &str) -> Result<(), OfflineError> {
        let path = self.folder.database();
        page_feed::set_note(&path, note).map_err(|source| OfflineError::File { path, source })
    }

    fn replace(&self) -> Result<Option<PathBuf>, OfflineError> {
        let folder = self.folder.path();
        let failed = |source| OfflineError::File { path: self.folder.database(), source };
        let there = fs::metadata(self.folder.database()).is_ok_and(|metadata| metadata.len() > 0);
        let former = self.free_name();
        swap::swap(folder, REPLACEMENT, &former).map_err(failed)?;
        Ok(there.then(|| folder.join(former)))
    }
}

impl Drop for DataDirInstallation {
    fn drop(&mut self) {
        // Unfinished files are useless; the next lock removes the rest.
        if self.clears {
            let _ = fs::remove_dir_all(self.folder.path().join(SCRATCH));
        }
    }
}

/// Path of the replacement, relative to the data folder.
const REPLACEMENT: &str = "tmp/replacement.db";

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
