//! Conversion of SQLite's errors to those of the store, and the errors that end a transaction.

use std::io;

use rusqlite::ffi;
use rustix::io::Errno;

use super::sql::index_name;
use convoke_store::{OfflineError, OpenError, StoreError, TableDef};

/// Returns the violation of a unique index, if the error is one. Every other error ends the transaction.
pub(crate) fn violation(table: &'static TableDef, error: &rusqlite::Error) -> Option<StoreError> {
    let rusqlite::Error::SqliteFailure(code, Some(message)) = error else { return None };
    if code.extended_code != ffi::SQLITE_CONSTRAINT_UNIQUE {
        return None;
    }
    let what = message.strip_prefix("UNIQUE constraint failed: ")?;
    let violated = table.indexes.iter().filter(|index| index.unique).find(|index| {
        let by_name = what
            .strip_prefix("index ")
            .is_some_and(|name| name.trim_matches('\'') == index_name(table.name, index.name).trim_matches('"'));
        let columns =
            index.keys.iter().map(|key| format!("{}.{}", table.name, table.fields[key.field].name)).collect::<Vec<_>>();
        by_name || what == columns.join(", ")
    });
    Some(StoreError::UniqueViolation { table: table.name, index: violated.map_or("_id", |index| index.name) })
}

/// Returns true if a statement names an index that the database does not have.
pub(crate) fn lacks_index(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(_, Some(message)) if message.starts_with("no such index: "))
}

/// Returns true if SQLite stopped the statement because its guard requested it.
pub(crate) fn interrupted(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
}

/// Returns true if another program holds a lock.
pub(crate) fn busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}

/// Returns true if the connection must not be used again.
pub(crate) fn breaks_connection(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase | CannotOpen))
}

/// Returns [`StoreError::Disk`] or [`StoreError::NoRoom`] if the disk caused the error. Must be called immediately, on
/// the thread of the failure.
///
/// SQLite reports an unreadable page as malformed (`SQLITE_IOERR_CORRUPTFS` becomes `SQLITE_CORRUPT`), and a file that
/// may not grow as an I/O error. It hides the error of the system, but the thread's errno still has it.
pub(crate) fn of_disk(error: &rusqlite::Error) -> Option<StoreError> {
    use rusqlite::ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase, SystemIoFailure};
    let said = Errno::from_io_error(&io::Error::last_os_error());
    let found = match (error.sqlite_error_code()?, said) {
        (DiskFull, _) => StoreError::NoRoom(error.to_string()),
        (SystemIoFailure, Some(Errno::FBIG)) => {
            StoreError::NoRoom(format!("{error} (a file may not grow: `ulimit -f`)"))
        }
        (SystemIoFailure, Some(said @ (Errno::IO | Errno::NXIO))) => StoreError::Disk(format!("{error} ({said})")),
        (SystemIoFailure, _) => StoreError::Disk(error.to_string()),
        (DatabaseCorrupt | NotADatabase, Some(said @ (Errno::IO | Errno::NXIO))) => {
            StoreError::Disk(format!("a page cannot be read ({said})"))
        }
        _ => return None,
    };
    // So that later damage on this thread is not attributed to this failure.
    errno::set_errno(errno::Errno(0));
    Some(found)
}

/// Returns true if a finding of a check means an unreadable page: `… unable to get the page. error code=266`.
pub(crate) fn is_unread_page(finding: &str) -> bool {
    let code = finding.rsplit_once("error code=").and_then(|(_, code)| code.trim().parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == ffi::SQLITE_IOERR)
}

/// Converts an error of the engine.
pub(crate) fn of_engine(error: &rusqlite::Error) -> StoreError {
    of_disk(error).unwrap_or_else(|| StoreError::Engine(error.to_string()))
}

/// A result of the engine while a database is opened.
pub(crate) trait Opening<T> {
    /// Converts the error to one of opening.
    fn opening(self) -> Result<T, OpenError>;
}

impl<T> Opening<T> for rusqlite::Result<T> {
    fn opening(self) -> Result<T, OpenError> {
        self.map_err(|error| match of_disk(&error) {
            Some(StoreError::Disk(reason)) => OpenError::Disk(reason),
            Some(StoreError::NoRoom(reason)) => OpenError::NoRoom(reason),
            Some(_) | None => OpenError::Engine(error.to_string()),
        })
    }
}

/// A result of the engine for work on an offline database.
pub(crate) trait Offline<T> {
    /// Converts the error to one of offline work.
    ///
    /// # Errors
    /// [`OfflineError::Store`].
    fn offline(self) -> Result<T, OfflineError>;
}

impl<T> Offline<T> for rusqlite::Result<T> {
    fn offline(self) -> Result<T, OfflineError> {
        self.map_err(|error| OfflineError::Store(of_engine(&error)))
    }
}
