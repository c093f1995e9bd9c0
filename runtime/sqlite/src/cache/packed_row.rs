//! A row in one block of memory. Random reads of rows mostly wait for memory, and a small row then needs only two or
//! three adjacent cache lines, however many texts it has.

use std::convert::Infallible;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::sql::SqliteRow;
use convoke_store::{Row, StoreError, TableDef, Value, ValueRef};

/// The creation time and the row number, eight bytes each; per field a tag and eight bytes; then the bytes of longer
/// values.
const HEAD: usize = 16;
const FIELD: usize = 9;

/// SQLite's row numbers start at 1.
const NO_NUMBER: i64 = 0;

/// A larger row is not cached.
const ROW_BYTES_MAX: usize = 16 * 1_024;

/// The columns of a row without its id. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct PackedRow(Arc<[u8]>);

/// Tags from here on mark values whose bytes are behind the fields.
const TEXT: u8 = 4;
const BYTES: u8 = 5;
const ID: u8 = 6;

impl PackedRow {
    /// Reads the current row of a statement; none if it is too large.
    ///
    /// # Errors
    /// A column cannot be read.
    pub(crate) fn read(row: &SqliteRow<'_>) -> Result<Option<Self>, StoreError> {
        let head = (row.creation_time()?, row.number());
        Self::put_together(head, row.table.fields.len(), |place| row.value(place))
    }

    /// Packs values; none if they take more than [`ROW_BYTES_MAX`].
    fn put_together<'a, E>(
        (creation_time, number): (i64, Option<i64>),
        fields: usize,
        value: impl Fn(usize) -> Result<ValueRef<'a>, E>,
    ) -> Result<Option<Self>, E> {
        // Built on the stack and copied once to its final place.
        let mut packed = SmallVec::<[u8; 256]>::from_slice(&creation_time.to_le_bytes());
        packed.extend_from_slice(&number.unwrap_or(NO_NUMBER).to_le_bytes());
        packed.resize(HEAD + fields * FIELD, 0);
        for place in 0..fields {
            let value = value(place)?;
            let bits;
            let behind = match value {
                ValueRef::Null | ValueRef::Bool(_) | ValueRef::Integer(_) | ValueRef::Float(_) => &[],
                ValueRef::Text(text) => text.as_bytes(),
                ValueRef::Bytes(bytes) => bytes,
                ValueRef::Id(id) => {
                    bits = id.to_le_bytes();
                    &bits[..]
                }
            };
            if packed.len() + behind.len() > ROW_BYTES_MAX {
                return Ok(None);
            }
            let field = in_place(value).unwrap_or_else(|tag| (tag, (packed.len() as u64) << 32 | behind.len() as u64));
            packed.extend_from_slice(behind);
            set(&mut packed, place, field);
        }
        Ok(Some(Self(Arc::from(&packed[..]))))
    }

    /// Packs these values.
    #[cfg(test)]
    pub(crate) fn of(creation_time: i64, values: &[ValueRef<'_>]) -> Option<Self> {
        let value = |place| Ok::<_, Infallible>(values[place]);
        Self::put_together((creation_time, None), values.len(), value).unwrap_or_default()
    }

    /// Returns the row with some values changed, each field once; none if it becomes too large.
    pub(crate) fn with(&self, table: &TableDef, changes: &[(usize, Value)]) -> Option<Self> {
        let stay_in_place = |(place, value): &(usize, Value)| {
            Some((*place, in_place(value.as_ref()).ok().filter(|_| self.0[HEAD + place * FIELD] < TEXT)?))
        };
        let fields: Option<SmallVec<[_; 4]>> = changes.iter().map(stay_in_place).collect();
        if let Some(fields) = fields {
            let mut packed = Arc::<[u8]>::from(&self.0[..]);
            let bytes = Arc::get_mut(&mut packed)?;
            fields.into_iter().for_each(|(place, field)| set(bytes, place, field));
            return Some(Self(packed));
        }
        let changed = |place| changes.iter().find(|(changed, _)| *changed == place).map(|(_, value)| value.as_ref());
        let value = |place| Ok::<_, Infallible>(changed(place).unwrap_or_else(|| self.value(place)));
        Self::put_together((self.creation_time(), self.number()), table.fields.len(), value).unwrap_or_default()
    }

    /// Returns its creation time, in ms.
    pub(crate) fn creation_time(&self) -> i64 {
        self.word(0).cast_signed()
    }

    /// Returns SQLite's row number, if it is known.
    pub(crate) fn number(&self) -> Option<i64> {
        Some(self.word(8).cast_signed()).filter(|number| *number != NO_NUMBER)
    }

    /// Returns the value of a field.
    pub(crate) fn value(&self, place: usize) -> ValueRef<'_> {
        let at = HEAD + place * FIELD;
        let held = self.word(at + 1);
        let bytes = || {
            let (start, length) = ((held >> 32) as usize, (held & 0xFFFF_FFFF) as usize);
            &self.0[start..start + length]
        };
        match self.0[at] {
            1 => ValueRef::Bool(held != 0),
            2 => ValueRef::Integer(held.cast_signed()),
            3 => ValueRef::Float(f64::from_bits(held)),
            // The packed bytes were valid text, and 16 bytes.
            TEXT => ValueRef::Text(std::str::from_utf8(bytes()).unwrap_or_default()),
            BYTES => ValueRef::Bytes(bytes()),
            ID => ValueRef::Id(u128::from_le_bytes(bytes().try_into().unwrap_or_default())),
            _ => ValueRef::Null,
        }
    }

    /// Returns its size.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap_or_default())
    }
}

