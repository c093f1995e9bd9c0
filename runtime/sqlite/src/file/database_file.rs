//! A database file without a server: a finished copy, or the file of a folder whose server is stopped.
//!
//! It is opened read-only, with its log.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;

use super::schema;
use crate::cache::page_cache;
use crate::connection::{Common, Connection, Purpose};
use crate::failure::{self, Offline as _};
use crate::settings::Sqlite;
use crate::transaction::{Source, SqliteTransaction};
use convoke_core::clock::Clock;
use convoke_store::{
    Commits, Inspected, NamedStat, OfflineDatabase, OfflineError, Reader, StoreError, TableDef, Thoroughness,
};

/// Most findings of one check.
const FINDINGS_MAX: usize = 100;

/// A database file, opened for reading.
pub(crate) struct DatabaseFile {
    path: PathBuf,
    connection: Rc<Connection>,
    transaction: Rc<SqliteTransaction>,
}

/// Settings of a connection to a file beside the served one.
pub(crate) fn common(path: &Path, clock: Arc<dyn Clock>) -> Common {
    let defaults = Sqlite::default();
    // No client follows its commits.
    let commits = Arc::new(Commits::new(clock.clone(), &[]));
    Common {
        path: path.into(),
        synchronous: defaults.synchronous,
        page_bytes: defaults.page_bytes,
        cache: page_cache::OF_FILE,
        pages_max: None,
        wal_bytes_kept: defaults.checkpoint_bytes,
        clock,
        counters: Arc::default(),
        newest: Arc::default(),
        commits,
        reads: Arc::default(),
        page_feed: None,
    }
}

impl DatabaseFile {
    /// Opens a file and its log, if it has one.
    ///
    /// # Errors
    /// [`OfflineError::Foreign`]: it is no database of this program; errors of the engine.
    pub(crate) fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OfflineError> {
        // Only a connection that may write can read a log. This one does not write, and leaves the log unchanged.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = rusqlite::Connection::open_with_flags_and_vfs(path, flags, "unix-excl").offline()?;
        sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).offline()?;
        let is_ours = sqlite.query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_schema')",
            [],
            |row| row.get::<_, bool>(0),
        );
        match is_ours {
            Ok(true) => {}
            Ok(false) => return Err(OfflineError::Foreign { path: path.to_owned() }),
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
                return Err(OfflineError::Foreign { path: path.to_owned() });
            }
            Err(error) => {
                return Err(match failure::of_disk(&error) {
                    Some(failure) => failure.into(),
                    None => OfflineError::Damaged { path: path.to_owned(), found: error.to_string() },
                });
            }
        }
        let connection = Rc::new(Connection::settle(sqlite, &common(path, clock), Purpose::Read)?);
        connection.interrupt.begin(Duration::MAX);
        connection.run("BEGIN").offline()?;
        let transaction = Rc::new(SqliteTransaction::new(Source::Writer(connection.clone()), Duration::MAX));
        Ok(Self { path: path.to_owned(), connection, transaction })
    }
}

impl OfflineDatabase for DatabaseFile {
    fn reader(&self) -> &dyn Reader {
        &*self.transaction
    }

    fn check(&self, thoroughness: Thoroughness) -> Result<Vec<String>, OfflineError> {
        let sql = match thoroughness {
            Thoroughness::Quick => format!("PRAGMA quick_check({FINDINGS_MAX})"),
            Thoroughness::Full => format!("PRAGMA integrity_check({FINDINGS_MAX})"),
        };
        let found = self.connection.sqlite.prepare(&sql).and_then(|mut statement| {
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
        });
        let findings = match found {
            // Damage that stops the check itself.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
                match failure::of_disk(&error) {
                    Some(failure) => return Err(failure.into()),
                    None => vec![error.to_string()],
                }
            }
            found => found.offline()?,
        };
        if let Some(unread) = findings.iter().find(|finding| failure::is_unread_page(finding)) {
            return Err(StoreError::Disk(unread.clone()).into());
        }
        Ok(if findings == ["ok"] { Vec::new() } else { findings })
    }

    fn require_whole(&self, thoroughness: Thoroughness) -> Result<(), OfflineError> {
        match self.check(thoroughness)?.into_iter().next() {
            None => Ok(()),
            Some(found) => Err(OfflineError::Damaged { path: self.path.clone(), found }),
        }
    }

    fn description(&self) -> Result<String, OfflineError> {
        Ok(format!("SQLite {}", rusqlite::version()))
    }

    fn schema(&self, tables: &[&'static TableDef]) -> Result<Inspected, OfflineError> {
        schema::inspect(&self.connection.sqlite, tables)?
            .ok_or_else(|| OfflineError::Foreign { path: self.path.clone() })
    }

    fn stats(&self) -> Result<Vec<NamedStat>, OfflineError> {
        let number = |sql: &str| self.connection.sqlite.query_row(sql, [], |row| row.get::<_, i64>(0)).offline();
        let gauge = |name, help, sql| Ok(NamedStat::gauge(name, help, number(sql)?.unsigned_abs()));
        [
            gauge("page_bytes", "Bytes of a page.", "PRAGMA page_size"),
            gauge("pages", "Pages in the file.", "PRAGMA page_count"),
            gauge("free_pages", "Pages without content.", "PRAGMA freelist_count"),
        ]
        .into_iter()
        .collect()
    }

    fn greatest_id(&self) -> Result<u128, OfflineError> {
        Ok(schema::greatest_id(&self.connection)?)
    }
}
