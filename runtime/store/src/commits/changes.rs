//! The written bytes of a transaction, by a formula that is the same on every engine.
//!
//! A row counts as its values, its id and its time, and each of its index entries as its keys and the id. For a changed
//! value, the differing part counts: one letter in a long text counts as one letter. Pages, logs and compression of the
//! engine do not count. An engine adds every completed write here.

use std::cell::{Cell, RefCell};

use crate::error::StoreError;
use crate::schema::table::{IndexDef, TableDef};
use crate::value::Value;

/// A completed write.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A new row.
    Inserted {
        /// Its table.
        table: &'static TableDef,
        /// Its id.
        id: u128,
        /// Its values, by position.
        values: &'a [Value],
    },
    /// Changed values in a row.
    Updated {
        /// Its table.
        table: &'static TableDef,
        /// Its id.
        id: u128,
        /// Its old values, by position; the last ones may be missing.
        before: &'a [Value],
        /// The changed values, by position.
        values: &'a [(usize, Value)],
    },
    /// A deleted row.
    Deleted {
        /// Its table.
        table: &'static TableDef,
        /// Its id.
        id: u128,
    },
}

/// The writes of one transaction. An engine adds each completed write and each savepoint.
#[derive(Debug, Default)]
pub struct Changes {
    bytes: Cell<u64>,
    /// Bytes at the start of each open savepoint.
    savepoints: RefCell<Vec<u64>>,
}

impl Changes {
    /// Adds a write.
    pub fn add(&self, change: Change<'_>) {
        self.bytes.set(self.bytes.get() + change.bytes());
    }

    /// Opens a savepoint.
    pub fn savepoint(&self) {
        self.savepoints.borrow_mut().push(self.bytes.get());
    }

    /// Closes the innermost savepoint and keeps its writes.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: no savepoint is open.
    pub fn release(&self) -> Result<(), StoreError> {
        self.close_savepoint().map(drop)
    }

    /// Closes the innermost savepoint and removes its writes.
    ///
    /// # Errors
    /// Like [`Changes::release`].
    pub fn rollback(&self) -> Result<(), StoreError> {
        self.bytes.set(self.close_savepoint()?);
        Ok(())
    }

    /// Returns the written bytes without rolled-back writes.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    fn close_savepoint(&self) -> Result<u64, StoreError> {
        let innermost = self.savepoints.borrow_mut().pop();
        innermost.ok_or_else(|| StoreError::Engine("no savepoint is open".to_owned()))
    }
}

/// Bytes of a row besides its values: its id, its time and its length.
const ROW: u64 = 32;
/// Bytes of an index entry besides its keys: the id of the row and the length of the entry.
const ENTRY: u64 = 24;

impl Change<'_> {
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Change::Inserted { table, values, .. } => row_bytes(table, values),
            Change::Updated { table, before, values, .. } => updated(table, before, values),
            Change::Deleted { table, .. } => ROW + ENTRY * table.indexes.len() as u64,
        }
    }
}

/// Returns the bytes of a row with its index entries, independent of the engine.
pub fn row_bytes(table: &TableDef, values: &[Value]) -> u64 {
    let keys =
        |index: &IndexDef| index.keys.iter().filter_map(|key| values.get(key.field)).map(Value::bytes).sum::<u64>();
    ROW + values.iter().map(Value::bytes).sum::<u64>()
        + table.indexes.iter().map(|index| ENTRY + keys(index)).sum::<u64>()
}

/// Returns the bytes of a change of a row with the values `before`: the differences of the changed fields, and the
/// entries of the indexes with one of them. A field that is missing in `before` counts completely.
fn updated(table: &TableDef, before: &[Value], changes: &[(usize, Value)]) -> u64 {
    let keys = |index: &IndexDef| {
        let changed = |field: usize| changes.iter().find(|(place, _)| *place == field).map(|(_, value)| value.bytes());
        index.keys.iter().filter_map(|key| changed(key.field)).reduce(|sum, bytes| sum + bytes)
    };
    let entries = table.indexes.iter().filter_map(keys).map(|bytes| ENTRY + bytes).sum::<u64>();
    let differs =
        |(field, value): &(usize, Value)| before.get(*field).map_or(value.bytes(), |old| differing(old, value));
    ROW + changes.iter().map(differs).sum::<u64>() + entries
}

/// Returns the bytes of a value without the common prefix and suffix of the old and the new value.
fn differing(before: &Value, after: &Value) -> u64 {
    match (before, after) {
        (Value::Text(before), Value::Text(after)) => between(before.as_bytes(), after.as_bytes()),
        (Value::Bytes(before), Value::Bytes(after)) => between(before, after),
        (_, after) => after.bytes(),
    }
}

fn between(before: &[u8], after: &[u8]) -> u64 {
    let same = |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(one, other)| one == other).count();
    let begin = same(&mut before.iter().zip(after));
    let end = same(&mut before[begin..].iter().rev().zip(after[begin..].iter().rev()));
    (after.len() - begin - end) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_changed_part_of_a_text_counts() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (before, after, bytes) in [
            ("the cat", "the cart", 1),
            ("the cart", "the cat", 0),
            ("aaa", "aaaa", 1),
            ("aaaa", "aa", 0),
            ("old", "new", 3),
            ("", "all", 3),
            ("one and two", "One and Two", 9),
        ] {
            assert_eq!(differing(&text(before), &text(after)), bytes, "{before:?} to {after:?}");
        }
        assert_eq!(differing(&Value::Null, &text("all")), 3);
        assert_eq!(differing(&Value::Integer(1), &Value::Integer(2)), 8);
    }
}
