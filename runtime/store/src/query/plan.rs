//! What an engine reads: a table, an index, its keys, an order and a limit, as values.

use std::ops::Bound;

use crate::error::StoreError;
use crate::schema::table::{IndexDef, TableDef};
use crate::value::Value;

/// Which rows, in which order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The table.
    pub table: &'static TableDef,
    /// The index that is read; none = by `_id`.
    pub index: Option<&'static IndexDef>,
    /// The values of the first keys.
    pub eq: Vec<Value>,
    /// The values of which the next key has one, each once; rows come in the index's order.
    pub any: Option<Vec<Value>>,
    /// The bounds of the next key.
    pub range: Option<(Bound<Value>, Bound<Value>)>,
    /// Backward through the index.
    pub reverse: bool,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// Of each row only its id and the keys of the index, everything else reads as null: then the rows themselves are not
    /// touched, where the index holds the id.
    pub keys_only: bool,
    /// Only rows behind this place: the values of all keys of the index and the id, as [`Plan`] orders them.
    pub after: Option<(Vec<Value>, u128)>,
}

/// Values of one list in one plan at most.
pub const LIST_MAX: usize = 16_384;

impl Plan {
    /// All rows of a table, in the order of an index or of `_id`.
    pub fn new(table: &'static TableDef, index: Option<&'static IndexDef>) -> Self {
        Self {
            table,
            index,
            eq: Vec::new(),
            any: None,
            range: None,
            reverse: false,
            limit: None,
            keys_only: false,
            after: None,
        }
    }

    /// Whether it has no rows by its form.
    ///
    /// # Errors
    /// [`StoreError::Engine`] for a list that no statement takes: more than [`LIST_MAX`] values.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        match &self.any {
            Some(values) if values.len() > LIST_MAX => {
                let count = values.len();
                Err(StoreError::Engine(format!("a list of keys has {count} values; {LIST_MAX} are the most")))
            }
            Some(values) => Ok(values.is_empty()),
            None => Ok(self.limit == Some(0)),
        }
    }

    /// A number that two plans share only if a cursor of one fits the other: it names the table, the index, the
    /// direction and the fixed keys.
    pub(crate) fn fingerprint(&self) -> u64 {
        use sha2::{Digest, Sha256};
        let shape = format!(
            "{}/{}/{}/{:?}/{:?}/{:?}",
            self.table.name,
            self.index.map_or("_id", |index| index.name),
            self.reverse,
            self.eq,
            self.any,
            self.range
        );
        let digest = Sha256::digest(shape);
        u64::from_le_bytes(digest[..8].try_into().expect("a SHA-256 digest has 32 bytes"))
    }
}
