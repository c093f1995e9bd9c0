//! A database without nodes: read, and replaced as a whole by a new one.
//!
//! The tables are in a schema of the server. A new schema is created beside it and takes its name.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;

use super::checks;
use super::failure::Failure;
use super::folder;
use super::nodes::{Company, Presence, enter_row};
use super::own;
use super::schema;
use super::server::Server;
use super::session::Session;
use super::snapshot::Snapshot;
use super::sql::{NAME_MAX, quoted};
use super::transaction::{Committed, Death, PgTransaction, Purpose};
use convoke_core::clock::{Clock, SharedClock};
use convoke_store::overlay::{Base as _, Batch, Mode, Transaction};
use convoke_store::schema::Extent;
use convoke_store::{
    Commits, DatabaseBuilder, Installation, NewRow, OfflineDatabase, OfflineError, OnOpening, OpenError, StoreError,
    TableDef, Value,
};

/// A locked installation.
pub(crate) struct PgInstallation {
    server: Arc<Server>,
    clock: Arc<dyn Clock>,
    presence: Presence,
}

impl PgInstallation {
    /// Locks the installation.
    ///
    /// # Errors
    /// [`OpenError::Locked`]: nodes serve it; errors of the server.
    pub(crate) fn lock(server: &Server, data: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        folder::make(data)?;
        let server = Arc::new(server.clone());
        let mut session = Session::open(&server)?;
        checks::require(&mut session, &server)?;
        own::make(&mut session, &server)?;
        let shared = Arc::new(SharedClock::over(clock));
        let presence = Presence::enter(&mut session, &server, Company::None, &shared, None)
            .map_err(|refused| refused.into_open_error(data))?;
        let clock: Arc<dyn Clock> = shared;
        Ok(Self { server, clock, presence })
    }

    fn replacement(&self) -> Server {
        self.server.with_schema(&format!("{}~new", self.server.schema))
    }
}

/// Deletes every row, and the records of commits and nodes.
pub(crate) fn empty(server: &Server) -> Result<(), OpenError> {
    const TABLES: &str = "SELECT relname::text FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace \
                          AND relkind = 'r' AND relname NOT IN ('_schema', '_leases')";
    let mut session = Session::open(&Arc::new(server.clone()))?;
    let tables = session.rows(TABLES, Vec::new())?;
    let names = tables.iter().filter_map(|row| row.try_get::<_, String>(0).ok());
    let statements: Vec<String> = names.map(|name| format!("DELETE FROM {}", quoted(&name))).collect();
    Ok(session.run(statements.join("; "))?)
}

impl Installation for PgInstallation {
    fn database(&self) -> Result<Option<Box<dyn OfflineDatabase>>, OfflineError> {
        let commits = Arc::new(Commits::new(self.clock.clone(), &[]));
        let snapshot = Snapshot::open(&self.server, &self.clock, &commits)?;
        Ok(snapshot.has_schema()?.then(|| Box::new(snapshot) as Box<dyn OfflineDatabase>))
    }

