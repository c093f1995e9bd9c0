//! The schema as it is kept in the database: names, types and the words of the engine for every index, as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::shape::Shape;
use super::table::{FieldDef, IndexDef, TableDef};
use crate::error::StoreError;

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
    /// What its values may be; none if the release that wrote it recorded no shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

/// The schema that a database keeps, and that of the code in the same words.
#[derive(Clone, Debug, PartialEq)]
pub struct Schemas {
    /// The one that is kept.
    pub stored: Definition,
    /// The one of the code.
    pub code: Definition,
}

impl Definition {
    /// Reads what is kept in a database.
    ///
    /// # Errors
    /// [`StoreError::Engine`] if it cannot be read.
    pub fn read(text: &str) -> Result<Self, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| StoreError::Engine(format!("the schema kept in the database cannot be read: {error}")))
    }

    /// That of a new database with these tables; `index_text` has the engine's words for an index.
    pub fn of(tables: &[&'static TableDef], index_text: impl Fn(&TableDef, &IndexDef) -> String) -> Self {
        let shape = |table: &&'static TableDef| {
            (table.name.to_owned(), TableShape::of(table, |index| index_text(table, index)))
        };
        Self { tables: tables.iter().map(shape).collect() }
    }
}

impl TableShape {
    /// Notes that some rows have no value for this field.
    pub fn lacks_values(&mut self, field: &str) {
        if let Some(field) = self.fields.get_mut(field) {
            field.nullable = true;
        }
    }

    /// The shape of a new table; `index_text` has the engine's words for an index.
    pub fn of(table: &TableDef, index_text: impl Fn(&IndexDef) -> String) -> Self {
        Self {
            prefix: table.prefix.to_owned(),
            fields: table
                .fields
                .iter()
                .filter(|field| !field.retired)
                .map(|field| (field.name.to_owned(), FieldShape::of(field)))
                .collect(),
            indexes: table.indexes.iter().map(|index| (index.name.to_owned(), index_text(index))).collect(),
        }
    }
}

impl FieldShape {
    /// The shape of a field in code.
    pub fn of(field: &FieldDef) -> Self {
        Self {
            holds: Self::holds(field),
            nullable: field.nullable,
            retired: field.retired,
            shape: Some(Shape::of(field)),
        }
    }

    /// What a field in code holds.
    pub fn holds(field: &FieldDef) -> String {
        let column = format!("{:?}", field.column);
        field.references.map_or(column.clone(), |prefix| format!("{column} of {prefix}"))
    }

    /// True if both are the same as far as is known: one of them may have no shape.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_same_shape = self.shape.is_none() || other.shape.is_none() || self.shape == other.shape;
        is_same_shape && (&self.holds, self.nullable, self.retired) == (&other.holds, other.nullable, other.retired)
    }
}
