//! The settings of the engine.

use super::server::{AddressError, Server};

/// Makes engines on one database of a PostgreSQL server.
#[derive(Clone, Debug)]
pub struct Postgres {
    pub(crate) server: Server,
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

/// What backs a database up.
pub(crate) const BACKED_UP_BY: &str = "the tools of PostgreSQL: pg_dump and pg_restore, or its log of writes (PITR). Rows go to \
                            another installation by `convoke export` and `convoke import`";
