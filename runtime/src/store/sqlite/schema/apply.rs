//! Brings the file to the schema in code, in one transaction, and keeps what was done in the table `_schema`.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension as _, params};
use tracing::{debug, info};

use super::definition::Definition;
use super::difference::{Difference, Statement, difference};
use crate::clock::Millis;
use crate::store::handle::OpenError;
use crate::store::sqlite::connection::Connection;
use crate::store::sqlite::row;
use crate::store::sqlite::text::quoted;
use crate::store::table::TableDef;

const OWN_TABLE: &str = "CREATE TABLE IF NOT EXISTS \"_schema\" \
    (\"version\" INTEGER PRIMARY KEY, \"appliedAt\" INTEGER, \"changes\" TEXT, \"definition\" TEXT) STRICT";

/// How far the file is to follow the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// In everything, or, in the application's tables, in nothing.
    Whole,
    /// In what can be: so that a migration finds the fields of the new code. The former code serves it no more.
    Part,
}

/// What became of the schema.
enum Applied {
    /// It is what the code says; these changes were made.
    All(Vec<String>),
    /// Not all of it was changed: this stands in the way, in plain words.
    Refused {
        reason: String,
        /// Whether anything was.
        changed: bool,
    },
}

/// Applies what the code adds. Returns the difference that cannot be applied, in plain words; then nothing was, in the
/// application's tables.
///
/// # Errors
/// The engine's.
pub fn apply(
    connection: &Connection,
    tables: &[&'static TableDef],
    extent: Extent,
    now: Millis,
) -> Result<Option<String>, OpenError> {
    connection.run("BEGIN IMMEDIATE")?;
    let applied = within(&connection.sqlite, tables, extent, now);
    let end = if matches!(applied, Ok(Applied::All(_) | Applied::Refused { changed: true, .. })) {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    if connection.in_transaction() {
        connection.run(end)?;
    }
    match applied? {
        Applied::All(changes) => {
            if !changes.is_empty() {
                let tables_added =
                    changes.iter().filter(|what| what.ends_with(" added") && !what.contains(": ")).count();
                info!(changes = changes.len(), tables_added, "the schema was brought up to date");
                changes.iter().for_each(|change| debug!("schema: {change}"));
            }
            Ok(None)
        }
        Applied::Refused { reason, .. } => Ok(Some(reason)),
    }
}

fn within(
    connection: &rusqlite::Connection,
    tables: &[&'static TableDef],
    extent: Extent,
    now: Millis,
) -> Result<Applied, OpenError> {
    connection.execute_batch(OWN_TABLE)?;
    let (version, stored) = stored(connection)?;
    let difference = difference(connection, &stored, tables)?;
    if extent == Extent::Part {
        return part(connection, version, &stored, difference, now);
    }
    if !difference.refused.is_empty() {
        return refuse(connection, version, &stored, tables, difference.refused.join("; "), now);
    }
    if version > 0 && difference.statements.is_empty() && difference.result == stored {
        return Ok(Applied::All(Vec::new()));
    }
    if let Some(collision) = run(connection, &difference)? {
        return Ok(Applied::Refused { reason: collision, changed: false });
    }
    Ok(Applied::All(keep(connection, version, difference, now)?))
}

/// Runs what can be run. What is refused, and an index in which rows collide, stands as it did.
fn part(
    connection: &rusqlite::Connection,
    version: i64,
    stored: &Definition,
    mut difference: Difference,
    now: Millis,
) -> Result<Applied, OpenError> {
    let mut ran = Vec::new();
    for statement in std::mem::take(&mut difference.statements) {
        match (connection.execute_batch(&statement.sql), &statement.index) {
            (Ok(()), _) => ran.push(statement),
            (Err(error), Some((table, index)))
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
            {
                difference.refused.push(collision(&statement));
                if let Some(table) = difference.result.tables.get_mut(table) {
                    table.indexes.remove(index);
                }
            }
            (Err(error), _) => return Err(error.into()),
        }
    }
    let reason = difference.refused.join("; ");
    let (is_whole, changed) = (difference.refused.is_empty(), !ran.is_empty() || difference.result != *stored);
    difference.statements = ran;
    let changes = if changed { keep(connection, version, difference, now)? } else { Vec::new() };
    Ok(if is_whole { Applied::All(changes) } else { Applied::Refused { reason, changed } })
}

fn collision(statement: &Statement) -> String {
    format!("{}, but rows collide in it; write a migration", statement.what)
}

/// The application's tables stay as they are, and the old code still serves them. The runtime's own follow all the
/// same: the operator needs them to bring the others up to date.
fn refuse(
    connection: &rusqlite::Connection,
    version: i64,
    stored: &Definition,
    tables: &[&'static TableDef],
    reason: String,
    now: Millis,
) -> Result<Applied, OpenError> {
    let is_own = |name: &str| name.starts_with('_');
    let own: Vec<_> = tables.iter().copied().filter(|table| is_own(table.name)).collect();
    let (held, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        stored.tables.clone().into_iter().partition(|(name, _)| is_own(name));
    let held = Definition { tables: held };
    let mut difference = difference(connection, &held, &own)?;
    let fits = difference.refused.is_empty() && !difference.statements.is_empty();
    if !fits || run(connection, &difference)?.is_some() {
        return Ok(Applied::Refused { reason, changed: false });
    }
    difference.result.tables.extend(others);
    keep(connection, version, difference, now)?;
    Ok(Applied::Refused { reason, changed: true })
}

/// Notes in the file what it holds from now on; the changes in words.
fn keep(
    connection: &rusqlite::Connection,
    version: i64,
    difference: Difference,
    now: Millis,
) -> Result<Vec<String>, OpenError> {
    let definition = serde_json::to_string(&difference.result).map_err(|error| OpenError::Engine(error.to_string()))?;
    let changes: Vec<String> = difference.statements.into_iter().map(|statement| statement.what).collect();
    connection.execute(
        "INSERT INTO \"_schema\" (\"version\", \"appliedAt\", \"changes\", \"definition\") VALUES (?1, ?2, ?3, ?4)",
        params![version + 1, now.0, changes.join("\n"), definition],
    )?;
    Ok(changes)
}

/// The schema of a file beside the one in code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// How often the schema of the file was changed, the first time included.
    pub version: i64,
    /// When it was changed last, in milliseconds since the epoch.
    pub applied_at: i64,
    /// What the next start adds to it.
    pub pending: Vec<String>,
    /// What a start cannot do, in plain words; the store opens closed for it.
    pub refused: Vec<String>,
}

/// Compares a file with the tables in code and changes nothing; `None` if the file holds no schema of ours.
///
/// # Errors
/// The engine's.
pub fn inspect(
    connection: &rusqlite::Connection,
    tables: &[&'static TableDef],
) -> Result<Option<Inspected>, OpenError> {
    let own = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_schema')",
        [],
        |row| row.get::<_, bool>(0),
    )?;
    if !own {
        return Ok(None);
    }
    let (version, stored) = stored(connection)?;
    let applied_at =
        connection.query_row("SELECT coalesce(max(\"appliedAt\"), 0) FROM \"_schema\"", [], |row| row.get(0))?;
    let Difference { statements, refused, .. } = difference(connection, &stored, tables)?;
    let pending = statements.into_iter().map(|statement| statement.what).collect();
    Ok(Some(Inspected { version, applied_at, pending, refused }))
}

/// The version and the schema of the file; 0 and nothing in a new one.
fn stored(connection: &rusqlite::Connection) -> Result<(i64, Definition), OpenError> {
    let last = connection
        .query_row("SELECT \"version\", \"definition\" FROM \"_schema\" ORDER BY \"version\" DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get::<_, String>(1)?))
        })
        .optional()?;
    let Some((version, definition)) = last else { return Ok((0, Definition::default())) };
    let definition = serde_json::from_str(&definition)
        .map_err(|error| OpenError::Engine(format!("the schema kept in the database cannot be read: {error}")))?;
    Ok((version, definition))
}

/// Runs the statements; rows that collide in a new unique index are a difference, not a failure.
fn run(connection: &rusqlite::Connection, difference: &Difference) -> Result<Option<String>, OpenError> {
    for statement in &difference.statements {
        match connection.execute_batch(&statement.sql) {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
                return Ok(Some(collision(statement)));
            }
            result => result?,
        }
    }
    Ok(None)
}

/// The greatest id of any row.
///
/// # Errors
/// The engine's.
pub fn greatest_id(connection: &Connection) -> Result<u128, OpenError> {
    let sqlite = &connection.sqlite;
    let mut names = sqlite.prepare(
        "SELECT t.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c \
         WHERE t.type = 'table' AND c.name = '_id'",
    )?;
    let mut rows = names.raw_query();
    let mut greatest = 0;
    while let Some(name) = rows.next()? {
        let sql = format!("SELECT max(\"_id\") FROM {}", quoted(&name.get::<_, String>(0)?));
        let id = sqlite.query_row(&sql, [], |row| Ok(row::id(row.get_ref(0)?)))?;
        greatest = greatest.max(id.unwrap_or(0));
    }
    Ok(greatest)
}
