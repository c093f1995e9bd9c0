//! The SQL of every operation, and the names of tables and indexes in the file.
//!
//! Columns are always named, a query with an index always names it, and parameters are numbered in the order of
//! `row::bind_plan`: the equal keys, the list, the range, the position to continue from, the limit. Null is part of the
//! text, never a parameter.

use std::fmt::Write as _;
use std::ops::Bound;

use super::single_row::unique_index;
use super::statement_key::{places, split};
use convoke_store::{ColumnType, Condition, FieldDef, Fields, IndexDef, Plan, TableDef, Value};

/// `_id`, as a column.
pub(crate) const ID: &str = "\"_id\"";

/// The number by which SQLite finds a row without its id. No field has this name, because field names begin with a
/// letter.
pub(crate) const NUMBER: &str = "_rowid_";

/// Returns a name in double quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

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

/// Returns the condition of a conditional index. The constant must be in the text, so that SQLite sees that the index
/// applies.
pub(crate) fn condition(condition: Condition) -> String {
    match condition {
        Condition::Equals(field, value) => format!("{} = {}", quoted(field), literal(&value.value())),
        Condition::IsNull(field) => format!("{} IS NULL", quoted(field)),
        Condition::NotNull(field) => format!("{} IS NOT NULL", quoted(field)),
    }
}

/// The last key of an index, which makes its order total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// The id.
    Id,
    /// None: the keys are unique and never null.
    None,
    /// The id if one of these nullable keys is null, otherwise nothing: unique keys that may be null. Rows with a null
    /// key never conflict, since the id is part of their entry.
    IdIfNull(Vec<usize>),
}

impl Tail {
    /// Returns the tail of an index, or of a table's order by id.
    pub(crate) fn of(table: &TableDef, index: Option<&IndexDef>) -> Self {
        let Some(index) = index.filter(|index| index.unique) else { return Tail::Id };
        let nullable: Vec<usize> =
            (0..index.keys.len()).filter(|&key| table.fields[index.keys[key].field].nullable).collect();
        if nullable.is_empty() { Tail::None } else { Tail::IdIfNull(nullable) }
    }

    /// Returns the last expression of the index.
    pub(crate) fn expression(&self, table: &TableDef, index: Option<&IndexDef>) -> Option<String> {
        match (self, index) {
            (Tail::None, _) => None,
            (Tail::IdIfNull(nullable), Some(index)) => {
                let null: Vec<String> = nullable
                    .iter()
                    .map(|&key| format!("{} IS NULL", quoted(table.fields[index.keys[key].field].name)))
                    .collect();
                Some(format!("CASE WHEN {} THEN {ID} ELSE x'' END", null.join(" OR ")))
            }
            (Tail::Id | Tail::IdIfNull(_), _) => Some(ID.to_owned()),
        }
    }
}

/// Creates a table.
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

