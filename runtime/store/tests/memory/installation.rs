//! An offline database in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use convoke_core::clock::Clock;
use convoke_store::overlay::{Base as _, RowWrite};
use convoke_store::schema::Extent;
use convoke_store::{
    DatabaseBuilder, Inspected, Installation, NamedStat, OfflineDatabase, OfflineError, Reader, StoreError, TableDef,
    Thoroughness, Value,
};

use super::database::Database;
use super::engine::Place;
use super::schema;
use super::transaction::Transaction;

/// An installation that is locked until it is dropped.
pub(crate) struct Held {
    pub place: Arc<Place>,
    pub clock: Arc<dyn Clock>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.place.release();
    }
}

impl Installation for Held {
    fn database(&self) -> Result<Option<Box<dyn OfflineDatabase>>, OfflineError> {
        let database = self.place.database();
        Ok((database.version > 0).then(|| copy(database, self.clock.clone())))
    }

    fn build(&self, tables: &[&'static TableDef]) -> Result<Box<dyn DatabaseBuilder>, OfflineError> {
        let (database, difference) = schema::apply(&Database::default(), tables, Extent::Whole, &self.clock)?;
        if let Some(difference) = difference {
            return Err(StoreError::Engine(difference).into());
        }
        let transaction = Transaction::new(database, self.clock.clone(), Duration::MAX);
        Ok(Box::new(Builder { place: self.place.clone(), transaction }))
    }

    fn take_in(&self, from: &Path, _: &mut dyn FnMut(u64)) -> Result<Box<dyn OfflineDatabase>, OfflineError> {
        // No file is a database of this engine.
        Err(OfflineError::Foreign { path: from.to_owned() })
    }

    fn replace(&self) -> Result<Option<PathBuf>, OfflineError> {
        Ok(self.place.replace().then(|| PathBuf::from("former")))
    }
}

struct Builder {
    place: Arc<Place>,
    transaction: Transaction,
}

impl DatabaseBuilder for Builder {
    fn insert(
        &self,
        table: &'static TableDef,
        id: u128,
        creation_time: i64,
        values: &[Value],
    ) -> Result<(), StoreError> {
        self.transaction.apply(&[RowWrite::new_row(table, id, creation_time, values)?])
    }

    fn finish(self: Box<Self>, rows: &[(&'static TableDef, u64)]) -> Result<(), OfflineError> {
        convoke_store::offline::require_counts(&self.transaction, rows, Path::new("replacement"))?;
        self.place.prepare(self.transaction.database());
        Ok(())
    }
}

/// Returns a read-only copy of a database.
pub(crate) fn copy(database: Database, clock: Arc<dyn Clock>) -> Box<dyn OfflineDatabase> {
    Box::new(Copy(Transaction::new(database, clock, Duration::MAX)))
}

struct Copy(Transaction);

impl OfflineDatabase for Copy {
    fn reader(&self) -> &dyn Reader {
        &self.0
    }

    fn check(&self, _: Thoroughness) -> Result<Vec<String>, OfflineError> {
        Ok(Vec::new())
    }

    fn require_whole(&self, _: Thoroughness) -> Result<(), OfflineError> {
        Ok(())
    }

    fn description(&self) -> Result<String, OfflineError> {
        Ok("memory".to_owned())
    }

    fn schema(&self, tables: &[&'static TableDef]) -> Result<Inspected, OfflineError> {
        Ok(schema::compare(self.0.database(), tables)?)
    }

    fn stats(&self) -> Result<Vec<NamedStat>, OfflineError> {
        Ok(Vec::new())
    }

    fn greatest_id(&self) -> Result<u128, OfflineError> {
        Ok(self.0.database().greatest_id())
    }
}
