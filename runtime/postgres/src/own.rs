//! The engine's own tables: the schema's history, what was committed, who serves, what one node alone may do at a time, what
//! all together may let through, and what one asks of another.

use std::time::Duration;

use super::failure::Failure;
use super::server::Server;
use super::session::Session;
use super::sql::{quoted, text_literal};
use super::value::Param;
use convoke_store::Value;

/// After so long without a renewal a row of `_nodes` stands for nobody.
pub(crate) const LIFETIME_S: u32 = 10;

/// Names that no table of an application has.
pub(crate) const NAMES: [&str; 6] = ["_schema", "_commits", "_nodes", "_leases", "_buckets", "_requests"];

/// Makes the schema and the engine's own tables where they are missing.
///
/// # Errors
/// The server's.
pub(crate) fn make(session: &mut Session, server: &Server) -> Result<(), Failure> {
    // Several nodes may begin at the same moment, and "if not exists" does not keep one from seeing another half-way.
    for _ in 0..50 {
        // What the latest release has added.
        let exists = format!(
            "SELECT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = {} AND table_name = '_leases' \
             AND column_name = 'holder')",
            text_literal(&server.schema)
        );
        let rows = session.rows(&exists, Vec::new())?;
        if rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false)) {
            return Ok(());
        }
        match session.run(all(&server.schema)) {
            Ok(()) | Err(Failure::Unique | Failure::Conflict(_)) => {}
            Err(Failure::Other(reason)) if reason.contains("(42P07)") || reason.contains("(XX000)") => {}
            Err(failure) => return Err(failure),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Failure::Other("the engine's own tables cannot be made".to_owned()))
}

/// The statements of [`make`]; they are one transaction, and add what a former release has not made.
pub(crate) fn all(schema: &str) -> String {
    let schema = quoted(schema);
    format!(
        "CREATE SCHEMA IF NOT EXISTS {schema};
         CREATE TABLE IF NOT EXISTS {schema}._schema (version bigint PRIMARY KEY, applied_at bigint NOT NULL, changes text NOT NULL, \
           definition text NOT NULL);
         CREATE TABLE IF NOT EXISTS {schema}._commits (id uuid PRIMARY KEY, xid xid8 NOT NULL, node uuid NOT NULL, changes text NOT NULL, \
           at timestamptz NOT NULL DEFAULT now());
         CREATE INDEX IF NOT EXISTS _commits_xid_idx ON {schema}._commits (xid);
         CREATE INDEX IF NOT EXISTS _commits_at_idx ON {schema}._commits (at);
         CREATE TABLE IF NOT EXISTS {schema}._nodes (id uuid PRIMARY KEY, name text NOT NULL, alone boolean NOT NULL, agreed text, \
           began_at timestamptz NOT NULL DEFAULT now(), seen_at timestamptz NOT NULL DEFAULT now());
         CREATE TABLE IF NOT EXISTS {schema}._leases (name text PRIMARY KEY);
         ALTER TABLE {schema}._leases ADD COLUMN IF NOT EXISTS holder uuid;
         INSERT INTO {schema}._leases (name) VALUES ('schema'), ('nodes'), ('indexes') ON CONFLICT DO NOTHING;
         CREATE TABLE IF NOT EXISTS {schema}._buckets (id uuid PRIMARY KEY, at bigint NOT NULL, tokens float8 NOT NULL, \
           taken float8 NOT NULL, full_at bigint NOT NULL);
         CREATE TABLE IF NOT EXISTS {schema}._requests (id uuid PRIMARY KEY, node bigint NOT NULL, request text NOT NULL, answer text, \
           at timestamptz NOT NULL DEFAULT now());"
    )
}

/// Holds what the lease `name` stands for until the transaction ends; whoever else wants it waits.
pub(crate) fn hold(name: &str) -> String {
    format!("SELECT 1 FROM _leases WHERE name = '{name}' FOR UPDATE")
}

/// Takes the lease `name` for a node, until it gives it back or is not heard of; says whether it has it.
///
/// # Errors
/// The server's.
pub(crate) fn claim(session: &mut Session, name: &str, node: u128) -> Result<bool, Failure> {
    let sql = format!(
        "UPDATE _leases SET holder = $1 WHERE name = $2 AND (holder IS NULL OR holder = $1 OR NOT EXISTS (SELECT 1 FROM _nodes \
         WHERE id = holder AND seen_at > clock_timestamp() - interval '{LIFETIME_S} seconds'))"
    );
    Ok(session.change(&sql, vec![id(node), Value::Text(name.to_owned()).into()])? > 0)
}

/// Gives the lease `name` back.
///
/// # Errors
/// The server's.
pub(crate) fn give_back(session: &mut Session, name: &str, node: u128) -> Result<(), Failure> {
    const GIVE: &str = "UPDATE _leases SET holder = NULL WHERE name = $2 AND holder = $1";
    session.change(GIVE, vec![id(node), Value::Text(name.to_owned()).into()]).map(drop)
}

/// An id as it is given to a statement.
pub(crate) fn id(bits: u128) -> Param {
    Value::Id(bits).into()
}

/// A new random id.
///
/// # Errors
/// The system has no randomness.
pub(crate) fn random_id() -> Result<u128, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(u128::from_be_bytes(bytes))
}
