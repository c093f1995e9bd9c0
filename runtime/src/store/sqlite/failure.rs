//! SQLite's failures as the store's, and which of them end a transaction.

use rusqlite::ffi;

use super::text::index_name;
use crate::store::error::StoreError;
use crate::store::table::TableDef;

/// A violated unique index, if that is what happened; everything else ends the transaction.
pub fn violation(table: &'static TableDef, error: &rusqlite::Error) -> Option<StoreError> {
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
pub fn interrupted(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
}

/// Whether another program holds a lock.
pub fn busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}

/// Whether the connection should not be used again.
pub fn breaks_connection(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(SystemIoFailure | DatabaseCorrupt | NotADatabase | CannotOpen))
}
