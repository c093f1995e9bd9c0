//! The SQL of every operation, and the names of tables and indexes in the file.
//!
//! Columns are always named, and a query with an index always names it.

use std::fmt::Write as _;

use super::single_row::unique_index;
use super::statement_key::{places, split};
use convoke_store::query::sql::{self, Dialect, PlanText, Tail};
use convoke_store::{ColumnType, FieldDef, Fields, IndexDef, Plan, TableDef, Value};

pub(crate) use convoke_store::query::sql::{ID, quoted};

/// The SQL of SQLite.
struct Sqlite;

impl Dialect for Sqlite {
    const PARAMETER: char = '?';
    const DIRECTIONS: [&'static str; 2] = ["", " DESC"];
    const ORDERS_BY_NULL_KEYS: bool = false;

    fn literal(value: &Value) -> String {
        literal(value)
    }

    fn null(_: ColumnType) -> &'static str {
        "NULL"
    }

    fn id_if(condition: &str) -> String {
        format!("CASE WHEN {condition} THEN {ID} ELSE x'' END")
    }

    fn any(field: &str, values: &[Value], parameters: &mut sql::Parameters<Self>) -> String {
        let (_, others) = split(values);
        format!("{field} IN ({})", parameters.list(places(others)))
    }
}

/// The number by which SQLite finds a row without its id. No field has this name, because field names begin with a
/// letter.
pub(crate) const NUMBER: &str = "_rowid_";

/// Returns the name of an index in the file; all tables share the names of indexes.
pub(crate) fn index_name(table: &str, index: &str) -> String {
    quoted(&format!("{table}.{index}"))
}

/// Returns the type of a column in a STRICT table.
pub(crate) const fn column_type(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Bool | ColumnType::Integer => "INTEGER",
        ColumnType::Float => "REAL",
        ColumnType::Text | ColumnType::Json => "TEXT",
        ColumnType::Bytes | ColumnType::Id => "BLOB",
    }
}

/// Returns a constant.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Bool(truth) => i64::from(*truth).to_string(),
        Value::Bytes(bytes) => blob(bytes),
        Value::Id(bits) => blob(&bits.to_be_bytes()),
    }
}

fn blob(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{digits}'")
}

pub(crate) fn create_table(table: &TableDef, name: &str) -> String {
    let mut sql = format!("CREATE TABLE {} ({ID} BLOB, \"_creationTime\" INTEGER", quoted(name));
    for field in table.fields.iter().filter(|field| !field.retired) {
        let _ = write!(sql, ", {} {}", quoted(field.name), column_type(field.column));
    }
    sql.push_str(") STRICT");
    sql
}

/// Creates the index on ids.
pub(crate) fn create_id_index(table: &TableDef) -> String {
    format!("CREATE UNIQUE INDEX {} ON {} ({ID})", index_name(table.name, "_id"), quoted(table.name))
}

pub(crate) fn create_index(table: &TableDef, index: &IndexDef) -> String {
    let mut keys: Vec<String> = index
        .keys
        .iter()
        .map(|key| format!("{}{}", quoted(table.fields[key.field].name), if key.descending { " DESC" } else { "" }))
        .collect();
    keys.extend(Tail::of(table, Some(index)).expression::<Sqlite>(table, Some(index)));
    let mut sql = format!(
        "CREATE{} INDEX {} ON {} ({})",
        if index.unique { " UNIQUE" } else { "" },
        index_name(table.name, index.name),
        quoted(table.name),
        keys.join(", ")
    );
    if let Some(when) = index.when {
        let _ = write!(sql, " WHERE {}", sql::condition::<Sqlite>(when));
    }
    sql
}

/// Adds a column. A default fills existing rows; new rows name every column.
pub(crate) fn add_field(table: &TableDef, field: &FieldDef) -> String {
    let mut sql =
        format!("ALTER TABLE {} ADD COLUMN {} {}", quoted(table.name), quoted(field.name), column_type(field.column));
    if let Some(default) = field.default {
        let _ = write!(sql, " DEFAULT {}", literal(&default()));
    }
    sql
}

fn columns(table: &TableDef) -> String {
    sql::columns::<Sqlite>(table)
}

/// The bytes of one b-tree.
pub(crate) const TREE_BYTES: &str = "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = ?1 AND aggregate = TRUE";

/// The recorded schema with its number.
pub(crate) const LAST_SCHEMA: &str =
    "SELECT \"version\", \"definition\" FROM \"_schema\" ORDER BY \"version\" DESC LIMIT 1";

/// The names of the b-trees of a table and its indexes.
pub(crate) fn trees(table: &TableDef) -> Vec<String> {
    let indexes = table.indexes.iter().map(|index| index.name).chain(["_id"]);
    let mut names: Vec<String> = indexes.map(|index| format!("{}.{index}", table.name)).collect();
    names.push(table.name.to_owned());
    names
}

