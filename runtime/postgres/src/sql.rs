//! The SQL of every operation, and the names of tables and indexes in the database.
//!
//! Columns are always named. Texts are compared by their bytes (collation `C`), and null comes first.

use std::fmt::Write as _;

use convoke_store::query::sql::{self, Dialect, PlanText, Tail};
use convoke_store::{ColumnType, FieldDef, Fields, IndexDef, Plan, TableDef, Value};

pub(crate) use convoke_store::query::sql::{ID, quoted};

/// The SQL of PostgreSQL.
struct Postgres;

impl Dialect for Postgres {
    const PARAMETER: char = '$';
    const DIRECTIONS: [&'static str; 2] = [" ASC NULLS FIRST", " DESC NULLS LAST"];
    const ORDERS_BY_NULL_KEYS: bool = true;

    fn literal(value: &Value) -> String {
        literal(value)
    }

    fn null(column: ColumnType) -> &'static str {
        null(column)
    }

    fn id_if(condition: &str) -> String {
        format!("(CASE WHEN {condition} THEN {ID} ELSE {NO_ID} END)")
    }

    fn any(field: &str, _: &[Value], parameters: &mut sql::Parameters<Self>) -> String {
        format!("{field} = ANY({})", parameters.one())
    }
}

/// Longest name in bytes; the server truncates longer ones.
pub(crate) const NAME_MAX: usize = 63;
/// Stands for no id in an index that ends in an id only for some rows.
const NO_ID: &str = "'00000000-0000-0000-0000-000000000000'::uuid";

/// Returns a text as a constant.
pub(crate) fn text_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

/// Returns the name of an index in the database, where indexes and tables share names. A long name ends in its digest.
pub(crate) fn index_name(table: &str, index: &str) -> String {
    let name = format!("{table}.{index}");
    if name.len() <= NAME_MAX {
        return quoted(&name);
    }
    quoted(&format!("{}~{:016x}", &name[..NAME_MAX - 17], digest(&name)))
}

/// Returns the temporary name of an index; no other name begins like this.
pub(crate) fn unnamed_index(table: &str, index: &str) -> String {
    format!("~{:016x}", digest(&format!("{table}.{index}")))
}

/// FNV-1a, because names must be equal in every build.
fn digest(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

pub(crate) const fn column_type(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Bool => "boolean",
        ColumnType::Integer => "bigint",
        ColumnType::Float => "double precision",
        ColumnType::Text | ColumnType::Json => "text COLLATE \"C\"",
        ColumnType::Bytes => "bytea",
        ColumnType::Id => "uuid",
    }
}

const fn null(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Bool => "NULL::boolean",
        ColumnType::Integer => "NULL::bigint",
        ColumnType::Float => "NULL::double precision",
        ColumnType::Text | ColumnType::Json => "NULL::text",
        ColumnType::Bytes => "NULL::bytea",
        ColumnType::Id => "NULL::uuid",
    }
}

/// Returns a constant.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Text(text) => text_literal(text),
        Value::Integer(number) => format!("'{number}'::bigint"),
        Value::Float(number) => format!("'{number:?}'::double precision"),
        Value::Bool(truth) => truth.to_string(),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("'\\x{digits}'::bytea")
        }
        Value::Id(bits) => format!("'{bits:032x}'::uuid"),
    }
}

pub(crate) fn create_table(table: &TableDef) -> String {
    let mut sql = format!("CREATE TABLE {} ({ID} uuid NOT NULL, \"_creationTime\" bigint NOT NULL", quoted(table.name));
    for field in table.fields.iter().filter(|field| !field.retired) {
        let _ = write!(sql, ", {}", column(field));
    }
    sql.push(')');
    sql
}

/// Creates the index on ids.
pub(crate) fn create_id_index(table: &TableDef) -> String {
    format!("CREATE UNIQUE INDEX {} ON {} ({ID})", index_name(table.name, "_id"), quoted(table.name))
}

pub(crate) fn create_index(table: &TableDef, index: &IndexDef) -> String {
    create(table, index, &index_name(table.name, index.name))
}

/// Creates an index concurrently with writes, outside of a transaction; see [`unnamed_index`].
pub(crate) fn create_index_beside(table: &TableDef, index: &IndexDef) -> String {
    create(table, index, &format!("CONCURRENTLY {}", quoted(&unnamed_index(table.name, index.name))))
}

fn create(table: &TableDef, index: &IndexDef, name: &str) -> String {
    let order = |descending| if descending { "DESC NULLS LAST" } else { "ASC NULLS FIRST" };
    let key =
        |key: &convoke_store::KeyDef| format!("{} {}", quoted(table.fields[key.field].name), order(key.descending));
    let mut keys: Vec<String> = index.keys.iter().map(key).collect();
    keys.extend(Tail::of(table, Some(index)).expression::<Postgres>(table, Some(index)));
    let unique = if index.unique { " UNIQUE" } else { "" };
    let mut sql = format!("CREATE{unique} INDEX {name} ON {} ({})", quoted(table.name), keys.join(", "));
    if let Some(when) = index.when {
        let _ = write!(sql, " WHERE {}", sql::condition::<Postgres>(when));
    }
    sql
}

