//! The schema of an archive: tables, columns and indexes by name, and whether this program's tables take its rows.

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
    /// By name.
    pub tables: Vec<Table>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The prefix of its ids.
    pub prefix: String,
    /// Its columns beside `_id` and `_creationTime`, in their order.
    pub columns: Vec<Column>,
    /// Its indexes; each ends with `_id`.
    pub indexes: Vec<Index>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds: `bool`, `integer`, `float`, `text`, `bytes`, `id`, `json`.
    pub r#type: String,
    /// Whether it may be null.
    pub nullable: bool,
    /// The prefix of the table whose ids it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub references: Option<String>,
    /// What rows that are older than the column hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
}

/// One index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its keys in order; `-` before a name: greatest first.
    pub keys: Vec<String>,
    /// Whether two rows may not agree on all keys.
    pub unique: bool,
    /// Which rows it holds, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

impl Schema {
    /// The schema of tables in code.
    pub fn of(tables: &[&'static TableDef]) -> Self {
        Self { tables: tables.iter().map(|table| Table::of(table)).collect() }
    }

    /// What stands in the way of this archive's rows, a sentence each. Indexes do not: they are made anew.
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
    /// The table as code has it.
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
                    "table {name}, column {}: holds {} here and {} in the archive",
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
            misfits.push(format!("table {name}: the archive has no column {}, and no row is without one", field.name));
        }
    }
}

impl Column {
    /// The column as code has it.
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
    /// The index as code has it.
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

/// A constant of a schema as JSON.
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

/// The name of a type in a schema.
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
