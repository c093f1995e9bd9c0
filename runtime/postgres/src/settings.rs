//! Settings of the engine.

use super::server::{AddressError, Server};

/// The factory of engines on one PostgreSQL database.
#[derive(Clone, Debug)]
pub struct Postgres {
    pub(crate) server: Server,
    /// Most concurrent mutations of one node, each on its own connection.
    pub writers: usize,
}

impl Postgres {
    /// Creates a factory for this address, `postgres://user@host:5432/database`, in libpq's form. Its parameter
    /// `schema` is the schema of the tables (default: `convoke`), and `sslrootcert` a file with the roots to verify the
    /// server's certificate (default: those of the system). The connection is encrypted and verified, except to this
    /// machine or with `sslmode=disable`.
    ///
    /// # Errors
    /// [`AddressError`]: the mistake, without the password.
    pub fn at(url: &str, password: Option<&str>) -> Result<Self, AddressError> {
        Ok(Self { server: Server::at(url, password)?, writers: 16 })
    }

    /// Returns the same with snapshot isolation, which is not serializable: the seeded fault of a checker's tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_snapshots_alone(&self) -> Self {
        Self { server: self.server.with_snapshots_alone(), ..self.clone() }
    }

    /// Returns the same server and database with another schema.
    #[must_use]
    pub fn in_schema(&self, schema: &str) -> Self {
        Self { server: self.server.with_schema(schema), ..self.clone() }
    }
}

/// The backup tool.
pub(crate) const BACKED_UP_BY: &str = "the tools of PostgreSQL: pg_dump and pg_restore, or its log of writes (PITR). Rows go to \
                            another installation by `convoke export` and `convoke import`";
