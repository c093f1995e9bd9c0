//! A row of any engine, as a visitor reads it.

use crate::error::StoreError;
use crate::value::ValueRef;

/// A row that is still in the engine's memory while it is visited.
pub trait Row {
    /// Returns the bits of `_id`.
    fn id(&self) -> Result<u128, StoreError>;

    /// Returns `_creationTime`, in milliseconds.
    fn creation_time(&self) -> Result<i64, StoreError>;

    /// Returns the value of the field at this position of [`TableDef::fields`](crate::TableDef::fields).
    fn value(&self, place: usize) -> Result<ValueRef<'_>, StoreError>;
}
