//! The writes of a commit, as an engine receives them.

use crate::error::StoreError;
use crate::fields::Fields;
use crate::packed_row::PackedRow;
use crate::schema::table::TableDef;
use crate::value::{Value, ValueRef};

/// A write of one row.
#[derive(Clone, Debug)]
pub struct RowWrite {
    /// The table.
    pub table: &'static TableDef,
    /// The id of the row.
    pub id: u128,
    /// The engine's number of the row ([`PackedRow::number`]), if it is known.
    pub number: Option<i64>,
    /// The write.
    pub write: Write,
}

/// The content of a [`RowWrite`].
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Deletes the row.
    Delete,
    /// Sets these fields to null until an update of the same row follows. They are the keys of all unique indexes of
    /// the table: another row takes one of them over, and null keys never conflict.
    Vacate(Fields),
    /// Inserts this row. Retired fields are not written.
    Insert(PackedRow),
    /// Writes these fields of this complete row.
    Update(PackedRow, Fields),
}

impl RowWrite {
    /// Returns the insert of a row.
    pub fn insert(table: &'static TableDef, id: u128, row: PackedRow) -> Self {
        Self { table, id, number: None, write: Write::Insert(row) }
    }

    /// Returns the insert of a row with these values, by position.
    ///
    /// # Errors
    /// Like [`TableDef::require_storable`]; [`StoreError::Engine`]: the row has more than [`PackedRow::BYTES_MAX`].
    pub fn new_row(
        table: &'static TableDef,
        id: u128,
        creation_time: i64,
        values: &[Value],
    ) -> Result<Self, StoreError> {
        table.require_storable(values)?;
        let value = |place: usize| match values.get(place) {
            Some(value) if !table.fields[place].retired => Ok(value.as_ref()),
            Some(_) | None => Ok(ValueRef::Null),
        };
        let row = PackedRow::pack((creation_time, None), table.fields.len(), PackedRow::BYTES_MAX, value)?;
        let row = row.ok_or_else(|| StoreError::Engine("a row has at most 4 GiB".to_owned()))?;
        Ok(Self::insert(table, id, row))
    }

    /// Returns the update of some fields of a row.
    pub fn update(table: &'static TableDef, id: u128, row: PackedRow, fields: Fields) -> Self {
        Self { table, id, number: row.number(), write: Write::Update(row, fields) }
    }
}
