//! The recorded schema in the file, and the SQL of each step of an update.

use std::rc::Rc;
use std::time::Duration;

use rusqlite::{OptionalExtension as _, params};
use tracing::debug;

use crate::connection::{Checkpoint, Connection};
use crate::failure::Opening as _;
use crate::sql::{self, quoted, row};
use crate::transaction::{Source, SqliteTransaction};
use convoke_core::clock::Millis;
use convoke_store::overlay::Base;
use convoke_store::schema::{
    Applied, Catalog, Definition, Extent, Inspected, Step, Stepped, Upkeep, VisitValues, bring_up_to_date, log_changes,
};
use convoke_store::{IndexDef, OnOpening, OpenError, TableDef};

const OWN_TABLE: &str = "CREATE TABLE IF NOT EXISTS \"_schema\" \
    (\"version\" INTEGER PRIMARY KEY, \"appliedAt\" INTEGER, \"changes\" TEXT, \"definition\" TEXT) STRICT";

/// Rejects table names that SQLite reserves.
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

/// Options of an update of the schema.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// Number of rows at which a table is large.
    pub large_rows: u64,
    /// Receives each long step.
    pub on_opening: OnOpening,
}

/// Applies additions of the code in one transaction, or in several if a table is large: each leaves a schema from which
/// the next start continues. Returns the difference that cannot be applied, in plain words; in the application's
/// tables, at most indexes were then created.
pub(crate) fn apply(
    connection: &Rc<Connection>,
    tables: &[&'static TableDef],
    extent: Extent,
    now: Millis,
    way: &Way,
) -> Result<Option<String>, OpenError> {
    loop {
        let applied = apply_part(connection, tables, extent, now, way)?;
        log_changes(&applied);
        if applied.changed() {
            // Otherwise the log has the bytes of all parts at the end, which slows down reads and writes.
            copy_back(connection);
        }
        if !matches!(applied, Applied::Part(_)) {
            return Ok(applied.into_difference());
        }
    }
}

/// Copies the log back as far as readers permit.
fn copy_back(connection: &Connection) {
    if let Err(error) = connection.checkpoint(Checkpoint::Passive) {
        debug!("the log was not copied back: {error}");
    }
}

fn apply_part(
    connection: &Rc<Connection>,
    tables: &[&'static TableDef],
    extent: Extent,
    now: Millis,
    way: &Way,
) -> Result<Applied, OpenError> {
    connection.run("BEGIN IMMEDIATE").opening()?;
    let transaction = SqliteTransaction::new(Source::Writer(connection.clone()), Duration::MAX);
    let upkeep = SchemaUpkeep { file: SchemaFile { sqlite: &connection.sqlite, way: Some(way) }, transaction };
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
    applied
}

/// Compares a file with the tables in code without changing it; `None`: the file has no schema of this program.
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
    convoke_store::schema::inspect(&SchemaFile { sqlite: connection, way: None }, tables, applied_at).map(Some)
}

/// Returns the greatest row id.
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

/// The recorded schema of a file, and its rows.
struct SchemaFile<'a> {
    sqlite: &'a rusqlite::Connection,
    /// None if it is only compared.
    way: Option<&'a Way>,
}

impl Catalog for SchemaFile<'_> {
    fn stored(&self) -> Result<(i64, Definition), OpenError> {
        let last =
            self.sqlite.query_row(sql::LAST_SCHEMA, [], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).optional();
        let Some((version, definition)) = last.opening()? else { return Ok((0, Definition::default())) };
        Ok((version, Definition::read(&definition)?))
    }

    fn index_text(&self, table: &TableDef, index: &IndexDef) -> String {
        sql::create_index(table, index)
    }

    fn is_empty(&self, table: &str) -> Result<bool, OpenError> {
        let sql = format!("SELECT NOT EXISTS (SELECT 1 FROM {})", quoted(table));
        self.sqlite.query_row(&sql, [], |row| row.get(0)).opening()
    }

    fn is_large(&self, table: &str) -> Result<bool, OpenError> {
        let Some(way) = self.way else { return Ok(false) };
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {} LIMIT 1 OFFSET {})", quoted(table), way.large_rows);
        self.sqlite.query_row(&sql, [], |row| row.get(0)).opening()
    }

    fn begins(&self, step: &str) {
        if let Some(way) = self.way {
            way.on_opening.begins(step);
        }
    }

    fn has_null(&self, table: &str, field: &str) -> Result<bool, OpenError> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {} WHERE {} IS NULL)", quoted(table), quoted(field));
        self.sqlite.query_row(&sql, [], |row| row.get(0)).opening()
    }

    fn values(&self, table: &'static TableDef, places: &[usize], visit: &mut VisitValues<'_>) -> Result<(), OpenError> {
        let columns: String = places.iter().map(|place| format!(", {}", quoted(table.fields[*place].name))).collect();
        let mut statement =
            self.sqlite.prepare(&format!("SELECT {}{columns} FROM {}", sql::ID, quoted(table.name))).opening()?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().opening()? {
            let corrupt = || OpenError::Engine(format!("a row of table {} cannot be read", table.name));
            let id = row::id(row.get_ref(0).opening()?).ok_or_else(corrupt)?;
            let mut values = Vec::with_capacity(places.len());
            for (column, place) in places.iter().enumerate() {
                let raw = row.get_ref(column + 1).opening()?;
                values.push(row::value(table.fields[*place].column, raw).ok_or_else(corrupt)?);
            }
            if visit(id, &values).is_break() {
                break;
            }
        }
        Ok(())
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
                return Err(OpenError::Engine(format!("rows of {} are written as rows", table.name)));
            }
        };
        match self.file.sqlite.execute_batch(&sql) {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
                Ok(Stepped::Collides)
            }
            result => result.opening().map(|()| Stepped::Done),
        }
    }

    fn base(&self) -> &dyn Base {
        &self.transaction
    }

    fn keep(&self, version: i64, at: Millis, changes: &str, definition: &str) -> Result<(), OpenError> {
        let sql = "INSERT INTO \"_schema\" (\"version\", \"appliedAt\", \"changes\", \"definition\") \
                   VALUES (?1, ?2, ?3, ?4)";
        self.file.sqlite.execute(sql, params![version, at.0, changes, definition]).opening().map(drop)
    }
}
