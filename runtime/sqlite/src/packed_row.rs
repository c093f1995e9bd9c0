//! A row in one piece of memory. Whoever reads rows at random waits for memory above all, and this way, for a small row, for
//! two or three neighbouring lines of it, however many texts it has.

use std::sync::Arc;

use smallvec::SmallVec;

use convoke_store::{Row, StoreError, TableDef, Value, ValueRef};

/// The creation time, eight bytes; of each field a tag and eight bytes; then the bytes of those that need more.
const TIME: usize = 8;
const FIELD: usize = 9;

/// A row that takes more is not kept.
const ROW_BYTES_MAX: usize = 16 * 1_024;

/// The columns of a row but its id. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct PackedRow(Arc<[u8]>);

/// A row's values, where they lie now.
type Values<'a> = SmallVec<[ValueRef<'a>; 16]>;

impl PackedRow {
    /// What an engine's row holds; none if that is much.
    ///
    /// # Errors
    /// A column that cannot be read.
    pub(crate) fn read(table: &TableDef, row: &dyn Row) -> Result<Option<Self>, StoreError> {
        let values: Values<'_> = (0..table.fields.len()).map(|place| row.value(place)).collect::<Result<_, _>>()?;
        Ok(Self::of(row.creation_time()?, &values))
    }

    /// None if it takes more than [`ROW_BYTES_MAX`].
    pub(crate) fn of(creation_time: i64, values: &[ValueRef<'_>]) -> Option<Self> {
        let fields = TIME + values.len() * FIELD;
        let size = fields + values.iter().map(bytes_behind).sum::<usize>();
        if size > ROW_BYTES_MAX {
            return None;
        }
        let mut packed = Vec::with_capacity(size);
        packed.extend_from_slice(&creation_time.to_le_bytes());
        packed.resize(fields, 0);
        for (place, value) in values.iter().enumerate() {
            let mut behind = |bytes: &[u8]| {
                let start = packed.len() as u64;
                packed.extend_from_slice(bytes);
                (start << 32) | bytes.len() as u64
            };
            let (tag, held) = match value {
                ValueRef::Null => (0, 0),
                ValueRef::Bool(truth) => (1, u64::from(*truth)),
                ValueRef::Integer(number) => (2, number.cast_unsigned()),
                ValueRef::Float(number) => (3, number.to_bits()),
                ValueRef::Text(text) => (4, behind(text.as_bytes())),
                ValueRef::Bytes(bytes) => (5, behind(bytes)),
                ValueRef::Id(bits) => (6, behind(&bits.to_le_bytes())),
            };
            let at = TIME + place * FIELD;
            packed[at] = tag;
            packed[at + 1..at + FIELD].copy_from_slice(&held.to_le_bytes());
        }
        Some(Self(packed.into()))
    }

    /// The same row with some values changed; none if it takes too much then.
    pub(crate) fn with(&self, table: &TableDef, changes: &[(usize, Value)]) -> Option<Self> {
        let mut values: Values<'_> = (0..table.fields.len()).map(|place| self.value(place)).collect();
        for (place, value) in changes {
            values[*place] = value.as_ref();
        }
        Self::of(self.creation_time(), &values)
    }

    /// When it was made, in ms.
    pub(crate) fn creation_time(&self) -> i64 {
        self.number(0).cast_signed()
    }

    /// The value of a field of its table.
    pub(crate) fn value(&self, place: usize) -> ValueRef<'_> {
        let at = TIME + place * FIELD;
        let held = self.number(at + 1);
        let bytes = || {
            let (start, length) = ((held >> 32) as usize, (held & 0xFFFF_FFFF) as usize);
            &self.0[start..start + length]
        };
        match self.0[at] {
            1 => ValueRef::Bool(held != 0),
            2 => ValueRef::Integer(held.cast_signed()),
            3 => ValueRef::Float(f64::from_bits(held)),
            // What was packed was text, and 16 bytes.
            4 => ValueRef::Text(std::str::from_utf8(bytes()).unwrap_or_default()),
            5 => ValueRef::Bytes(bytes()),
            6 => ValueRef::Id(u128::from_le_bytes(bytes().try_into().unwrap_or_default())),
            _ => ValueRef::Null,
        }
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    fn number(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap_or_default())
    }
}

/// What a value takes behind the fields.
fn bytes_behind(value: &ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null | ValueRef::Bool(_) | ValueRef::Integer(_) | ValueRef::Float(_) => 0,
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytes(bytes) => bytes.len(),
        ValueRef::Id(bits) => size_of_val(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_comes_back_as_it_was() {
        let values = [
            ValueRef::Null,
            ValueRef::Bool(true),
            ValueRef::Bool(false),
            ValueRef::Integer(i64::MIN),
            ValueRef::Float(-1.5),
            ValueRef::Text("straße"),
            ValueRef::Text(""),
            ValueRef::Bytes(&[0, 255]),
            ValueRef::Id(u128::MAX - 7),
        ];
        let row = PackedRow::of(-3, &values).unwrap();
        assert_eq!(row.creation_time(), -3);
        let found: Vec<_> = (0..values.len()).map(|place| row.value(place)).collect();
        assert_eq!(found, values);
    }

    #[test]
    fn a_large_row_is_not_kept() {
        let text = "x".repeat(ROW_BYTES_MAX);
        assert!(PackedRow::of(0, &[ValueRef::Text(&text)]).is_none());
        assert!(PackedRow::of(0, &[ValueRef::Text(&text[..ROW_BYTES_MAX - TIME - FIELD])]).is_some());
    }
}
