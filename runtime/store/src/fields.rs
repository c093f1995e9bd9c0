//! A set of fields of one table.

use crate::schema::table::FIELDS_MAX;
use crate::value::Value;

/// Fields of a table, by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fields(u128);

const _: () = assert!(FIELDS_MAX <= u128::BITS as usize);

impl Fields {
    /// Returns the fields of these changes.
    pub fn of(changes: &[(usize, Value)]) -> Self {
        changes.iter().map(|(place, _)| *place).collect()
    }

    /// Returns true if the set contains no field.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the set contains the field at this position.
    pub fn has(self, place: usize) -> bool {
        self.0 & 1 << place != 0
    }

    /// Returns the union.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Adds the field at this position.
    pub fn add(&mut self, place: usize) {
        self.0 |= 1 << place;
    }

    /// Returns the set as one bit for each field.
    pub fn bits(self) -> u128 {
        self.0
    }

    /// Returns the positions, in order.
    pub fn places(self) -> impl Iterator<Item = usize> + Clone {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let place = (left != 0).then_some(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(place)
        })
    }
}

impl FromIterator<usize> for Fields {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        let mut fields = Self::default();
        places.into_iter().for_each(|place| fields.add(place));
        fields
    }
}
