//! A database that nobody serves: a finished copy, or that of an installation whose server is stopped.
//!
//! Nothing here changes the database that is there. Another one is made beside it and put in its place as a whole.

use std::io;
use std::path::{Path, PathBuf};

use super::error::{OpenError, StoreError};
use super::query::Plan;
use super::schema::Inspected;
use super::schema::table::TableDef;
use super::stats::NamedStat;
use super::transaction::Reader;
use super::value::Value;

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

impl From<OfflineError> for StoreError {
    fn from(error: OfflineError) -> Self {
        match error {
            OfflineError::Store(error) => error,
            error => StoreError::Engine(error.to_string()),
        }
    }
}

/// An installation that is locked, so that no server runs on it.
pub trait Installation {
    /// The database, if there is one.
    ///
    /// # Errors
    /// [`OfflineError::Foreign`] if it is no database of ours; [`OfflineError::Damaged`]; the engine's.
    fn database(&self) -> Result<Option<Box<dyn OfflineDatabase>>, OfflineError>;

    /// Begins another database beside the one that is there, with these tables and no rows.
    ///
    /// # Errors
    /// Those of the file system and the engine.
    fn build(&self, tables: &[&'static TableDef]) -> Result<Box<dyn DatabaseBuilder>, OfflineError>;

    /// Takes a database from elsewhere in as the replacement: a copy of it, on disk, opened for its check.
    /// `progress` is told the bytes copied so far.
    ///
    /// # Errors
    /// Those of the file system; [`OfflineError::Foreign`].
    fn take_in(&self, from: &Path, progress: &mut dyn FnMut(u64)) -> Result<Box<dyn OfflineDatabase>, OfflineError>;

    /// Puts the replacement in the place of the database, and says what the former one is called now, if there was
    /// one. The file is named for the time: `convoke.db.before-20260131-235959`.
    ///
    /// # Errors
    /// Those of the file system.
    fn replace(&self) -> Result<Option<PathBuf>, OfflineError>;
}

/// A database in one state, which is read and never changed.
pub trait OfflineDatabase {
    /// Its rows.
    fn reader(&self) -> &dyn Reader;

    /// What the engine finds wrong with it; nothing if it is whole.
    ///
    /// # Errors
    /// The engine's, if it cannot even look.
    fn check(&self, thoroughness: Thoroughness) -> Result<Vec<String>, OfflineError>;

    /// As [`OfflineDatabase::check`].
    ///
    /// # Errors
    /// [`OfflineError::Damaged`] with the first finding.
    fn require_whole(&self, thoroughness: Thoroughness) -> Result<(), OfflineError>;

    /// What holds it, in one line for people: the engine with its version, where it is, and who serves it.
    ///
    /// # Errors
    /// The engine's.
    fn description(&self) -> Result<String, OfflineError>;

    /// What checks it, where [`OfflineDatabase::check`] does not look.
    fn checked_by(&self) -> Option<&'static str> {
        None
    }

    /// Its schema beside that of the tables in code.
    ///
    /// # Errors
    /// The engine's.
    fn schema(&self, tables: &[&'static TableDef]) -> Result<Inspected, OfflineError>;

    /// What it is made of: figures that only this engine has.
    ///
    /// # Errors
    /// The engine's.
    fn stats(&self) -> Result<Vec<NamedStat>, OfflineError>;

    /// The greatest id of any row; 0 if there is none.
    ///
    /// # Errors
    /// The engine's.
    fn greatest_id(&self) -> Result<u128, OfflineError>;
}

/// A row as it is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRow {
    /// The bits of its id.
    pub id: u128,
    /// When it was made.
    pub creation_time: i64,
    /// The values of the table's fields, by place; retired ones are null.
    pub values: Vec<Value>,
}

/// A new database that is being filled. Dropped before it is finished, it leaves nothing.
pub trait DatabaseBuilder {
    /// Adds a row; the values are those of the table's fields, by place.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`] (index `_id`: the id itself), [`StoreError::Unstorable`], the engine's.
    fn insert(
        &self,
        table: &'static TableDef,
        id: u128,
        creation_time: i64,
        values: &[Value],
    ) -> Result<(), StoreError>;

    /// Adds rows of one table, which may cost less than one after the other.
    ///
    /// # Errors
    /// The place of the first row that cannot be added, and why, as [`DatabaseBuilder::insert`]; of those behind it none
    /// was added.
    fn insert_all(&self, table: &'static TableDef, rows: &[NewRow]) -> Result<(), (usize, StoreError)> {
        let insert = |row: &NewRow| self.insert(table, row.id, row.creation_time, &row.values);
        rows.iter().enumerate().try_for_each(|(place, row)| insert(row).map_err(|error| (place, error)))
    }

    /// Ends it: every row is on disk, and the database is checked and counted against `rows`, the rows each table must
    /// have.
    ///
    /// # Errors
    /// [`OfflineError::Damaged`] if the check finds something; those of the file system and the engine.
    fn finish(self: Box<Self>, rows: &[(&'static TableDef, u64)]) -> Result<(), OfflineError>;
}

/// How much of a database is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// Every page, but not whether indexes and rows agree.
    Quick,
    /// Everything.
    Full,
}

/// How many rows a table has.
///
/// # Errors
/// The engine's.
pub fn count(reader: &dyn Reader, table: &'static TableDef) -> Result<u64, StoreError> {
    reader.count(&everything(table))
}

/// All rows of a table, by id.
pub fn everything(table: &'static TableDef) -> Plan {
    Plan::new(table, None)
}
