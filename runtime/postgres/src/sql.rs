//! The SQL of every operation, and the names of tables and indexes in the database.
//!
//! Columns are always named, and parameters are numbered in the order of `bind`: the equal keys, the list, the range,
//! the position to continue from, the limit. Null is part of the text, never a parameter: equality with it is `IS
//! NULL`. Texts are compared by their bytes (collation `C`), and null comes first.

use std::fmt::Write as _;
use std::ops::Bound;

use convoke_store::{ColumnType, Condition, FieldDef, Fields, IndexDef, Plan, TableDef, Value};

/// `_id`, as a column.
pub(crate) const ID: &str = "\"_id\"";
/// Longest name in bytes; the server truncates longer ones.
pub(crate) const NAME_MAX: usize = 63;
/// Stands for no id in an index that ends in an id only for some rows.
const NO_ID: &str = "'00000000-0000-0000-0000-000000000000'::uuid";

/// Returns a name in double quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

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

/// Returns the type of a column.
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

/// Returns null with the type of a column.
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

/// Returns the condition of a conditional index. The constant must be in the text, so that the server sees that the
/// index applies.
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
    /// key never conflict, since null equals nothing.
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

    fn expression(&self, table: &TableDef, index: Option<&IndexDef>) -> Option<String> {
        match (self, index) {
            (Tail::None, _) => None,
            (Tail::IdIfNull(nullable), Some(index)) => {
                let is_null = |key: &usize| format!("{} IS NULL", quoted(table.fields[index.keys[*key].field].name));
                let null: Vec<String> = nullable.iter().map(is_null).collect();
                Some(format!("(CASE WHEN {} THEN {ID} ELSE {NO_ID} END)", null.join(" OR ")))
            }
            (Tail::Id | Tail::IdIfNull(_), _) => Some(ID.to_owned()),
        }
    }
}

/// Creates a table.
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