fn parameters(count: usize) -> String {
    sql::Parameters::<Sqlite>::default().list(count)
}

/// Reads a row by its id.
pub(crate) fn get(table: &TableDef) -> String {
    format!("SELECT {}, {NUMBER} FROM {} WHERE {ID} = ?1", columns(table), quoted(table.name))
}

/// Reads rows by `places` ids.
pub(crate) fn get_many(table: &TableDef, places: usize) -> String {
    format!("SELECT {} FROM {} WHERE {ID} IN ({})", columns(table), quoted(table.name), parameters(places))
}

/// Inserts a row: id, creation time, and the fields that are not retired.
pub(crate) fn insert(table: &TableDef) -> String {
    let mut names = format!("{ID}, \"_creationTime\"");
    let mut count = 2;
    for field in table.fields.iter().filter(|field| !field.retired) {
        let _ = write!(names, ", {}", quoted(field.name));
        count += 1;
    }
    format!("INSERT INTO {} ({names}) VALUES ({})", quoted(table.name), parameters(count))
}

/// Updates some fields of a row; the id is the last parameter.
pub(crate) fn update(table: &TableDef, fields: Fields) -> String {
    let (table, sets, count) = (quoted(table.name), sets(table, fields), fields.places().count());
    format!("UPDATE {table} SET {sets} WHERE {ID} = ?{}", count + 1)
}

/// The same for a row with a known number; number and id are the last parameters. The id is compared rather than looked
/// up.
pub(crate) fn update_numbered(table: &TableDef, fields: Fields) -> String {
    let (table, sets, count) = (quoted(table.name), sets(table, fields), fields.places().count());
    format!("UPDATE {table} SET {sets} WHERE {NUMBER} = ?{} AND +{ID} = ?{}", count + 1, count + 2)
}

fn sets(table: &TableDef, fields: Fields) -> String {
    let set = |(number, place): (usize, usize)| format!("{} = ?{}", quoted(table.fields[place].name), number + 1);
    fields.places().enumerate().map(set).collect::<Vec<_>>().join(", ")
}

/// Deletes a row.
pub(crate) fn delete(table: &TableDef) -> String {
    format!("DELETE FROM {} WHERE {ID} = ?1", quoted(table.name))
}

/// Reads the rows of a plan, in order.
pub(crate) fn select(plan: &Plan) -> String {
    let mut text = PlanText::<Sqlite>::new(plan);
    let mut columns = if plan.keys_only { sql::keys::<Sqlite>(plan) } else { columns(plan.table) };
    if unique_index(plan).is_some() {
        let _ = write!(columns, ", {NUMBER}");
    }
    let mut sql = format!("SELECT {columns} {}{}", from(&mut text, plan), text.order());
    if limit(plan).is_some() {
        let _ = write!(sql, " LIMIT {}", text.parameters.one());
    }
    sql
}

/// `FROM … WHERE …`.
fn from(text: &mut PlanText<'_, Sqlite>, plan: &Plan) -> String {
    let mut sql = format!("FROM {}", quoted(plan.table.name));
    if let Some(index) = plan.index {
        let _ = write!(sql, " INDEXED BY {}", index_name(plan.table.name, index.name));
    }
    sql + &text.filter()
}

/// Returns the limit of a plan, unless all keys of a unique index limit it to one row.
pub(crate) fn limit(plan: &Plan) -> Option<u64> {
    plan.limit.filter(|_| plan.unique_index().is_none())
}

/// Counts the rows of a plan.
pub(crate) fn count(plan: &Plan) -> String {
    let mut text = PlanText::new(plan);
    let from = from(&mut text, plan);
    match limit(plan) {
        None => format!("SELECT count(*) {from}"),
        Some(_) => format!("SELECT count(*) FROM (SELECT 1 {from} LIMIT {})", text.parameters.one()),
    }
}

