//! SQLite's failures as the store's, and which of them end a transaction.

use std::io;

use rusqlite::ffi;
use rustix::io::Errno;

use super::sql::index_name;
use convoke_store::{OfflineError, OpenError, StoreError, TableDef};

/// A violated unique index, if that is what happened; everything else ends the transaction.
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

/// Whether SQLite stopped the statement because its guard said so.
pub(crate) fn interrupted(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
}

/// Whether another program holds a lock.
pub(crate) fn busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}

/// Whether the connection should not be used again.
pub(crate) fn breaks_connection(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase | CannotOpen))
}

/// What the disk did, if it was the disk: [`StoreError::Disk`] or [`StoreError::NoRoom`]. To be asked at once, on the
/// thread that met the failure.
///
/// SQLite calls a page that cannot be read malformed (`SQLITE_IOERR_CORRUPTFS` becomes `SQLITE_CORRUPT`), and a file that
/// may not grow an I/O error. What the system said it keeps to itself, but the thread has it still.
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
    // So that damage which is found on this thread later is not taken for this failure again.
    errno::set_errno(errno::Errno(0));
    Some(found)
}

/// Whether a finding of a check is that the disk did not give a page: `… unable to get the page. error code=266`.
pub(crate) fn is_unread_page(finding: &str) -> bool {
    let code = finding.rsplit_once("error code=").and_then(|(_, code)| code.trim().parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == ffi::SQLITE_IOERR)
}

/// A failure of the engine as the store's.
pub(crate) fn of_engine(error: &rusqlite::Error) -> StoreError {
    of_disk(error).unwrap_or_else(|| StoreError::Engine(error.to_string()))
}

/// A result of the engine while a database is opened.
pub(crate) trait Opening<T> {
    /// Its failure as that of an opening.
    ///
    /// # Errors
    /// [`OpenError`].
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

/// A result of the engine at work on a database that nobody serves.
pub(crate) trait Offline<T> {
    /// Its failure as that of such work.
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