/// Adds a column. An existing column comes from an interrupted change: no schema contains it, and it is empty.
pub(crate) fn add_field(table: &TableDef, field: &FieldDef) -> String {
    let (name, table) = (quoted(field.name), quoted(table.name));
    format!("ALTER TABLE {table} DROP COLUMN IF EXISTS {name}, ADD COLUMN {}", column(field))
}

/// Returns a column definition. A default fills existing rows, and those of a release that does not know the column.
fn column(field: &FieldDef) -> String {
    let mut sql = format!("{} {}", quoted(field.name), column_type(field.column));
    if let Some(default) = field.default {
        let _ = write!(sql, " DEFAULT {}", literal(&default()));
    }
    sql
}

fn columns(table: &TableDef) -> String {
    sql::columns::<Postgres>(table)
}

/// Reads the recorded schema with its number.
pub(crate) const LAST_SCHEMA: &str = "SELECT version, definition FROM _schema ORDER BY version DESC LIMIT 1";

/// Reads the size of a table and its indexes in bytes.
pub(crate) fn bytes(table: &TableDef) -> String {
    format!("SELECT pg_total_relation_size({}::regclass)", text_literal(&quoted(table.name)))
}

/// Reads a row by its id.
pub(crate) fn get(table: &TableDef) -> String {
    format!("SELECT {} FROM {} WHERE {ID} = $1", columns(table), quoted(table.name))
}

/// Reads rows by a list of ids.
pub(crate) fn get_many(table: &TableDef) -> String {
    format!("SELECT {} FROM {} WHERE {ID} = ANY($1)", columns(table), quoted(table.name))
}

/// Inserts a row: id, creation time, and the fields that are not retired.
pub(crate) fn insert(table: &TableDef) -> String {
    let (mut names, mut places, mut count) = (format!("{ID}, \"_creationTime\""), "$1, $2".to_owned(), 2);
    for field in table.fields.iter().filter(|field| !field.retired) {
        count += 1;
        let _ = write!(names, ", {}", quoted(field.name));
        let _ = write!(places, ", ${count}");
    }
    format!("INSERT INTO {} ({names}) VALUES ({places})", quoted(table.name))
}

/// Updates some fields of a row; the id is the last parameter.
pub(crate) fn update(table: &TableDef, fields: Fields) -> String {
    let set = |(number, place): (usize, usize)| format!("{} = ${}", quoted(table.fields[place].name), number + 1);
    let sets: Vec<String> = fields.places().enumerate().map(set).collect();
    format!("UPDATE {} SET {} WHERE {ID} = ${}", quoted(table.name), sets.join(", "), sets.len() + 1)
}

/// Deletes a row.
pub(crate) fn delete(table: &TableDef) -> String {
    format!("DELETE FROM {} WHERE {ID} = $1", quoted(table.name))
}

/// Returns the id of a row other than that of the last parameter with these keys of a unique index.
pub(crate) fn other_with(table: &TableDef, index: &IndexDef) -> String {
    let mut sql = format!("SELECT {ID} FROM {} WHERE ", quoted(table.name));
    for (number, key) in index.keys.iter().enumerate() {
        let _ = write!(sql, "{} = ${} AND ", quoted(table.fields[key.field].name), number + 1);
    }
    if let Some(when) = index.when {
        let _ = write!(sql, "{} AND ", sql::condition::<Postgres>(when));
    }
    let _ = write!(sql, "{ID} <> ${} LIMIT 1", index.keys.len() + 1);
    sql
}

/// Fails by a division by zero if `sql` finds a row.
pub(crate) fn fail_if(sql: &str) -> String {
    format!("SELECT 1 / (CASE WHEN EXISTS ({sql}) THEN 0 ELSE 1 END)")
}

/// Reads the rows of a plan, in order.
pub(crate) fn select(plan: &Plan) -> String {
    let mut text = PlanText::<Postgres>::new(plan);
    let columns = if plan.keys_only { sql::keys::<Postgres>(plan) } else { columns(plan.table) };
    let mut sql = format!("SELECT {columns} FROM {}{}{}", quoted(plan.table.name), text.filter(), text.order());
    if plan.limit.is_some() {
        let _ = write!(sql, " LIMIT {}", text.parameters.one());
    }
    sql
}

/// Counts the rows of a plan.
pub(crate) fn count(plan: &Plan) -> String {
    let mut text = PlanText::<Postgres>::new(plan);
    let from = format!("FROM {}{}", quoted(plan.table.name), text.filter());
    match plan.limit {
        None => format!("SELECT count(*) {from}"),
        Some(_) => format!("SELECT count(*) FROM (SELECT 1 {from} LIMIT {}) AS few", text.parameters.one()),
    }
}