/// Estimates the rows by the difference of the first and last row number, which is exact if none was deleted in
/// between. Both ends are found without a scan.
pub(crate) fn span_of_rows(table: &TableDef) -> String {
    let name = quoted(table.name);
    format!("SELECT (SELECT max({NUMBER}) FROM {name}) - (SELECT min({NUMBER}) FROM {name}) + 1")
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::*;
    use convoke_store::{Condition, KeyDef, Literal};

    const fn field(name: &'static str, nullable: bool) -> FieldDef {
        FieldDef { nullable, ..FieldDef::of::<i64>(name, |_| true.into()) }
    }

    const fn index(name: &'static str, keys: &'static [KeyDef], unique: bool, when: Option<Condition>) -> IndexDef {
        IndexDef { name, keys, unique, when }
    }

    const fn key(field: usize) -> KeyDef {
        KeyDef { field, descending: false }
    }

    static TABLE: TableDef = TableDef {
        name: "t",
        prefix: "t",
        fields: &[field("a", false), field("b", false), field("n", true)],
        indexes: &[
            index("plain", &[key(0), key(1)], false, None),
            index("down", &[key(0), KeyDef { field: 1, descending: true }], false, None),
            index("one", &[key(0), key(1)], true, None),
            index("one_or_null", &[key(0), key(2)], true, None),
            index("some", &[key(1)], false, Some(Condition::Equals("a", Literal::Integer(1)))),
        ],
        file: "",
        line: 0,
    };

    /// Returns SQLite's query plan.
    fn way(sql: &str) -> String {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(&create_table(&TABLE, TABLE.name)).unwrap();
        connection.execute_batch(&create_id_index(&TABLE)).unwrap();
        for index in TABLE.indexes {
            connection.execute_batch(&create_index(&TABLE, index)).unwrap();
        }
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        let mut lines = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            lines.push(row.get::<_, String>(3).unwrap());
        }
        lines.join("; ")
    }

    fn plan(index: usize, shape: impl FnOnce(&mut Plan)) -> Plan {
        let mut plan = Plan::new(&TABLE, TABLE.indexes.get(index));
        shape(&mut plan);
        plan
    }

    #[test]
    fn every_shape_of_a_query_walks_its_index_and_sorts_nothing() {
        let one = || Value::Integer(1);
        let after = |values: &[i64]| Some((values.iter().map(|value| Value::Integer(*value)).collect(), 1));
        let seek = |keys: &str| format!("SEARCH t USING INDEX t.{keys}");
        for (plan, expected) in [
            (plan(0, |plan| plan.eq = vec![one()]), seek("plain (a=?)")),
            (plan(0, |plan| plan.eq = vec![one(), one()]), seek("plain (a=? AND b=?)")),
            (plan(0, |plan| plan.reverse = true), "SCAN t USING INDEX t.plain".to_owned()),
            (
                plan(0, |plan| {
                    plan.eq = vec![one()];
                    plan.range = Some((Bound::Included(one()), Bound::Excluded(one())));
                }),
                seek("plain (a=? AND b>? AND b<?)"),
            ),
            (
                plan(0, |plan| {
                    plan.eq = vec![one()];
                    plan.any = Some(vec![one(), one(), one()]);
                }),
                seek("plain (a=? AND b=?)"),
            ),
            (
                plan(0, |plan| {
                    plan.eq = vec![one()];
                    plan.after = after(&[1, 1]);
                    plan.reverse = true;
                }),
                seek("plain (a=? AND (b,_id)<(?,?))"),
            ),
            (
                plan(0, |plan| {
                    plan.eq = vec![one(), one()];
                    plan.after = after(&[1, 1]);
                }),
                seek("plain (a=? AND b=? AND _id>?)"),
            ),
            (
                plan(1, |plan| {
                    plan.eq = vec![one()];
                    plan.after = after(&[1, 1]);
                }),
                seek("down (a=? AND b<?)"),
            ),
            (
                plan(2, |plan| {
                    plan.eq = vec![one()];
                    plan.after = after(&[1, 1]);
                }),
                seek("one (a=? AND b>?)"),
            ),
            (plan(3, |plan| plan.eq = vec![one()]), seek("one_or_null (a=?)")),
            (
                plan(3, |plan| {
                    plan.eq = vec![one()];
                    plan.after = after(&[1, 1]);
                }),
                seek("one_or_null (a=? AND n>?)"),
            ),
            (plan(4, |plan| plan.eq = vec![one()]), seek("some (b=?)")),
            (plan(9, |plan| plan.after = after(&[])), seek("_id (_id>?)")),
        ] {
            assert_eq!(way(&select(&plan)), expected, "{}", select(&plan));
        }
    }

    #[test]
    fn row_with_a_known_number_is_found_without_its_id() {
        let fields = Fields::of(&[(2, Value::Null)]);
        assert_eq!(way(&update(&TABLE, fields)), "SEARCH t USING INDEX t._id (_id=?)");
        assert_eq!(way(&update_numbered(&TABLE, fields)), "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)");
    }

    #[test]
    fn keys_come_out_of_the_index_and_the_rows_are_left_alone() {
        let plan = plan(0, |plan| {
            plan.eq = vec![Value::Integer(1)];
            plan.keys_only = true;
        });
        assert_eq!(way(&select(&plan)), "SEARCH t USING COVERING INDEX t.plain (a=?)");
    }

    #[test]
    fn row_is_found_by_id_without_a_scan() {
        assert_eq!(way(&get(&TABLE)), "SEARCH t USING INDEX t._id (_id=?)");
        assert_eq!(way(&get_many(&TABLE, 4)), "SEARCH t USING INDEX t._id (_id=?)");
        assert_eq!(way(&delete(&TABLE)), "SEARCH t USING INDEX t._id (_id=?)");
    }
}
