//! A database file that nobody serves: a finished copy, or that of a folder whose server is stopped.
//!
//! It is read and never changed, its log included.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;

use super::connection::{Common, Connection, Purpose};
use super::schema::{self, Inspected};
use super::transaction::{Source, SqliteTransaction};
use crate::clock::Clock;
use crate::store::handle::{StoreOptions, Synchronous};
use crate::store::offline::OfflineError;
use crate::store::table::TableDef;
use crate::store::transaction::Transaction;

/// Findings of one check at most.
const FINDINGS_MAX: usize = 100;

/// A database file, opened for reading.
pub struct DatabaseFile {
    path: PathBuf,
    connection: Rc<Connection>,
    transaction: Rc<SqliteTransaction>,
}

/// How much of a file is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// Every page, but not whether indexes and rows agree.
    Quick,
    /// Everything.
    Full,
}

/// What a file is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Details {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages in the file.
    pub pages: u64,
    /// Pages without content.
    pub free_pages: u64,
}

/// What a connection to a file beside the served one is settled with.
pub fn common(path: &Path, clock: Arc<dyn Clock>) -> Common {
    let defaults = StoreOptions::new("");
    Common {
        path: path.into(),
        synchronous: Synchronous::Full,
        page_bytes: defaults.page_bytes,
        cache_kib: defaults.cache_kib,
        pages_max: None,
        wal_bytes_kept: defaults.checkpoint_bytes,
        clock,
        figures: Arc::default(),
        newest: Arc::default(),
    }
}

impl DatabaseFile {
    /// Opens a file whose log, if it has one, is read with it.
    ///
    /// # Errors
    /// [`OfflineError::Foreign`] if it is no database of ours; the engine's.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OfflineError> {
        // A log is read by connections only that may write; this one does not, and leaves the log where it is.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = rusqlite::Connection::open_with_flags_and_vfs(path, flags, "unix-excl")?;
        sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
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
            Err(error) => return Err(OfflineError::Damaged { path: path.to_owned(), found: error.to_string() }),
        }
        let connection = Rc::new(Connection::settle(sqlite, &common(path, clock), Purpose::Read)?);
        connection.guard.begin(Duration::MAX);
        connection.run("BEGIN")?;
        let transaction = Rc::new(SqliteTransaction::new(Source::Writer(connection.clone()), Duration::MAX));
        Ok(Self { path: path.to_owned(), connection, transaction })
    }

    /// The file as a transaction that sees one state of it.
    pub fn transaction(&self) -> &dyn Transaction {
        &*self.transaction
    }

    /// What the engine finds wrong with the file; nothing if it is whole.
    ///
    /// # Errors
    /// The engine's, if it cannot even look.
    pub fn check(&self, thoroughness: Thoroughness) -> Result<Vec<String>, OfflineError> {
        let sql = match thoroughness {
            Thoroughness::Quick => format!("PRAGMA quick_check({FINDINGS_MAX})"),
            Thoroughness::Full => format!("PRAGMA integrity_check({FINDINGS_MAX})"),
        };
        let found = self.connection.sqlite.prepare(&sql).and_then(|mut statement| {
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
        });
        let findings = match found {
            // Damage that the check cannot even walk over.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
                vec![error.to_string()]
            }
            found => found?,
        };
        Ok(if findings == ["ok"] { Vec::new() } else { findings })
    }

    /// As [`DatabaseFile::check`].
    ///
    /// # Errors
    /// [`OfflineError::Damaged`] with the first finding.
    pub fn require_whole(&self, thoroughness: Thoroughness) -> Result<(), OfflineError> {
        match self.check(thoroughness)?.into_iter().next() {
            None => Ok(()),
            Some(found) => Err(OfflineError::Damaged { path: self.path.clone(), found }),
        }
    }

    /// Its schema beside that of the tables in code.
    ///
    /// # Errors
    /// The engine's.
    pub fn schema(&self, tables: &[&'static TableDef]) -> Result<Inspected, OfflineError> {
        schema::inspect(&self.connection.sqlite, tables)?
            .ok_or_else(|| OfflineError::Foreign { path: self.path.clone() })
    }

    /// What it is made of.
    ///
    /// # Errors
    /// The engine's.
    pub fn details(&self) -> Result<Details, OfflineError> {
        let number = |sql: &str| self.connection.sqlite.query_row(sql, [], |row| row.get::<_, i64>(0));
        Ok(Details {
            page_bytes: number("PRAGMA page_size")?.unsigned_abs(),
            pages: number("PRAGMA page_count")?.unsigned_abs(),
            free_pages: number("PRAGMA freelist_count")?.unsigned_abs(),
        })
    }

    /// The greatest id of any row; 0 if there is none.
    ///
    /// # Errors
    /// The engine's.
    pub fn greatest_id(&self) -> Result<u128, OfflineError> {
        Ok(schema::greatest_id(&self.connection)?)
    }
}
