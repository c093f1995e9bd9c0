//! The schema of an archive, and its comparison with this program's tables.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use convoke_store::Value;
use convoke_store::table::{FieldDef, IndexDef, TableDef};
use convoke_store::{ColumnType, Condition};

/// `schema.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The tables, by name.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The prefix of its ids.
    pub prefix: String,
    /// Its columns except `_id` and `_creationTime`, in order.
    pub columns: Vec<Column>,
    /// Its indexes. Each implicitly ends with `_id`.
    pub indexes: Vec<Index>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type: `bool`, `integer`, `float`, `text`, `bytes`, `id` or `json`.
    pub r#type: String,
    /// True if it may be null.
    pub nullable: bool,
    /// The prefix of the table that it refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub references: Option<String>,
    /// The value in rows that are older than the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its keys in order. A `-` before a name means descending.
    pub keys: Vec<String>,
    /// True if two rows cannot have the same keys.
    pub unique: bool,
    /// The condition of a partial index, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

impl Schema {
    /// Returns the schema of the tables in code.
    pub fn of(tables: &[&'static TableDef]) -> Self {
        Self { tables: tables.iter().map(|table| Table::of(table)).collect() }
    }

    /// Returns the differences that prevent an import, one sentence each. Indexes do not matter, because an import
    /// rebuilds them.
    pub fn misfits(&self, tables: &[&'static TableDef]) -> Vec<String> {
        let mut misfits = Vec::new();
        for table in &self.tables {
            match tables.iter().find(|known| known.name == table.name) {
                None => misfits.push(format!("this program has no table {}", table.name)),
                Some(known) => table.misfits(known, &mut misfits),
            }
        }
        misfits
    }
}

impl Table {
    /// Converts a table of the code.
    pub fn of(table: &'static TableDef) -> Self {
        Self {
            name: table.name.to_owned(),
            prefix: table.prefix.to_owned(),
            columns: table.fields.iter().filter(|field| !field.retired).map(Column::of).collect(),
            indexes: table.indexes.iter().map(|index| Index::of(table, index)).collect(),
        }
    }

    fn misfits(&self, known: &'static TableDef, misfits: &mut Vec<String>) {
        let name = known.name;
        if self.prefix != known.prefix {
            misfits.push(format!("table {name}: its ids begin with {}_, not {}_", self.prefix, known.prefix));
        }
        for column in &self.columns {
            match known.field(&column.name).map(|place| &known.fields[place]).filter(|field| !field.retired) {
                None => misfits.push(format!("table {name}: this program has no column {}", column.name)),
                Some(field) if Column::of(field).holds() != column.holds() => misfits.push(format!(
                    "table {name}, column {}: has type {} here and {} in the archive",
                    column.name,
                    Column::of(field).holds(),
                    column.holds()
                )),
                Some(_) => {}
            }
        }
        let has = |field: &FieldDef| self.columns.iter().any(|column| column.name == field.name);
        let needed = |field: &&FieldDef| !field.nullable && field.default.is_none() && !field.retired;
        for field in known.fields.iter().filter(needed).filter(|field| !has(field)) {
            misfits.push(format!("table {name}: the archive has no column {}, which is required", field.name));
        }
    }
}

impl Column {
    /// Converts a column of the code.
    pub fn of(field: &FieldDef) -> Self {
        Self {
            name: field.name.to_owned(),
            r#type: type_name(field.column).to_owned(),
            nullable: field.nullable,
            references: field.references.map(str::to_owned),
            default: field.default.map(|default| json(default())),
        }
    }

    fn holds(&self) -> String {
        match &self.references {
            Some(prefix) => format!("{} of {prefix}", self.r#type),
            None => self.r#type.clone(),
        }
    }
}

impl Index {
    /// Converts an index of the code.
    pub fn of(table: &TableDef, index: &IndexDef) -> Self {
        let key = |key: &convoke_store::KeyDef| {
            let sign = if key.descending { "-" } else { "" };
            format!("{sign}{}", table.fields[key.field].name)
        };
        Self {
            name: index.name.to_owned(),
            keys: index.keys.iter().map(key).collect(),
            unique: index.unique,
            when: index.when.map(|when| match when {
                Condition::Equals(field, value) => format!("{field} = {}", json(value.value())),
                Condition::IsNull(field) => format!("{field} is null"),
                Condition::NotNull(field) => format!("{field} is not null"),
            }),
        }
    }
}

/// Converts a constant of a schema to JSON.
fn json(value: Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => truth.into(),
        Value::Integer(number) => number.into(),
        Value::Float(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::Bytes(bytes) => STANDARD.encode(bytes).into(),
        Value::Id(bits) => bits.to_string().into(),
    }
}

/// Returns the name of a type in a schema.
pub const fn type_name(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Bool => "bool",
        ColumnType::Integer => "integer",
        ColumnType::Float => "float",
        ColumnType::Text => "text",
        ColumnType::Bytes => "bytes",
        ColumnType::Id => "id",
        ColumnType::Json => "json",
    }
}
