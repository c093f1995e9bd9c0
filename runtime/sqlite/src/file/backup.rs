//! A copy of the database while it is in use.
//!
//! SQLite copies page by page and begins again whenever *another* connection wrote in between, which under load is
//! always. So the pages are copied on the writer's own connection, some between any two batches: what the writer changes
//! meanwhile goes into the copy too, and no snapshot is held that would keep the log from shrinking.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use rusqlite::OpenFlags;
use rusqlite::backup::{Backup, StepResult};

use crate::connection::Connection;
use crate::failure;
use convoke_store::engine::{OnProgress, Progress, Seal};
use convoke_store::{StoreError, private_file, sync_folder};

/// Pages copied between two batches: about a millisecond of work.
const PAGES_AT_ONCE: i32 = 256;

/// A backup on its way to the writer.
pub(crate) struct BackupJob {
    /// The copy, not synchronous: it is made durable at the end.
    pub to: rusqlite::Connection,
    /// Told after every step.
    pub progress: OnProgress,
    /// Where the copy goes when it is whole.
    pub done: Sender<Result<rusqlite::Connection, StoreError>>,
}

impl BackupJob {
    /// Copies everything; `between` is asked between two steps and says whether to go on.
    pub(crate) fn run(mut self, from: &Connection, between: impl FnMut() -> bool) {
        let copied = self.copy(from, between);
        // Whoever asked may have gone away; the copy then falls with its connection.
        let _ = self.done.send(copied.map(|()| self.to));
    }

    fn copy(&mut self, from: &Connection, mut between: impl FnMut() -> bool) -> Result<(), StoreError> {
        let backup = Backup::new(&from.sqlite, &mut self.to).map_err(engine)?;
        loop {
            match backup.step(PAGES_AT_ONCE).map_err(engine)? {
                StepResult::Done => return Ok(()),
                // Another program holds a lock; SQLite has waited already.
                StepResult::Busy | StepResult::Locked | StepResult::More => {}
                other => return Err(StoreError::Engine(format!("the backup stopped: {other:?}"))),
            }
            let at = backup.progress();
            let pages = |number: i32| u64::from(number.unsigned_abs());
            (self.progress)(Progress { done: pages(at.pagecount - at.remaining), total: pages(at.pagecount) });
            if !between() {
                return Err(StoreError::Closed("the backup was cut off".to_owned()));
            }
        }
    }
}

/// Where a copy is written until it is whole and checked.
pub(crate) fn partial(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    to.with_file_name(name)
}

/// An empty file for a copy.
///
/// # Errors
/// Those of the file system, as text.
pub(crate) fn destination(to: &Path) -> Result<rusqlite::Connection, StoreError> {
    let partial = partial(to);
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(file(&partial, &error)),
        _ => {}
    }
    private_file(&partial).map_err(|error| file(&partial, &error))?;
    let connection = rusqlite::Connection::open_with_flags(
        &partial,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(engine)?;
    connection.execute_batch("PRAGMA synchronous = OFF").map_err(engine)?;
    Ok(connection)
}

/// Makes a whole copy a single file.
///
/// # Errors
/// [`StoreError::Engine`].
pub(crate) fn settle(copy: rusqlite::Connection) -> Result<(), StoreError> {
    // The copy says of itself that it has a log; as one file it must not.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(engine)?;
    copy.close().map_err(|(_, error)| engine(error))
}

/// Checks a whole copy, makes it durable, hands it to `seal`, and gives it its name.
///
/// # Errors
/// [`StoreError::Engine`] if the check finds something, the file cannot be written, or `seal` fails.
pub(crate) fn complete(copy: rusqlite::Connection, to: &Path, seal: &mut Seal<'_>) -> Result<(), StoreError> {
    let found: String = copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(engine)?;
    if found != "ok" {
        return Err(StoreError::Engine(format!("the backup is damaged: {found}")));
    }
    settle(copy)?;
    let partial = partial(to);
    let mut named = || {
        File::open(&partial)?.sync_all()?;
        seal(&partial)?;
        fs::rename(&partial, to)?;
        sync_folder(to)
    };
    named().map_err(|error| file(to, &error))
}

fn engine(error: rusqlite::Error) -> StoreError {
    failure::of_engine(&error)
}

fn file(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Engine(format!("{}: {error}", path.display()))
}