/// Returns tag and content of a value that fits into its field; of any other value only the tag.
fn in_place(value: ValueRef<'_>) -> Result<(u8, u64), u8> {
    match value {
        ValueRef::Null => Ok((0, 0)),
        ValueRef::Bool(truth) => Ok((1, u64::from(truth))),
        ValueRef::Integer(number) => Ok((2, number.cast_unsigned())),
        ValueRef::Float(number) => Ok((3, number.to_bits())),
        ValueRef::Text(_) => Err(TEXT),
        ValueRef::Bytes(_) => Err(BYTES),
        ValueRef::Id(_) => Err(ID),
    }
}

/// Sets a field.
fn set(packed: &mut [u8], place: usize, (tag, held): (u8, u64)) {
    let at = HEAD + place * FIELD;
    packed[at] = tag;
    packed[at + 1..at + FIELD].copy_from_slice(&held.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_store::conformance::support::field;

    /// A table with this number of fields.
    fn table(fields: usize) -> &'static TableDef {
        let fields = Vec::leak((0..fields).map(|_| field::<String>("field")).collect());
        Box::leak(Box::new(TableDef {
            name: "rows",
            prefix: "row",
            fields,
            indexes: &[],
            file: file!(),
            line: line!(),
        }))
    }

    const KINDS: [ValueRef<'static>; 9] = [
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

    #[test]
    fn every_kind_of_value_comes_back_as_it_was() {
        let row = PackedRow::of(-3, &KINDS).unwrap();
        assert_eq!(row.creation_time(), -3);
        let found: Vec<_> = (0..KINDS.len()).map(|place| row.value(place)).collect();
        assert_eq!(found, KINDS);
    }

    #[test]
    fn changed_row_equals_the_repacked_row() {
        let table = table(KINDS.len());
        let row = PackedRow::of(-3, &KINDS).unwrap();
        for place in 0..KINDS.len() {
            for value in KINDS {
                let other = (place + 1) % KINDS.len();
                let mut values = KINDS;
                (values[place], values[other]) = (value, ValueRef::Integer(7));
                let changed = row.with(table, &[(place, value.to_value()), (other, Value::Integer(7))]).unwrap();
                assert_eq!(changed.0, PackedRow::of(-3, &values).unwrap().0, "{value:?} at {place}");
            }
        }
    }

    #[test]
    fn large_row_is_not_cached() {
        let text = "x".repeat(ROW_BYTES_MAX);
        assert!(PackedRow::of(0, &[ValueRef::Text(&text)]).is_none());
        assert!(PackedRow::of(0, &[ValueRef::Text(&text[..ROW_BYTES_MAX - HEAD - FIELD])]).is_some());
        let row = PackedRow::of(0, &[ValueRef::Null]).unwrap();
        assert!(row.with(table(1), &[(0, Value::Text(text))]).is_none());
    }
}
