//! The recorded schema of a database: names, types and the engine's text of every index, as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::shape::Shape;
use super::table::{FieldDef, IndexDef, TableDef};
use crate::error::StoreError;

/// All tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The tables, by name.
    pub tables: BTreeMap<String, TableShape>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableShape {
    /// The prefix of its ids.
    pub prefix: String,
    /// Its columns, by name, including retired ones.
    pub fields: BTreeMap<String, FieldShape>,
    /// The engine's text of its indexes, by name.
    pub indexes: BTreeMap<String, String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldShape {
    /// Its type: `Text`, or `Id of user`.
    pub holds: String,
    /// True if it may be null.
    pub nullable: bool,
    /// True if the code no longer reads it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
    /// The possible values. None: the release that wrote the schema recorded no shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

/// The recorded schema of a database, and the schema of the code in the same form.
#[derive(Clone, Debug, PartialEq)]
pub struct Schemas {
    /// The recorded schema.
    pub stored: Definition,
    /// The schema of the code.
    pub code: Definition,
}

impl Definition {
    /// Parses the recorded schema.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: it cannot be read.
    pub fn read(text: &str) -> Result<Self, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| StoreError::Engine(format!("the schema kept in the database cannot be read: {error}")))
    }

    /// Returns the schema of a new database with these tables; `index_text` returns the engine's text of an index.
    pub fn of(tables: &[&'static TableDef], index_text: impl Fn(&TableDef, &IndexDef) -> String) -> Self {
        let shape = |table: &&'static TableDef| {
            (table.name.to_owned(), TableShape::of(table, |index| index_text(table, index)))
        };
        Self { tables: tables.iter().map(shape).collect() }
    }
}

impl TableShape {
    /// Records that some rows have no value for this field.
    pub fn lacks_values(&mut self, field: &str) {
        if let Some(field) = self.fields.get_mut(field) {
            field.nullable = true;
        }
    }

    /// Returns the shape of a new table; `index_text` returns the engine's text of an index.
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
    /// Returns the shape of a field in code.
    pub fn of(field: &FieldDef) -> Self {
        Self {
            holds: Self::holds(field),
            nullable: field.nullable,
            retired: field.retired,
            shape: Some(Shape::of(field)),
        }
    }

    /// Returns the type of a field in code.
    pub fn holds(field: &FieldDef) -> String {
        let column = format!("{:?}", field.column);
        field.references.map_or(column.clone(), |prefix| format!("{column} of {prefix}"))
    }

    /// Returns true if both are equal as far as known: one of them may have no shape.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_same_shape = self.shape.is_none() || other.shape.is_none() || self.shape == other.shape;
        is_same_shape && (&self.holds, self.nullable, self.retired) == (&other.holds, other.nullable, other.retired)
    }
}