/// Creates an index.
pub(crate) fn create_index(table: &TableDef, index: &IndexDef) -> String {
    let mut keys: Vec<String> = index
        .keys
        .iter()
        .map(|key| format!("{}{}", quoted(table.fields[key.field].name), if key.descending { " DESC" } else { "" }))
        .collect();
    keys.extend(Tail::of(table, Some(index)).expression(table, Some(index)));
    let mut sql = format!(
        "CREATE{} INDEX {} ON {} ({})",
        if index.unique { " UNIQUE" } else { "" },
        index_name(table.name, index.name),
        quoted(table.name),
        keys.join(", ")
    );
    if let Some(when) = index.when {
        let _ = write!(sql, " WHERE {}", condition(when));
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

/// Returns the columns of a row: id, creation time, and every field at its position; retired ones read as null.
fn columns(table: &TableDef) -> String {
    let mut sql = format!("{ID}, \"_creationTime\"");
    for field in table.fields {
        sql.push_str(", ");
        if field.retired { sql.push_str("NULL") } else { sql.push_str(&quoted(field.name)) }
    }
    sql
}

/// Like [`columns`], with only the id and the keys of the plan's index.
fn keys(plan: &Plan) -> String {
    let mut sql = format!("{ID}, NULL");
    let keys = plan.index.map_or(&[][..], |index| index.keys);
    for (place, field) in plan.table.fields.iter().enumerate() {
        sql.push_str(", ");
        if keys.iter().any(|key| key.field == place) { sql.push_str(&quoted(field.name)) } else { sql.push_str("NULL") }
    }
    sql
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

/// Reads a row by its id.
pub(crate) fn get(table: &TableDef) -> String {
    format!("SELECT {}, {NUMBER} FROM {} WHERE {ID} = ?1", columns(table), quoted(table.name))
}

/// Reads rows by `places` ids.
pub(crate) fn get_many(table: &TableDef, places: usize) -> String {
    format!("SELECT {} FROM {} WHERE {ID} IN ({})", columns(table), quoted(table.name), parameters(1, places))
}

/// Inserts a row: id, creation time, and the fields that are not retired.
pub(crate) fn insert(table: &TableDef) -> String {
    let mut names = format!("{ID}, \"_creationTime\"");
    let mut count = 2;
    for field in table.fields.iter().filter(|field| !field.retired) {
        let _ = write!(names, ", {}", quoted(field.name));
        count += 1;
    }
    format!("INSERT INTO {} ({names}) VALUES ({})", quoted(table.name), parameters(1, count))
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
    let mut text = PlanText::new(plan);
    let mut columns = if plan.keys_only { keys(plan) } else { columns(plan.table) };
    if unique_index(plan).is_some() {
        let _ = write!(columns, ", {NUMBER}");
    }
    let mut sql = format!("SELECT {columns} {}", text.from());
    let order = text.order();
    if !order.is_empty() {
        let _ = write!(sql, " ORDER BY {}", order.join(", "));
    }
    if limit(plan).is_some() {
        let _ = write!(sql, " LIMIT ?{}", text.parameter());
    }
    sql
}

/// Returns the limit of a plan, unless all keys of a unique index limit it to one row.
pub(crate) fn limit(plan: &Plan) -> Option<u64> {
    plan.limit.filter(|_| plan.unique_index().is_none())
}

/// Counts the rows of a plan.
pub(crate) fn count(plan: &Plan) -> String {
    let mut text = PlanText::new(plan);
    let from = text.from();
    match limit(plan) {
        None => format!("SELECT count(*) {from}"),
        Some(_) => format!("SELECT count(*) FROM (SELECT 1 {from} LIMIT ?{})", text.parameter()),
    }
}

/// Estimates the rows by the difference of the first and last row number, which is exact if none was deleted in
/// between. Both ends are found without a scan.
pub(crate) fn span_of_rows(table: &TableDef) -> String {
    let name = quoted(table.name);
    format!("SELECT (SELECT max({NUMBER}) FROM {name}) - (SELECT min({NUMBER}) FROM {name}) + 1")
}

fn parameters(first: usize, count: usize) -> String {
    let mut sql = String::with_capacity(count * 4);
    for number in first..first + count {
        let _ = write!(sql, "{}?{number}", if number == first { "" } else { "," });
    }
    sql
}

/// A key of the order of a plan's rows.
struct Ordered {
    expression: String,
    descending: bool,
    nullable: bool,
}

/// The text of a plan, which numbers its parameters in order.
struct PlanText<'plan> {
    plan: &'plan Plan,
    last: usize,
}

impl<'plan> PlanText<'plan> {
    fn new(plan: &'plan Plan) -> Self {
        Self { plan, last: 0 }
    }

    fn parameter(&mut self) -> usize {
        self.last += 1;
        self.last
    }

    fn field(&self, key: usize) -> String {
        let index = self.plan.index.expect("keys are given for an index only");
        quoted(self.plan.table.fields[index.keys[key].field].name)
    }

    /// `FROM … WHERE …`.
    fn from(&mut self) -> String {
        let plan = self.plan;
        let mut sql = format!("FROM {}", quoted(plan.table.name));
        if let Some(index) = plan.index {
            let _ = write!(sql, " INDEXED BY {}", index_name(plan.table.name, index.name));
        }
        let conditions = self.conditions();
        if !conditions.is_empty() {
            let _ = write!(sql, " WHERE {}", conditions.join(" AND "));
        }
        sql
    }

    fn conditions(&mut self) -> Vec<String> {
        let plan = self.plan;
        let mut all = Vec::new();
        all.extend(plan.index.and_then(|index| index.when).map(condition));
        for (key, value) in plan.eq.iter().enumerate() {
            let field = self.field(key);
            all.push(match value {
                Value::Null => format!("{field} IS NULL"),
                _ => format!("{field} = ?{}", self.parameter()),
            });
        }
        if let Some(values) = &plan.any {
            all.push(self.any(values));
        }
        if let Some((start, end)) = &plan.range {
            self.range(start, end, &mut all);
        }
        if let Some((values, _)) = &plan.after {
            all.push(self.after(values));
        }
        all
    }

    fn any(&mut self, values: &[Value]) -> String {
        let field = self.field(self.plan.eq.len());
        let (null, others) = split(values);
        let count = places(others);
        let list = format!("{field} IN ({})", parameters(self.last + 1, count));
        self.last += count;
        if null { format!("({field} IS NULL OR {list})") } else { list }
    }

    /// Null as a start excludes only null, which every range excludes; as an end it excludes everything.
    fn range(&mut self, start: &Bound<Value>, end: &Bound<Value>, all: &mut Vec<String>) {
        let field = self.field(self.plan.eq.len());
        let null = |bound: &Bound<Value>| {
            matches!(bound, Bound::Included(Value::Null) | Bound::Excluded(Value::Null) | Bound::Unbounded)
        };
        match start {
            Bound::Included(value) if *value != Value::Null => all.push(format!("{field} >= ?{}", self.parameter())),
            Bound::Excluded(value) if *value != Value::Null => all.push(format!("{field} > ?{}", self.parameter())),
            _ => {}
        }
        match end {
            Bound::Unbounded if null(start) => all.push(format!("{field} IS NOT NULL")),
            Bound::Unbounded => {}
            Bound::Included(Value::Null) | Bound::Excluded(Value::Null) => all.push("FALSE".to_owned()),
            Bound::Included(_) => all.push(format!("{field} <= ?{}", self.parameter())),
            Bound::Excluded(_) => all.push(format!("{field} < ?{}", self.parameter())),
        }
    }

    /// The keys of the order: those that are not fixed, and the tail.
    fn keys(&self) -> Vec<Ordered> {
        let (plan, mut keys) = (self.plan, Vec::new());
        for key in plan.index.map_or(&[][..], |index| index.keys).iter().skip(plan.eq.len()) {
            let field = &plan.table.fields[key.field];
            keys.push(Ordered {
                expression: quoted(field.name),
                descending: key.descending != plan.reverse,
                nullable: field.nullable,
            });
        }
        if let Some(expression) = Tail::of(plan.table, plan.index).expression(plan.table, plan.index) {
            keys.push(Ordered { expression, descending: plan.reverse, nullable: false });
        }
        keys
    }

    fn order(&self) -> Vec<String> {
        self.keys()
            .into_iter()
            .map(|key| if key.descending { key.expression + " DESC" } else { key.expression })
            .collect()
    }

    /// Returns the condition for rows behind a position. If all keys have one direction and null cannot be among those
    /// behind, it is a comparison of row values, at which SQLite starts directly. Otherwise it is a condition per key.
    fn after(&mut self, values: &[Value]) -> String {
        let keys = self.keys();
        let fixed = self.plan.eq.len();
        let is_null = |key: usize| values.get(fixed + key) == Some(&Value::Null);
        let places: Vec<Option<usize>> =
            (0..keys.len()).map(|key| if is_null(key) { None } else { Some(self.parameter()) }).collect();
        let Some(first) = keys.first() else { return "FALSE".to_owned() };
        let one_way = keys.iter().all(|key| key.descending == first.descending && !(key.descending && key.nullable));
        if one_way && places.iter().all(Option::is_some) {
            let names: Vec<&str> = keys.iter().map(|key| &*key.expression).collect();
            let sign = if first.descending { '<' } else { '>' };
            let values: Vec<String> = places.iter().flatten().map(|place| format!("?{place}")).collect();
            return format!("({}) {sign} ({})", names.join(", "), values.join(", "));
        }
        behind(&keys, &places)
    }
}

/// `(first key at or behind) AND ((first key behind) OR (the rest behind))`; the first part lets SQLite start near.
fn behind(keys: &[Ordered], places: &[Option<usize>]) -> String {
    let [key, rest @ ..] = keys else { return "FALSE".to_owned() };
    let name = &key.expression;
    let (beyond, at) = match (places[0], key.descending) {
        (None, false) => (format!("{name} IS NOT NULL"), format!("{name} IS NULL")),
        (None, true) => ("FALSE".to_owned(), format!("{name} IS NULL")),
        (Some(place), false) => (format!("{name} > ?{place}"), format!("{name} = ?{place}")),
        (Some(place), true) if key.nullable => {
            (format!("({name} < ?{place} OR {name} IS NULL)"), format!("{name} = ?{place}"))
        }
        (Some(place), true) => (format!("{name} < ?{place}"), format!("{name} = ?{place}")),
    };
    let near = match (places[0], key.descending) {
        (Some(place), false) => format!("{name} >= ?{place} AND "),
        (Some(place), true) if !key.nullable => format!("{name} <= ?{place} AND "),
        (None, true) => format!("{name} IS NULL AND "),
        (None, false) | (Some(_), true) => String::new(),
    };
    format!("({near}({beyond} OR ({at} AND {})))", behind(rest, &places[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_store::{KeyDef, Literal};

    const fn field(name: &'static str, nullable: bool) -> FieldDef {
        let column = ColumnType::Integer;
        FieldDef {
            name,
            column,
            nullable,
            default: None,
            references: None,
            meaning: convoke_store::Meaning::Plain,
            retired: false,
            schema: |_| true.into(),
            write_json: |_, _| Ok(()),
            check: |_| Ok(()),
            accept: |value| Ok(value.to_value()),
        }
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
