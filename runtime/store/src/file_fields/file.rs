//! The type of a field with a file.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::content::StoredFile;
use super::rule::FileRule;
use crate::error::StoreError;
use crate::row::Row;
use crate::schema::table::{Column, Meaning, TableDef};
use crate::value::{ColumnType, Value, ValueRef};
use convoke_core::id::Id;

/// A file: a field that refers to a stored content. Only an upload makes one; no argument of a call can contain it.
///
/// A file that was read from a row knows its place. Links need it, because a link of a row ends with the row.
#[derive(Clone, Copy, Debug)]
pub struct File {
    content: Id<StoredFile>,
    place: Option<Place>,
}

/// The field of a row.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The table.
    pub table: &'static TableDef,
    /// The id of the row.
    pub row: u128,
    /// The position of the field in [`TableDef::fields`].
    pub field: usize,
}

impl File {
    /// Returns the file of a content. The transaction that stores it checks that the content exists and fits the field.
    pub fn of(content: Id<StoredFile>) -> Self {
        Self { content, place: None }
    }

    /// Returns the id of the content.
    pub fn content(&self) -> Id<StoredFile> {
        self.content
    }

    /// Returns the field from which the file was read; none for a new file.
    pub fn place(&self) -> Option<Place> {
        self.place
    }
}

/// Compares the contents.
impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for File {}

impl Column for File {
    const TYPE: ColumnType = ColumnType::Id;
    const REFERENCES: Option<&'static str> = Some(<StoredFile as convoke_core::id::Named>::PREFIX);
    const MEANING: Meaning = Meaning::File(FileRule::DEFAULT);

    fn to_value(&self) -> Value {
        Value::Id(self.content.bits())
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        Id::from_value(value).map(Self::of)
    }

    fn located(self, row: &dyn Row, table: &'static TableDef, place: usize) -> Result<Self, StoreError> {
        Ok(Self { place: Some(Place { table, row: row.id()?, field: place }), ..self })
    }
}

impl Serialize for File {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.content.serialize(serializer)
    }
}

impl JsonSchema for File {
    fn schema_name() -> Cow<'static, str> {
        Id::<StoredFile>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Id::<StoredFile>::json_schema(generator)
    }
}