    fn build(&self, tables: &[&'static TableDef]) -> Result<Box<dyn DatabaseBuilder>, OfflineError> {
        let server = Arc::new(self.replacement());
        let mut session = Session::open(&server).map_err(OpenError::from)?;
        let drop_it = format!("DROP SCHEMA IF EXISTS {} CASCADE", quoted(&server.schema));
        session.run(drop_it).and_then(|()| own::make(&mut session, &server)).map_err(OpenError::from)?;
        let commits = Arc::new(Commits::new(self.clock.clone(), tables));
        let by = (self.presence.id(), &OnOpening::default());
        let (difference, session) =
            schema::apply(session, &server, tables, Extent::Whole, (&self.clock, &commits), by)?;
        if let Some(refused) = difference {
            return Err(StoreError::Engine(format!("the schema cannot be made: {refused}")).into());
        }
        let frame = schema::frame(&self.clock, &commits);
        // No other process knows it.
        let transaction = Rc::new(PgTransaction::new(session, Purpose::Upkeep, frame));
        Ok(Box::new(Builder { server, commits, transaction, is_finished: Mutex::new(false) }))
    }

    fn take_in(&self, from: &Path, _: &mut dyn FnMut(u64)) -> Result<Box<dyn OfflineDatabase>, OfflineError> {
        // No file is a database of this engine.
        Err(OfflineError::Foreign { path: from.to_owned() })
    }

    fn replace(&self) -> Result<Option<PathBuf>, OfflineError> {
        let (there, new) = (&self.server.schema, self.replacement());
        let mut session = Session::open(&self.server).map_err(OpenError::from)?;
        let replace = |session: &mut Session| {
            let rows = session.rows("SELECT 1 FROM _schema LIMIT 1", Vec::new())?;
            let former = format!("{there}.before-{}", convoke_core::clock::stamp(self.clock.now()));
            let former = free_name(session, &former)?;
            session.run(format!(
                "BEGIN; ALTER SCHEMA {0} RENAME TO {1}; ALTER SCHEMA {2} RENAME TO {0}",
                quoted(there),
                quoted(&former),
                quoted(&new.schema)
            ))?;
            session.forget_statements();
            // The lock covers both schemas.
            enter_row(session, self.presence.id(), Company::None)?;
            if rows.is_empty() {
                session.run(format!("DROP SCHEMA {} CASCADE; COMMIT", quoted(&former)))?;
                return Ok(None);
            }
            session.run("COMMIT")?;
            Ok(Some(PathBuf::from(former)))
        };
        replace(&mut session).map_err(|failure: Failure| OpenError::from(failure).into())
    }
}

fn free_name(session: &mut Session, plain: &str) -> Result<String, Failure> {
    let mut name = plain.to_owned();
    for number in 2_u32.. {
        let taken = "SELECT 1 FROM information_schema.schemata WHERE schema_name = $1";
        if session.rows(taken, vec![Value::Text(name.clone()).into()])?.is_empty() || name.len() >= NAME_MAX {
            break;
        }
        name = format!("{plain}-{number}");
    }
    Ok(name)
}

/// A new database during its import, in its own schema and one transaction.
struct Builder {
    server: Arc<Server>,
    commits: Arc<Commits>,
    transaction: Rc<PgTransaction>,
    is_finished: Mutex<bool>,
}

impl DatabaseBuilder for Builder {
    fn insert(
        &self,
        table: &'static TableDef,
        id: u128,
        creation_time: i64,
        values: &[Value],
    ) -> Result<(), StoreError> {
        let batch = Batch::new(self.commits.clone());
        Transaction::begin(&batch, self.transaction.clone(), Mode::Alone).insert(table, id, creation_time, values)?;
        self.transaction.apply(&batch.writes())
    }

    fn insert_all(&self, table: &'static TableDef, rows: &[NewRow]) -> Result<(), (usize, StoreError)> {
        match self.transaction.insert_all(table, rows) {
            Ok(true) => Ok(()),
            // Single inserts show which row is rejected.
            Ok(false) => rows.iter().enumerate().try_for_each(|(place, row)| {
                self.insert(table, row.id, row.creation_time, &row.values).map_err(|error| (place, error))
            }),
            Err(error) => Err((0, error)),
        }
    }

    fn finish(self: Box<Self>, rows: &[(&'static TableDef, u64)]) -> Result<(), OfflineError> {
        convoke_store::offline::require_counts(&*self.transaction, rows, Path::new(&self.server.schema))?;
        match self.transaction.commit(&[], Vec::new(), self.server.patience) {
            Committed::Yes => {
                *self.is_finished.lock() = true;
                Ok(())
            }
            Committed::No(Death::Failed(error)) => Err(error.into()),
            Committed::No(Death::Again(reason) | Death::Missing(reason) | Death::Cut(reason)) => {
                Err(StoreError::Engine(reason).into())
            }
            Committed::Unknown(failure) => Err(StoreError::Engine(failure.reason()).into()),
            Committed::No(Death::Checked | Death::Outgrown) => {
                Err(StoreError::Engine("rows collide".to_owned()).into())
            }
        }
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        let session = self.transaction.close();
        if *self.is_finished.lock() {
            return;
        }
        // The next build removes the rest.
        if let Some(mut session) = session {
            let _ = session.run(format!("DROP SCHEMA {} CASCADE", quoted(&self.server.schema)));
        }
    }
}
