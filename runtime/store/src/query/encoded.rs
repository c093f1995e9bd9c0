//! Rows that are encoded as JSON inside the snapshot, without Rust values.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::builder::Query;
use crate::error::StoreError;
use crate::row::Row;
use crate::schema::table::{Doc, Table, TableDef, json, write_id};
use crate::value::ValueRef;

impl<T: Table, I, Rest> Query<'_, T, I, Rest> {
    /// Encodes at most `rows_max` rows as JSON inside the snapshot, without Rust values.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`]: the JSON exceeds the limit of a response.
    pub fn encode(mut self, rows_max: usize) -> Result<Encoded<Vec<Doc<T>>>, StoreError> {
        self.plan.limit = Some(rows_max as u64);
        let mut json = vec![b'['];
        let limit = self.db.limits.encoded_bytes_max;
        self.db.reader.select(&self.plan, &mut |row| {
            if json.len() > 1 {
                json.push(b',');
            }
            write_row(T::DEF, row, &mut json)?;
            if json.len() > limit { Err(StoreError::TooLarge { limit }) } else { Ok(ControlFlow::Continue(())) }
        })?;
        json.push(b']');
        Encoded::new(json)
    }
}

/// Writes a row as JSON, as `Serialize` of its [`Doc`] would.
pub(super) fn write_row(table: &'static TableDef, row: &dyn Row, out: &mut Vec<u8>) -> Result<(), StoreError> {
    out.extend_from_slice(b"{\"_id\":");
    write_id(table.prefix, row.id()?, out);
    out.extend_from_slice(b",\"_creationTime\":");
    json(&row.creation_time()?, out)?;
    for (place, field) in table.fields.iter().enumerate() {
        let value = row.value(place)?;
        if field.retired || value == ValueRef::Null {
            continue;
        }
        out.extend_from_slice(b",\"");
        out.extend_from_slice(field.name.as_bytes());
        out.extend_from_slice(b"\":");
        (field.write_json)(value, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Rows as finished JSON. It serializes like a `V`, only with `serde_json`, and cannot be deserialized.
#[derive(Clone, Debug)]
pub struct Encoded<V> {
    json: String,
    of: PhantomData<fn() -> V>,
}

impl<V> Encoded<V> {
    fn new(json: Vec<u8>) -> Result<Self, StoreError> {
        let json = String::from_utf8(json).map_err(|error| StoreError::Engine(error.to_string()))?;
        Ok(Self { json, of: PhantomData })
    }

    /// Returns the JSON.
    pub fn get(&self) -> &str {
        &self.json
    }
}

/// With this name, `serde_json` accepts a string as JSON (its `RawValue` serializes in the same way). A `RawValue`
/// itself requires parsing the text again, which costs a tenth of a list.
const RAW: &str = "$serde_json::private::RawValue";

impl<V> Serialize for Encoded<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, &self.json)?;
        raw.end()
    }
}

impl<V: JsonSchema> JsonSchema for Encoded<V> {
    fn schema_name() -> Cow<'static, str> {
        V::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        V::schema_id()
    }
    fn inline_schema() -> bool {
        V::inline_schema()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        V::json_schema(generator)
    }
}
