//! A read-only database as of one moment.

use std::sync::Arc;

use super::checks::UNCOPIED;
use super::own::LIFETIME_S;
use super::schema;
use super::server::Server;
use super::session::Session;
use super::transaction::{PgTransaction, Purpose};
use convoke_core::clock::Clock;
use convoke_store::{
    Commits, Inspected, NamedStat, OfflineDatabase, OfflineError, Reader, StoreError, TableDef, Thoroughness, Value,
};

/// A database as of one moment: a snapshot on the server.
pub(crate) struct Snapshot {
    server: Arc<Server>,
    transaction: PgTransaction,
}

impl Snapshot {
    /// Opens a snapshot that is serializable with the mutations.
    pub(crate) fn open(
        server: &Arc<Server>,
        clock: &Arc<dyn Clock>,
        commits: &Arc<Commits>,
    ) -> Result<Self, StoreError> {
        let mut session = Session::open(server).map_err(|failure| failure.into_store(0))?;
        session.run("SET idle_in_transaction_session_timeout = 0").map_err(|failure| failure.into_store(0))?;
        let transaction = PgTransaction::new(session, Purpose::ReadLong, schema::frame(clock, commits));
        transaction.run("SELECT 1")?;
        Ok(Self { server: server.clone(), transaction })
    }

    /// Returns true if the database has a schema of this program.
    pub(crate) fn has_schema(&self) -> Result<bool, StoreError> {
        Ok(!self.transaction.own_rows("SELECT 1 FROM _schema LIMIT 1", Vec::new())?.is_empty())
    }
}

impl OfflineDatabase for Snapshot {
    fn reader(&self) -> &dyn Reader {
        &self.transaction
    }

    fn check(&self, _: Thoroughness) -> Result<Vec<String>, OfflineError> {
        // The server's own tools check pages (pg_amcheck).
        Ok(Vec::new())
    }

    fn require_whole(&self, _: Thoroughness) -> Result<(), OfflineError> {
        Ok(())
    }

    fn description(&self) -> Result<String, OfflineError> {
        let nodes = format!(
            "SELECT current_setting('server_version'), current_database(), coalesce(string_agg(name, ', ' ORDER BY name), ''), \
             current_setting('synchronous_standby_names') FROM _nodes WHERE NOT alone AND seen_at > clock_timestamp() - interval '{LIFETIME_S} seconds'"
        );
        let rows = self.transaction.own_rows(&nodes, Vec::new())?;
        let text = |column| rows.first().and_then(|row| row.try_get::<_, String>(column).ok()).unwrap_or_default();
        let (version, database, nodes, standbys) = (text(0), text(1), text(2), text(3));
        let served = if nodes.is_empty() { "no node serves it".to_owned() } else { format!("nodes: {nodes}") };
        let confirmed = match &*standbys {
            "" => UNCOPIED.to_owned(),
            names => format!("synchronous standbys: {names}"),
        };
        let (hosts, schema) = (self.server.hosts(), &self.server.schema);
        Ok(format!("PostgreSQL {version} at {hosts}, database {database}, schema {schema}; {served}; {confirmed}"))
    }

    fn checked_by(&self) -> Option<&'static str> {
        Some("pg_amcheck")
    }

    fn schema(&self, tables: &[&'static TableDef]) -> Result<Inspected, OfflineError> {
        Ok(schema::inspect(&self.transaction, tables)?)
    }

    fn stats(&self) -> Result<Vec<NamedStat>, OfflineError> {
        let sql = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c \
                   JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = $1";
        let rows = self.transaction.own_rows(sql, vec![Value::Text(self.server.schema.clone()).into()])?;
        let bytes: i64 = rows.first().and_then(|row| row.try_get(0).ok()).unwrap_or(0);
        Ok(vec![NamedStat::gauge("database_bytes", "Bytes of the tables and their indexes.", bytes.unsigned_abs())])
    }

    fn greatest_id(&self) -> Result<u128, OfflineError> {
        Ok(schema::greatest_id(&self.transaction)?)
    }
}
