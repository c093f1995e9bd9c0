//! A row of any engine, as a visitor reads it.

use crate::error::StoreError;
use crate::packed_row::PackedRow;
use crate::value::ValueRef;

/// A row that is still in the engine's memory while it is visited.
pub trait Row {
    /// Returns the bits of `_id`.
    fn id(&self) -> Result<u128, StoreError>;

    /// Returns `_creationTime`, in milliseconds.
    fn creation_time(&self) -> Result<i64, StoreError>;

    /// Returns the value of the field at this position of [`TableDef::fields`](crate::TableDef::fields).
    fn value(&self, place: usize) -> Result<ValueRef<'_>, StoreError>;

    /// Returns the columns of a table with this number of fields as a row that outlives the visit. None: the row has
    /// more bytes than `bytes_max`.
    fn packed(&self, fields: usize, bytes_max: usize) -> Result<Option<PackedRow>, StoreError> {
        PackedRow::pack((self.creation_time()?, None), fields, bytes_max, |place| self.value(place))
    }
}

/// A row in memory.
#[derive(Clone, Debug)]
pub struct MemoryRow {
    /// Its id.
    pub id: u128,
    /// Its columns.
    pub columns: PackedRow,
}

impl Row for MemoryRow {
    fn id(&self) -> Result<u128, StoreError> {
        Ok(self.id)
    }

    fn creation_time(&self) -> Result<i64, StoreError> {
        Ok(self.columns.creation_time())
    }

    fn value(&self, place: usize) -> Result<ValueRef<'_>, StoreError> {
        Ok(self.columns.value(place))
    }

    fn packed(&self, _: usize, bytes_max: usize) -> Result<Option<PackedRow>, StoreError> {
        Ok((self.columns.bytes() <= bytes_max).then(|| self.columns.clone()))
    }
}
