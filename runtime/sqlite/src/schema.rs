//! The schema in the file: where it is kept, and the SQL of each step towards the one in code.

use std::rc::Rc;
use std::time::Duration;

use rusqlite::{OptionalExtension as _, params};

use super::connection::Connection;
use super::failure::Opening as _;
use super::row;
use super::sql::{self, quoted};
use super::transaction::{Source, SqliteTransaction};
use convoke_core::clock::Millis;
use convoke_store::schema::{
    Catalog, Definition, Extent, Inspected, Step, Stepped, Upkeep, bring_up_to_date, log_changes,
};
use convoke_store::{IndexDef, OpenError, TableDef, Writer};

const OWN_TABLE: &str = "CREATE TABLE IF NOT EXISTS \"_schema\" \
    (\"version\" INTEGER PRIMARY KEY, \"appliedAt\" INTEGER, \"changes\" TEXT, \"definition\" TEXT) STRICT";

/// Refuses names of tables that SQLite keeps for itself.
///
/// # Errors
/// [`OpenError::Definition`].
pub(crate) fn require_free_names(tables: &[&'static TableDef]) -> Result<(), OpenError> {
    match tables.iter().find(|table| table.name.to_ascii_lowercase().starts_with("sqlite_")) {
        None => Ok(()),
        Some(table) => Err(OpenError::Definition {
            table: table.name,
            file: table.file,
            line: table.line,
            mistake: "this name cannot be used".to_owned(),
        }),
    }
}

/// Applies what the code adds, in a transaction of its own. Returns the difference that cannot be applied, in plain
/// words; then nothing was, in the application's tables.
///
/// # Errors
/// The engine's.
pub(crate) fn apply(
    connection: &Rc<Connection>,
    tables: &[&'static TableDef],
    extent: Extent,
    now: Millis,
) -> Result<Option<String>, OpenError> {
    connection.run("BEGIN IMMEDIATE").opening()?;
    let transaction = SqliteTransaction::new(Source::Writer(connection.clone()), Duration::MAX);
    let upkeep = SchemaUpkeep { file: SchemaFile(&connection.sqlite), transaction };
    let applied = connection
        .sqlite
        .execute_batch(OWN_TABLE)
        .opening()
        .and_then(|()| bring_up_to_date(&upkeep, tables, extent, now));
    upkeep.transaction.close();
    let end = if applied.as_ref().is_ok_and(|applied| applied.changed()) { "COMMIT" } else { "ROLLBACK" };
    if connection.in_transaction() {
        connection.run(end).opening()?;
    }
    let applied = applied?;
    log_changes(&applied);
    Ok(applied.into_difference())
}

/// Compares a file with the tables in code and changes nothing; `None` if the file holds no schema of ours.
///
/// # Errors
/// The engine's.
pub(crate) fn inspect(
    connection: &rusqlite::Connection,
    tables: &[&'static TableDef],
) -> Result<Option<Inspected>, OpenError> {
    let own = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_schema')",
        [],
        |row| row.get::<_, bool>(0),
    );
    if !own.opening()? {
        return Ok(None);
    }
    let last = "SELECT coalesce(max(\"appliedAt\"), 0) FROM \"_schema\"";
    let applied_at = connection.query_row(last, [], |row| row.get(0)).opening()?;
    convoke_store::schema::inspect(&SchemaFile(connection), tables, applied_at).map(Some)
}

/// The greatest id of any row.
///
/// # Errors
/// The engine's.
pub(crate) fn greatest_id(connection: &Connection) -> Result<u128, OpenError> {
    let sqlite = &connection.sqlite;
    let mut names = sqlite
        .prepare(
            "SELECT t.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c \
             WHERE t.type = 'table' AND c.name = '_id'",
        )
        .opening()?;
    let mut rows = names.raw_query();
    let mut greatest = 0;
    while let Some(name) = rows.next().opening()? {
        let sql = format!("SELECT max(\"_id\") FROM {}", quoted(&name.get::<_, String>(0).opening()?));
        let id = sqlite.query_row(&sql, [], |row| Ok(row::id(row.get_ref(0)?))).opening()?;
        greatest = greatest.max(id.unwrap_or(0));
    }
    Ok(greatest)
}

/// The schema that is kept in a file, and its rows.
struct SchemaFile<'a>(&'a rusqlite::Connection);

impl Catalog for SchemaFile<'_> {
    fn stored(&self) -> Result<(i64, Definition), OpenError> {
        let last = self.0.query_row(sql::LAST_SCHEMA, [], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).optional();
        let Some((version, definition)) = last.opening()? else { return Ok((0, Definition::default())) };
        Ok((version, Definition::read(&definition)?))
    }

    fn index_text(&self, table: &TableDef, index: &IndexDef) -> String {
        sql::create_index(table, index)
    }

    fn is_empty(&self, table: &str) -> Result<bool, OpenError> {
        let sql = format!("SELECT NOT EXISTS (SELECT 1 FROM {})", quoted(table));
        self.0.query_row(&sql, [], |row| row.get(0)).opening()
    }

    fn has_null(&self, table: &str, field: &str) -> Result<bool, OpenError> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {} WHERE {} IS NULL)", quoted(table), quoted(field));
        self.0.query_row(&sql, [], |row| row.get(0)).opening()
    }
}

/// The same within a transaction that changes it.
struct SchemaUpkeep<'a> {
    file: SchemaFile<'a>,
    transaction: SqliteTransaction,
}

impl Upkeep for SchemaUpkeep<'_> {
    fn catalog(&self) -> &dyn Catalog {
        &self.file
    }

    fn take(&self, step: &Step) -> Result<Stepped, OpenError> {
        let sql = match step {
            Step::CreateTable(table) => sql::create_table(table, table.name),
            Step::CreateIdIndex(table) => sql::create_id_index(table),
            Step::CreateIndex(table, index) => sql::create_index(table, index),
            Step::DropIndex(table, index) => format!("DROP INDEX {}", sql::index_name(table, index)),
            Step::DropTable(table) => format!("DROP TABLE {}", quoted(table)),
            Step::AddField(table, field) => sql::add_field(table, field),
            Step::Fill(table, _) => {
                return Err(OpenError::Engine(format!("rows of {} are written through a writer", table.name)));
            }
        };
        match self.file.0.execute_batch(&sql) {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
                Ok(Stepped::Collides)
            }
            result => result.opening().map(|()| Stepped::Done),
        }
    }

    fn writer(&self) -> &dyn Writer {
        &self.transaction
    }

    fn keep(&self, version: i64, at: Millis, changes: &str, definition: &str) -> Result<(), OpenError> {
        let sql = "INSERT INTO \"_schema\" (\"version\", \"appliedAt\", \"changes\", \"definition\") \
                   VALUES (?1, ?2, ?3, ?4)";
        self.file.0.execute(sql, params![version, at.0, changes, definition]).opening().map(drop)
    }
}
