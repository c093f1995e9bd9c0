//! Column values, independent of the engine: null, bool, integer, float, text, bytes, id.
//!
//! Nested values are JSON text. The order is the same in every engine: null first, numbers by value, text and bytes
//! bytewise, ids by their bits (that is, by time).

/// An owned value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A double; never NaN.
    Float(f64),
    /// Text without U+0000; JSON for nested values.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// The bits of an id.
    Id(u128),
}

impl Value {
    /// Returns its size in bytes, independent of the engine's storage.
    pub fn bytes(&self) -> u64 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Integer(_) | Value::Float(_) => 8,
            Value::Id(_) => 16,
            Value::Text(text) => text.len() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Returns a representation for hashing that differs for different values.
    pub(crate) fn identity(&self) -> (u8, Vec<u8>) {
        match self {
            Value::Null => (0, Vec::new()),
            Value::Bool(truth) => (1, vec![u8::from(*truth)]),
            Value::Integer(number) => (2, number.to_le_bytes().to_vec()),
            Value::Float(number) => (3, number.to_bits().to_le_bytes().to_vec()),
            Value::Text(text) => (4, text.clone().into_bytes()),
            Value::Bytes(bytes) => (5, bytes.clone()),
            Value::Id(bits) => (6, bits.to_le_bytes().to_vec()),
        }
    }
}

/// A value that still borrows from the engine's row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Float(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// The bits of an id.
    Id(u128),
}

impl Value {
    /// The same value, borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Bool(value) => ValueRef::Bool(*value),
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Float(value) => ValueRef::Float(*value),
            Value::Text(value) => ValueRef::Text(value),
            Value::Bytes(value) => ValueRef::Bytes(value),
            Value::Id(value) => ValueRef::Id(*value),
        }
    }
}

impl ValueRef<'_> {
    /// The same value, owned.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Bool(value) => Value::Bool(value),
            ValueRef::Integer(value) => Value::Integer(value),
            ValueRef::Float(value) => Value::Float(value),
            ValueRef::Text(value) => Value::Text(value.to_owned()),
            ValueRef::Bytes(value) => Value::Bytes(value.to_owned()),
            ValueRef::Id(value) => Value::Id(value),
        }
    }
}

/// The type of a column. Every column can also be null. The engine chooses the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// A 64-bit integer.
    Integer,
    /// A double.
    Float,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// The id of a row.
    Id,
    /// A nested value, as text of JSON.
    Json,
}
