//! A row in one block of memory. Random reads of rows mostly wait for memory, and a small row then needs only two or
//! three adjacent cache lines, however many texts it has.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::StoreError;
use crate::value::{Value, ValueRef};

/// The creation time and the row number, eight bytes each; per field a tag and eight bytes; then the bytes of longer
/// values.
const HEAD: usize = 16;
const FIELD: usize = 9;

/// Engines number rows from 1.
const NO_NUMBER: i64 = 0;

/// The columns of a row without its id. Cheap to clone. Both zeros are stored as the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedRow(Arc<[u8]>);

/// Tags from here on mark values whose bytes are behind the fields.
const TEXT: u8 = 4;
const BYTES: u8 = 5;
const ID: u8 = 6;

impl PackedRow {
    /// Most bytes of a row. The place of a longer value takes 32 bits, and its length takes 32 bits.
    pub const BYTES_MAX: usize = u32::MAX as usize;

    /// Packs the values of this number of fields, by position. `number` is the number by which the engine finds the row
    /// without its id, if it has one. None: the row has more bytes than `bytes_max`.
    ///
    /// # Errors
    /// Errors of `value`.
    pub fn pack<'a>(
        (creation_time, number): (i64, Option<i64>),
        fields: usize,
        bytes_max: usize,
        value: impl Fn(usize) -> Result<ValueRef<'a>, StoreError>,
    ) -> Result<Option<Self>, StoreError> {
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
            if packed.len().saturating_add(behind.len()) > bytes_max.min(Self::BYTES_MAX) {
                return Ok(None);
            }
            let field = in_place(value).unwrap_or_else(|tag| (tag, (packed.len() as u64) << 32 | behind.len() as u64));
            packed.extend_from_slice(behind);
            set(&mut packed, place, field);
        }
        Ok(Some(Self(Arc::from(&packed[..]))))
    }

    /// Returns the row with some values changed, each field once. None: the row has more than [`PackedRow::BYTES_MAX`].
    pub fn with(&self, fields: usize, changes: &[(usize, Value)]) -> Option<Self> {
        let stay_in_place = |(place, value): &(usize, Value)| {
            Some((*place, in_place(value.as_ref()).ok().filter(|_| self.0[HEAD + place * FIELD] < TEXT)?))
        };
        let in_place: Option<SmallVec<[_; 4]>> = changes.iter().map(stay_in_place).collect();
        if let Some(in_place) = in_place {
            let mut packed = Arc::<[u8]>::from(&self.0[..]);
            if let Some(bytes) = Arc::get_mut(&mut packed) {
                in_place.into_iter().for_each(|(place, field)| set(bytes, place, field));
                return Some(Self(packed));
            }
        }
        let changed = |place| changes.iter().find(|(changed, _)| *changed == place).map(|(_, value)| value.as_ref());
        let value = |place| Ok(changed(place).unwrap_or_else(|| self.value(place)));
        Self::pack((self.creation_time(), self.number()), fields, Self::BYTES_MAX, value).unwrap_or_default()
    }

    /// Returns its creation time, in ms.
    pub fn creation_time(&self) -> i64 {
        self.word(0).cast_signed()
    }

    /// Returns the number by which the engine finds the row without its id, if it is known.
    pub fn number(&self) -> Option<i64> {
        Some(self.word(8).cast_signed()).filter(|number| *number != NO_NUMBER)
    }

    /// Returns the value of a field.
    pub fn value(&self, place: usize) -> ValueRef<'_> {
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

    /// Returns its size in bytes.
    pub fn bytes(&self) -> usize {
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
        // The sum with 0 turns -0 into 0.
        ValueRef::Float(number) => Ok((3, (number + 0.0).to_bits())),
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

    fn pack(values: &[ValueRef<'_>]) -> PackedRow {
        PackedRow::pack((-3, Some(9)), values.len(), usize::MAX, |place| Ok(values[place])).unwrap().unwrap()
    }

    #[test]
    fn every_kind_of_value_is_returned_unchanged() {
        let row = pack(&KINDS);
        assert_eq!((row.creation_time(), row.number()), (-3, Some(9)));
        let found: Vec<_> = (0..KINDS.len()).map(|place| row.value(place)).collect();
        assert_eq!(found, KINDS);
    }

    #[test]
    fn changed_row_equals_the_repacked_row() {
        let row = pack(&KINDS);
        for place in 0..KINDS.len() {
            for value in KINDS {
                let other = (place + 1) % KINDS.len();
                let mut values = KINDS;
                (values[place], values[other]) = (value, ValueRef::Integer(7));
                let changes = [(place, value.to_value()), (other, Value::Integer(7))];
                assert_eq!(row.with(KINDS.len(), &changes).unwrap(), pack(&values), "{value:?} at {place}");
            }
        }
    }

    #[test]
    fn large_row_is_not_packed() {
        let text = "x".repeat(1_000);
        let pack = |bytes_max| PackedRow::pack((0, None), 1, bytes_max, |_| Ok(ValueRef::Text(&text))).unwrap();
        assert_eq!(pack(HEAD + FIELD + 1_000).map(|row| row.bytes()), Some(HEAD + FIELD + 1_000));
        assert_eq!(pack(HEAD + FIELD + 999), None);
    }

    #[test]
    fn both_zeros_are_one_number() {
        assert_eq!(pack(&[ValueRef::Float(-0.0)]), pack(&[ValueRef::Float(0.0)]));
    }
}
