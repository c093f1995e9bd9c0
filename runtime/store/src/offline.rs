//! A database without a server: a finished copy, or the database of an installation whose server is stopped.
//!
//! This module never changes the existing database. A new one is created beside it and replaces it as a whole.

use std::io;
use std::path::{Path, PathBuf};

use super::error::{OpenError, StoreError};
use super::query::Plan;
use super::reader::Reader;
use super::schema::Inspected;
use super::schema::table::TableDef;
use super::stats::NamedStat;
use super::value::Value;

/// An error of work on a database without a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfflineError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the file system.
        source: io::Error,
    },
    /// The file is no database of this program.
    #[error("{} is not a database of Convoke", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The engine found damage.
    #[error("{} is damaged: {found}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first finding.
        found: String,
    },
    /// The folder cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The engine failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<OfflineError> for StoreError {
    fn from(error: OfflineError) -> Self {
        match error {
            OfflineError::Store(error) => error,
            error => StoreError::Engine(error.to_string()),
        }
    }
}

/// A locked installation, so that no server runs on it.
pub trait Installation {
    /// Returns the database, if there is one.
    ///
    /// # Errors
    /// [`OfflineError::Foreign`]: the file is no database of this program; [`OfflineError::Damaged`]; errors of the
    /// engine.
    fn database(&self) -> Result<Option<Box<dyn OfflineDatabase>>, OfflineError>;

    /// Starts a new database beside the existing one, with these tables and no rows.
    ///
    /// # Errors
    /// Errors of the file system and the engine.
    fn build(&self, tables: &[&'static TableDef]) -> Result<Box<dyn DatabaseBuilder>, OfflineError>;

    /// Copies a foreign database to disk as the replacement, and opens it for its check. `progress` receives the bytes
    /// copied so far.
    ///
    /// # Errors
    /// Errors of the file system; [`OfflineError::Foreign`].
    fn take_in(&self, from: &Path, progress: &mut dyn FnMut(u64)) -> Result<Box<dyn OfflineDatabase>, OfflineError>;

    /// Sets the note of the page feed ([`crate::PageFeed::resumed`]), without a position: the next process makes a
    /// snapshot.
    ///
    /// # Errors
    /// Errors of the file system; the engine has no page feed.
    fn set_feed_note(&self, _note: &str) -> Result<(), OfflineError> {
        Err(OfflineError::Store(StoreError::Engine("this database has no file that could be copied".to_owned())))
    }

    /// Replaces the database, and returns the new path of the former one, if there was one. The name contains the time:
    /// `convoke.db.before-20260131-235959`.
    ///
    /// # Errors
    /// Errors of the file system.
    fn replace(&self) -> Result<Option<PathBuf>, OfflineError>;
}

/// A read-only database in one state.
pub trait OfflineDatabase {
    /// Returns a reader of its rows.
    fn reader(&self) -> &dyn Reader;

    /// Returns the damage that the engine finds; empty if there is none.
    ///
    /// # Errors
    /// Errors of the engine that prevent the check.
    fn check(&self, thoroughness: Thoroughness) -> Result<Vec<String>, OfflineError>;

    /// Fails if [`OfflineDatabase::check`] finds damage.
    ///
    /// # Errors
    /// [`OfflineError::Damaged`] with the first finding.
    fn require_whole(&self, thoroughness: Thoroughness) -> Result<(), OfflineError>;

    /// Returns one line for users: the engine with its version, the location, and the processes that serve it.
    ///
    /// # Errors
    /// Errors of the engine.
    fn description(&self) -> Result<String, OfflineError>;

    /// Returns the tool that checks it, if [`OfflineDatabase::check`] does not.
    fn checked_by(&self) -> Option<&'static str> {
        None
    }

    /// Returns its schema and that of the tables in code.
    ///
    /// # Errors
    /// Errors of the engine.
    fn schema(&self, tables: &[&'static TableDef]) -> Result<Inspected, OfflineError>;

    /// Returns the statistics that only this engine has.
    ///
    /// # Errors
    /// Errors of the engine.
    fn stats(&self) -> Result<Vec<NamedStat>, OfflineError>;

    /// Returns the greatest row id; 0 if there is no row.
    ///
    /// # Errors
    /// Errors of the engine.
    fn greatest_id(&self) -> Result<u128, OfflineError>;
}

/// A row to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRow {
    /// The bits of its id.
    pub id: u128,
    /// Its creation time.
    pub creation_time: i64,
    /// The values in the order of the table's fields; retired fields are null.
    pub values: Vec<Value>,
}

/// A new database during its import. If it is dropped before it is finished, it leaves nothing.
pub trait DatabaseBuilder {
    /// Inserts a row, with the values in the order of the table's fields.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`] (index `_id`: the id itself), [`StoreError::Unstorable`], errors of the engine.
    fn insert(
        &self,
        table: &'static TableDef,
        id: u128,
        creation_time: i64,
        values: &[Value],
    ) -> Result<(), StoreError>;

    /// Inserts rows of one table, which may be faster than single inserts.
    ///
    /// # Errors
    /// The position of the first row that cannot be inserted, and the error of [`DatabaseBuilder::insert`]. No later
    /// row is inserted.
    fn insert_all(&self, table: &'static TableDef, rows: &[NewRow]) -> Result<(), (usize, StoreError)> {
        let insert = |row: &NewRow| self.insert(table, row.id, row.creation_time, &row.values);
        rows.iter().enumerate().try_for_each(|(place, row)| insert(row).map_err(|error| (place, error)))
    }

    /// Completes the import: flushes every row to disk, checks the database, and compares its counts with `rows`.
    ///
    /// # Errors
    /// [`OfflineError::Damaged`]: the check found damage; errors of the file system and the engine.
    fn finish(self: Box<Self>, rows: &[(&'static TableDef, u64)]) -> Result<(), OfflineError>;
}

/// The extent of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// Checks every page, but not that indexes and rows agree.
    Quick,
    /// Everything.
    Full,
}

/// Counts the rows of a table.
///
/// # Errors
/// Errors of the engine.
pub fn count(reader: &dyn Reader, table: &'static TableDef) -> Result<u64, StoreError> {
    reader.count(&everything(table))
}

/// Checks that the tables have these numbers of rows. `place` is the database in the error.
///
/// # Errors
/// [`OfflineError::Damaged`]: a table has another number; errors of the engine.
pub fn require_counts(
    reader: &dyn Reader,
    rows: &[(&'static TableDef, u64)],
    place: &Path,
) -> Result<(), OfflineError> {
    for (table, expected) in rows {
        let found = count(reader, table)?;
        if found != *expected {
            let found = format!("{} has {found} rows, not {expected}", table.name);
            return Err(OfflineError::Damaged { path: place.to_owned(), found });
        }
    }
    Ok(())
}

/// Returns the plan of all rows of a table, by id.
pub fn everything(table: &'static TableDef) -> Plan {
    Plan::new(table, None)
}
