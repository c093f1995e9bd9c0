//! A row of any engine, as its visitor reads it.

use crate::error::StoreError;
use crate::value::ValueRef;

/// A row that lies in the engine while it is visited.
pub trait Row {
    /// The bits of `_id`.
    fn id(&self) -> Result<u128, StoreError>;

    /// `_creationTime`, in milliseconds.
    fn creation_time(&self) -> Result<i64, StoreError>;

    /// The value of the field at this place of [`TableDef::fields`](crate::TableDef::fields).
    fn value(&self, place: usize) -> Result<ValueRef<'_>, StoreError>;
}
