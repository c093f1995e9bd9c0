//! A new database that is filled row by row in one transaction, and is discarded unless it is finished.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::OpenFlags;

use super::database_file::{DatabaseFile, common};
use super::schema;
use crate::connection::{Connection, Purpose};
use crate::failure::Offline as _;
use crate::transaction::{Source, SqliteTransaction};
use convoke_core::clock::Clock;
use convoke_store::overlay::{Base as _, RowWrite};
use convoke_store::schema::Extent;
use convoke_store::{
    DatabaseBuilder, OfflineDatabase as _, OfflineError, OnOpening, StoreError, TableDef, Thoroughness, Value,
    private_file, sync_folder,
};

/// A new database during its import. Dropped before it is finished, it leaves no file.
pub(crate) struct FileBuilder {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    // In this order: the transaction holds the connection.
    open: Option<(Rc<SqliteTransaction>, Rc<Connection>)>,
}

impl FileBuilder {
    /// Creates the private file with these tables and no rows.
    pub(crate) fn create(
        path: &Path,
        tables: &[&'static TableDef],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OfflineError> {
        private_file(path).map_err(|source| OfflineError::File { path: path.to_owned(), source })?;
        let mut builder = Self { path: path.to_owned(), clock: clock.clone(), open: None };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = rusqlite::Connection::open_with_flags(path, flags).offline()?;
        let connection = Rc::new(Connection::settle(sqlite, &common(path, clock.clone()), Purpose::Build)?);
        let way = schema::Way { large_rows: i64::MAX.unsigned_abs(), on_opening: OnOpening::default() };
        if let Some(refused) = schema::apply(&connection, tables, Extent::Whole, clock.now(), &way)? {
            return Err(StoreError::Engine(format!("the schema cannot be made: {refused}")).into());
        }
        connection.run("BEGIN IMMEDIATE").offline()?;
        connection.interrupt.begin(Duration::MAX);
        let transaction = SqliteTransaction::new(Source::Writer(connection.clone()), Duration::MAX);
        builder.open = Some((Rc::new(transaction), connection));
        Ok(builder)
    }
}

impl DatabaseBuilder for FileBuilder {
    fn insert(
        &self,
        table: &'static TableDef,
        id: u128,
        creation_time: i64,
        values: &[Value],
    ) -> Result<(), StoreError> {
        match &self.open {
            Some((transaction, _)) => transaction.apply(&[RowWrite::new_row(table, id, creation_time, values)?]),
            None => Err(StoreError::Engine("it is finished".to_owned())),
        }
    }

    fn finish(mut self: Box<Self>, rows: &[(&'static TableDef, u64)]) -> Result<(), OfflineError> {
        if let Some((transaction, connection)) = self.open.take() {
            transaction.close();
            connection.run("COMMIT").offline()?;
        }
        let file = DatabaseFile::open(&self.path, self.clock.clone())?;
        file.require_whole(Thoroughness::Full)?;
        convoke_store::offline::require_counts(file.reader(), rows, &self.path)?;
        drop(file);
        let failed = |source| OfflineError::File { path: self.path.clone(), source };
        File::open(&self.path).and_then(|file| file.sync_all()).map_err(failed)?;
        sync_folder(&self.path).map_err(failed)?;
        self.path.clear();
        Ok(())
    }
}

impl Drop for FileBuilder {
    fn drop(&mut self) {
        self.open = None;
        if !self.path.as_os_str().is_empty() {
            // The next lock of the folder removes the rest.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
