//! The schema as it is kept in the database: names, types and the words of the engine for every index, as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Catalog;
use crate::table::{FieldDef, TableDef};

/// All tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// By name.
    pub tables: BTreeMap<String, TableShape>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableShape {
    /// The prefix of its ids.
    pub prefix: String,
    /// Its columns, by name; retired ones too.
    pub fields: BTreeMap<String, FieldShape>,
    /// Its indexes in the words of the engine, by name.
    pub indexes: BTreeMap<String, String>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldShape {
    /// What it holds: `Text`, or `Id of user`.
    pub holds: String,
    /// Whether it may be null.
    pub nullable: bool,
    /// Whether no code reads it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
}

impl TableShape {
    /// The shape of a new table.
    pub fn of(table: &TableDef, catalog: &dyn Catalog) -> Self {
        Self {
            prefix: table.prefix.to_owned(),
            fields: table
                .fields
                .iter()
                .filter(|field| !field.retired)
                .map(|field| (field.name.to_owned(), FieldShape::of(field)))
                .collect(),
            indexes: table
                .indexes
                .iter()
                .map(|index| (index.name.to_owned(), catalog.index_text(table, index)))
                .collect(),
        }
    }
}

impl FieldShape {
    /// Enters it under this name as a field that some rows have no value for.
    pub fn without_values(self, name: &str, table: &mut TableShape) {
        table.fields.insert(name.to_owned(), Self { nullable: true, ..self });
    }

    /// The shape of a field in code.
    pub fn of(field: &FieldDef) -> Self {
        let column = format!("{:?}", field.column);
        Self {
            holds: field.references.map_or(column.clone(), |prefix| format!("{column} of {prefix}")),
            nullable: field.nullable,
            retired: field.retired,
        }
    }
}
