//! A copy of the database while it is in use.
//!
//! SQLite copies page by page and starts again whenever *another* connection has written, which under load is always.
//! So the writer's connection copies some pages between any two batches: concurrent changes go into the copy too, and
//! no snapshot blocks the log.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use rusqlite::OpenFlags;
use rusqlite::backup::{Backup, StepResult};

use crate::connection::Connection;
use crate::failure;
use convoke_store::engine::{OnProgress, Progress, Seal};
use convoke_store::page_feed::FeedSnapshot;
use convoke_store::{StoreError, private_file, remove_if_there, sync_folder};

/// Pages per step between two batches: about a millisecond.
const PAGES_AT_ONCE: i32 = 256;

/// A backup for the writer.
pub(crate) struct BackupJob {
    /// The copy, without syncs: it is made durable at the end.
    pub to: rusqlite::Connection,
    /// Called after every step.
    pub progress: OnProgress,
    /// Receives the complete copy, and its point in the page feed if there is one.
    pub done: Sender<Result<(rusqlite::Connection, Option<FeedSnapshot>), StoreError>>,
    /// True if the copy belongs to the page feed.
    pub is_of_feed: bool,
}

impl BackupJob {
    /// Copies everything; `between` is called between two steps and returns true to continue.
    pub(crate) fn run(mut self, from: &Connection, between: impl FnMut() -> bool) {
        let copied = self.copy(from, between);
        // The caller may be gone; the copy then ends with its connection.
        let _ = self.done.send(copied.map(|()| {
            let feed = from.page_feed.as_ref().filter(|_| self.is_of_feed);
            (self.to, feed.map(|feed| feed.at_snapshot()))
        }));
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

/// Path of a copy until it is complete and checked.
pub(crate) fn partial(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    to.with_file_name(name)
}

/// Creates an empty file for a copy.
///
/// # Errors
/// Errors of the file system, as text.
pub(crate) fn destination(to: &Path) -> Result<rusqlite::Connection, StoreError> {
    let partial = partial(to);
    remove_if_there(&partial).and_then(|()| private_file(&partial)).map_err(|error| file(&partial, &error))?;
    let connection = rusqlite::Connection::open_with_flags(
        &partial,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(engine)?;
    connection.execute_batch("PRAGMA synchronous = OFF").map_err(engine)?;
    Ok(connection)
}

/// Converts a complete copy to a single file.
///
/// # Errors
/// [`StoreError::Engine`].
pub(crate) fn settle(copy: rusqlite::Connection) -> Result<(), StoreError> {
    // The copy is in WAL mode; a single file must not be.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(engine)?;
    copy.close().map_err(|(_, error)| engine(error))
}

/// Checks a complete copy, makes it durable, passes it to `seal`, and renames it.
///
/// # Errors
/// [`StoreError::Engine`]: the check finds damage, the file cannot be written, or `seal` fails.
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
