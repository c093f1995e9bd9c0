//! The plan of a read for an engine: a table, an index, its keys, an order and a limit, as values.

use std::ops::Bound;

use crate::error::StoreError;
use crate::schema::table::{IndexDef, TableDef};
use crate::value::Value;

/// The rows to read and their order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The table.
    pub table: &'static TableDef,
    /// The index to read. None: the order of `_id`.
    pub index: Option<&'static IndexDef>,
    /// The values of the first keys.
    pub eq: Vec<Value>,
    /// Distinct values, one of which the next key must have. Rows are read in the order of the index.
    pub any: Option<Vec<Value>>,
    /// The bounds of the next key.
    pub range: Option<(Bound<Value>, Bound<Value>)>,
    /// True to read the index backward.
    pub reverse: bool,
    /// Most rows to read.
    pub limit: Option<u64>,
    /// True to read only the id and the keys of the index; other fields are null. The rows are then not read if the
    /// index contains the id.
    pub keys_only: bool,
    /// Only rows behind this position: the values of all keys of the index, and the id.
    pub after: Option<(Vec<Value>, u128)>,
}

/// Most values of one list in one plan.
pub const LIST_MAX: usize = 16_384;

impl Plan {
    /// Creates the plan of all rows of a table, in the order of an index or of `_id`.
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

    /// Returns true if the plan cannot match any row.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: a list has more than [`LIST_MAX`] values.
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

    /// Returns the unique index of which the plan has all keys, so that it has at most one row.
    pub fn unique_index(&self) -> Option<&'static IndexDef> {
        let Self { table: _, index, eq, any, range, reverse: _, limit, keys_only: _, after } = self;
        let index = index.filter(|index| index.unique && index.keys.len() == eq.len())?;
        let is_plain = any.is_none() && range.is_none() && after.is_none() && *limit != Some(0);
        (is_plain && !eq.contains(&Value::Null)).then_some(index)
    }

    /// Returns a number that two plans share only if their cursors are interchangeable. It covers the table, the index,
    /// the direction and the fixed keys.
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
