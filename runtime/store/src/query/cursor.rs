//! Cursors: positions in the order of the rows of a query.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use crate::error::StoreError;
use crate::row::Row;
use crate::value::Value;

/// The position at which a page ended. It is opaque to clients and belongs to one query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Cursor(String);

/// The content of a cursor, before base64.
#[derive(Serialize, Deserialize)]
struct Payload(u64, Vec<KeyValue>, String);

/// Used instead of an id: behind all rows.
const END: &str = "end";

/// The position of a cursor.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stop {
    /// Behind the row with these keys and this id.
    At(Vec<Value>, u128),
    /// Behind all rows, including later ones.
    End,
}

#[derive(Serialize, Deserialize)]
enum KeyValue {
    #[serde(rename = "n")]
    Null,
    #[serde(rename = "b")]
    Bool(bool),
    #[serde(rename = "i")]
    Integer(i64),
    #[serde(rename = "f")]
    Float(f64),
    #[serde(rename = "t")]
    Text(String),
    #[serde(rename = "x")]
    Bytes(Vec<u8>),
    #[serde(rename = "d")]
    Id(String),
}

impl Cursor {
    /// Returns the cursor behind this row of a plan, for untyped readers.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn behind(plan: &Plan, row: &dyn Row) -> Result<Self, StoreError> {
        Self::at(plan, plan.fingerprint(), row)
    }

    /// Returns the position in a plan, in the form of [`Plan::after`].
    ///
    /// # Errors
    /// [`StoreError::BadCursor`]: the cursor belongs to another plan.
    pub fn place_in(&self, plan: &Plan) -> Result<(Vec<Value>, u128), StoreError> {
        self.place(plan, plan.fingerprint())
    }

    pub(super) fn at(plan: &Plan, fingerprint: u64, row: &dyn Row) -> Result<Self, StoreError> {
        let keys = plan.index.map_or(&[][..], |index| index.keys);
        let values = keys
            .iter()
            .map(|key| row.value(key.field).map(|value| KeyValue::from(value.to_value())))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(&Payload(fingerprint, values, format!("{:x}", row.id()?))))
    }

    /// Returns the cursor behind all rows.
    pub(super) fn end(fingerprint: u64) -> Self {
        Self::of(&Payload(fingerprint, Vec::new(), END.to_owned()))
    }

    fn of(place: &Payload) -> Self {
        Self(URL_SAFE_NO_PAD.encode(serde_json::to_vec(place).expect("a place is JSON")))
    }

    pub(super) fn place(&self, plan: &Plan, fingerprint: u64) -> Result<(Vec<Value>, u128), StoreError> {
        match self.stop(plan, fingerprint)? {
            Stop::At(values, id) => Ok((values, id)),
            Stop::End => Err(StoreError::BadCursor),
        }
    }

    pub(super) fn stop(&self, plan: &Plan, fingerprint: u64) -> Result<Stop, StoreError> {
        let json = URL_SAFE_NO_PAD.decode(&self.0).map_err(|_| StoreError::BadCursor)?;
        let Payload(made_by, values, id) = serde_json::from_slice(&json).map_err(|_| StoreError::BadCursor)?;
        if made_by == fingerprint && values.is_empty() && id == END {
            return Ok(Stop::End);
        }
        let keys = plan.index.map_or(0, |index| index.keys.len());
        if made_by != fingerprint || values.len() != keys {
            return Err(StoreError::BadCursor);
        }
        let id = u128::from_str_radix(&id, 16).map_err(|_| StoreError::BadCursor)?;
        let values = values.into_iter().map(Value::try_from).collect::<Result<_, _>>()?;
        Ok(Stop::At(values, id))
    }
}

impl From<Value> for KeyValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => KeyValue::Null,
            Value::Bool(value) => KeyValue::Bool(value),
            Value::Integer(value) => KeyValue::Integer(value),
            Value::Float(value) => KeyValue::Float(value),
            Value::Text(value) => KeyValue::Text(value),
            Value::Bytes(value) => KeyValue::Bytes(value),
            Value::Id(value) => KeyValue::Id(format!("{value:x}")),
        }
    }
}

impl TryFrom<KeyValue> for Value {
    type Error = StoreError;
    fn try_from(value: KeyValue) -> Result<Self, StoreError> {
        Ok(match value {
            KeyValue::Null => Value::Null,
            KeyValue::Bool(value) => Value::Bool(value),
            KeyValue::Integer(value) => Value::Integer(value),
            KeyValue::Float(value) => Value::Float(value),
            KeyValue::Text(value) => Value::Text(value),
            KeyValue::Bytes(value) => Value::Bytes(value),
            KeyValue::Id(value) => Value::Id(u128::from_str_radix(&value, 16).map_err(|_| StoreError::BadCursor)?),
        })
    }
}