/// Creates an index.
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
    keys.extend(Tail::of(table, Some(index)).expression(table, Some(index)));
    let unique = if index.unique { " UNIQUE" } else { "" };
    let mut sql = format!("CREATE{unique} INDEX {name} ON {} ({})", quoted(table.name), keys.join(", "));
    if let Some(when) = index.when {
        let _ = write!(sql, " WHERE {}", condition(when));
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

/// Returns the columns of a row: id, creation time, and every field at its position; retired ones read as null.
fn columns(table: &TableDef) -> String {
    let mut sql = format!("{ID}, \"_creationTime\"");
    for field in table.fields {
        sql.push_str(", ");
        if field.retired { sql.push_str(null(field.column)) } else { sql.push_str(&quoted(field.name)) }
    }
    sql
}

/// Like [`columns`], with only the id and the keys of the plan's index.
fn keys(plan: &Plan) -> String {
    let mut sql = format!("{ID}, NULL::bigint");
    let keys = plan.index.map_or(&[][..], |index| index.keys);
    for (place, field) in plan.table.fields.iter().enumerate() {
        sql.push_str(", ");
        match keys.iter().any(|key| key.field == place) {
            true => sql.push_str(&quoted(field.name)),
            false => sql.push_str(null(field.column)),
        }
    }
    sql
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
        let _ = write!(sql, "{} AND ", condition(when));
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
    let mut text = PlanText { plan, last: 0 };
    let columns = if plan.keys_only { keys(plan) } else { columns(plan.table) };
    let mut sql = format!("SELECT {columns} {}", text.from());
    let order = text.order();
    if !order.is_empty() {
        let _ = write!(sql, " ORDER BY {}", order.join(", "));
    }
    if plan.limit.is_some() {
        let _ = write!(sql, " LIMIT {}", text.parameter());
    }
    sql
}

/// Counts the rows of a plan.
pub(crate) fn count(plan: &Plan) -> String {
    let mut text = PlanText { plan, last: 0 };
    let from = text.from();
    match plan.limit {
        None => format!("SELECT count(*) {from}"),
        Some(_) => format!("SELECT count(*) FROM (SELECT 1 {from} LIMIT {}) AS few", text.parameter()),
    }
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

impl PlanText<'_> {
    fn parameter(&mut self) -> String {
        self.last += 1;
        format!("${}", self.last)
    }

    fn field(&self, key: usize) -> String {
        let index = self.plan.index.expect("keys are given for an index only");
        quoted(self.plan.table.fields[index.keys[key].field].name)
    }

    /// `FROM … WHERE …`.
    fn from(&mut self) -> String {
        let conditions = self.conditions();
        let table = quoted(self.plan.table.name);
        if conditions.is_empty() {
            format!("FROM {table}")
        } else {
            format!("FROM {table} WHERE {}", conditions.join(" AND "))
        }
    }

    fn conditions(&mut self) -> Vec<String> {
        let plan = self.plan;
        let mut all = Vec::new();
        all.extend(plan.index.and_then(|index| index.when).map(condition));
        for (key, value) in plan.eq.iter().enumerate() {
            let field = self.field(key);
            all.push(match value {
                Value::Null => format!("{field} IS NULL"),
                _ => format!("{field} = {}", self.parameter()),
            });
        }
        if let Some(values) = &plan.any {
            let field = self.field(plan.eq.len());
            let list = format!("{field} = ANY({})", self.parameter());
            all.push(if values.contains(&Value::Null) { format!("({field} IS NULL OR {list})") } else { list });
        }
        if let Some((start, end)) = &plan.range {
            self.range(start, end, &mut all);
        }
        if let Some((values, _)) = &plan.after {
            all.push(self.after(values));
        }
        all
    }

    /// Null as a start excludes only null, which every range excludes; as an end it excludes everything.
    fn range(&mut self, start: &Bound<Value>, end: &Bound<Value>, all: &mut Vec<String>) {
        let field = self.field(self.plan.eq.len());
        let is_null = |bound: &Bound<Value>| {
            matches!(bound, Bound::Included(Value::Null) | Bound::Excluded(Value::Null) | Bound::Unbounded)
        };
        match start {
            Bound::Included(value) if *value != Value::Null => all.push(format!("{field} >= {}", self.parameter())),
            Bound::Excluded(value) if *value != Value::Null => all.push(format!("{field} > {}", self.parameter())),
            _ => {}
        }
        match end {
            Bound::Unbounded if is_null(start) => all.push(format!("{field} IS NOT NULL")),
            Bound::Unbounded => {}
            Bound::Included(Value::Null) | Bound::Excluded(Value::Null) => all.push("FALSE".to_owned()),
            Bound::Included(_) => all.push(format!("{field} <= {}", self.parameter())),
            Bound::Excluded(_) => all.push(format!("{field} < {}", self.parameter())),
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

    /// Keys that equal a value are omitted, because the server knows that they are constant. It does not know it of
    /// null keys.
    fn order(&self) -> Vec<String> {
        let plan = self.plan;
        let fixed = plan.eq.iter().enumerate().filter(|(_, value)| **value == Value::Null).map(|(key, _)| {
            let index = plan.index.expect("keys are given for an index only");
            Ordered {
                expression: self.field(key),
                descending: index.keys[key].descending != plan.reverse,
                nullable: true,
            }
        });
        let order =
            |key: Ordered| key.expression + if key.descending { " DESC NULLS LAST" } else { " ASC NULLS FIRST" };
        fixed.chain(self.keys()).map(order).collect()
    }

    /// Returns the condition for rows behind a position. If all keys have one direction and null cannot be among those
    /// behind, it is a comparison of row values, at which the server starts directly. Otherwise it is a condition per
    /// key.
    fn after(&mut self, values: &[Value]) -> String {
        let keys = self.keys();
        let fixed = self.plan.eq.len();
        let is_null = |key: usize| values.get(fixed + key) == Some(&Value::Null);
        let places: Vec<Option<String>> =
            (0..keys.len()).map(|key| if is_null(key) { None } else { Some(self.parameter()) }).collect();
        let Some(first) = keys.first() else { return "FALSE".to_owned() };
        let one_way = keys.iter().all(|key| key.descending == first.descending && !(key.descending && key.nullable));
        if one_way && places.iter().all(Option::is_some) {
            let names: Vec<&str> = keys.iter().map(|key| &*key.expression).collect();
            let sign = if first.descending { '<' } else { '>' };
            let values: Vec<&str> = places.iter().flatten().map(String::as_str).collect();
            return format!("({}) {sign} ({})", names.join(", "), values.join(", "));
        }
        behind(&keys, &places)
    }
}

/// `(first key at or behind) AND ((first key behind) OR (the rest behind))`; the first part lets the server start near.
fn behind(keys: &[Ordered], places: &[Option<String>]) -> String {
    let [key, rest @ ..] = keys else { return "FALSE".to_owned() };
    let name = &key.expression;
    let (beyond, at) = match (&places[0], key.descending) {
        (None, false) => (format!("{name} IS NOT NULL"), format!("{name} IS NULL")),
        (None, true) => ("FALSE".to_owned(), format!("{name} IS NULL")),
        (Some(place), false) => (format!("{name} > {place}"), format!("{name} = {place}")),
        (Some(place), true) if key.nullable => {
            (format!("({name} < {place} OR {name} IS NULL)"), format!("{name} = {place}"))
        }
        (Some(place), true) => (format!("{name} < {place}"), format!("{name} = {place}")),
    };
    let near = match (&places[0], key.descending) {
        (Some(place), false) => format!("{name} >= {place} AND "),
        (Some(place), true) if !key.nullable => format!("{name} <= {place} AND "),
        (None, true) => format!("{name} IS NULL AND "),
        (None, false) | (Some(_), true) => String::new(),
    };
    format!("({near}({beyond} OR ({at} AND {})))", behind(rest, &places[1..]))
}
