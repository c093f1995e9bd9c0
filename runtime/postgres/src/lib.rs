//! The engine on PostgreSQL: any number of nodes on one database.
//!
//! The only crate that names PostgreSQL; outside of it there is [`Postgres`], which makes engines. In reading order: what
//! the server says when it fails, where it is, a connection and what bounds it, the SQL of a plan, values, a transaction,
//! the engine's own tables, and then who runs what.

mod aside;
mod buckets;
mod checks;
mod counters;
mod engine;
mod failure;
mod follower;
mod indexes;
mod installation;
mod leases;
mod line;
mod own;
mod pauses;
mod presence;
mod requests;
mod schema;
mod server;
mod session;
mod sessions;
mod sql;
mod transaction;
mod turns;
mod value;
mod writer;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use convoke_core::clock::Clock;
use convoke_store::{Engine, EngineFactory, EngineStart, Files, Installation, OpenError};

pub use server::AddressError;

use engine::PgEngine;
use installation::PgInstallation;
use server::Server;

/// Makes engines on one database of a PostgreSQL server.
#[derive(Clone, Debug)]
pub struct Postgres {
    server: Server,
    /// Mutations that one node runs beside each other, each on a connection of its own.
    pub writers: usize,
}

impl Postgres {
    /// Engines on the database at this address, `postgres://user@host:5432/database`, as libpq writes it. `schema` among
    /// its parameters is the schema of the tables (`convoke` by default), `sslrootcert` a file with the roots that the
    /// server's certificate is verified against (those of the system by default). The way there is encrypted and
    /// verified, except to this machine itself or with `sslmode=disable`.
    ///
    /// # Errors
    /// [`AddressError`]: what is wrong with it, without the password.
    pub fn at(url: &str, password: Option<&str>) -> Result<Self, AddressError> {
        Ok(Self { server: Server::at(url, password)?, writers: 16 })
    }

    /// The same with mutations that see one snapshot each and are not held against each other: what tests of a checker seed
    /// as a mistake.
    #[doc(hidden)]
    #[must_use]
    pub fn with_snapshots_alone(&self) -> Self {
        Self { server: self.server.with_snapshots_alone(), ..self.clone() }
    }

    /// The same server and database, another schema.
    #[must_use]
    pub fn in_schema(&self, schema: &str) -> Self {
        Self { server: self.server.with_schema(schema), ..self.clone() }
    }
}

impl EngineFactory for Postgres {
    fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError> {
        Ok(Box::new(PgEngine::open(self, start)?))
    }

    fn lock(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        Ok(Box::new(PgInstallation::lock(&self.server, data, clock)?))
    }

    fn look(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        self.lock(data, clock)
    }

    fn empty(&self) -> Result<(), OpenError> {
        installation::empty(&self.server)
    }

    fn files(&self, _: &Path) -> Files {
        Files::default()
    }

    fn backed_up_by(&self) -> Option<&'static str> {
        Some(BACKED_UP_BY)
    }
}

/// What backs a database up.
const BACKED_UP_BY: &str = "the tools of PostgreSQL: pg_dump and pg_restore, or its log of writes (PITR). Rows go to \
                            another installation by `convoke export` and `convoke import`";

/// Makes the data folder for its owner alone, where it is missing. What it holds is this node's: its socket, its secrets.
fn make_folder(data: &Path) -> Result<(), OpenError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(data);
    made.map_err(|source| OpenError::Folder { folder: data.to_owned(), source })
}
