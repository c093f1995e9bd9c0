//! What a transaction has written so far, counted in bytes: a figure that is the same on every engine.
//!
//! A row counts as its values, its id and its time, and each of its index entries as the keys in it and the id. Of a value
//! that changes, what differs counts: a letter in a long text is a letter. Pages, logs and what an engine packs tighter are
//! left out. An engine adds every write here when it has done it.

use std::cell::{Cell, RefCell};

use crate::error::StoreError;
use crate::schema::table::{IndexDef, TableDef};
use crate::value::Value;

/// One write that an engine has done.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A new row.
    Inserted {
        /// Its table.
        table: &'static TableDef,
        /// Its id.
        id: u128,
        /// Its values, by place.
        values: &'a [Value],
    },
    /// Other values in a row.
    Updated {
        /// Its table.
        table: &'static TableDef,
        /// Its id.
        id: u128,
        /// Its values so far, by place; the last ones may be missing.
        before: &'a [Value],
        /// The values that changed, by place.
        values: &'a [(usize, Value)],
    },
    /// A row's end.
    Deleted {
        /// Its table.
        table: &'static TableDef,
        /// Its id.
        id: u128,
    },
}

/// The writes of one transaction. An engine adds each one when it has done it, and tells of each savepoint.
#[derive(Debug, Default)]
pub struct Changes {
    bytes: Cell<u64>,
    /// What was written when each of the open savepoints began.
    savepoints: RefCell<Vec<u64>>,
}

impl Changes {
    /// Takes in a write.
    pub fn add(&self, change: Change<'_>) {
        self.bytes.set(self.bytes.get() + change.bytes());
    }

    /// A savepoint was opened.
    pub fn savepoint(&self) {
        self.savepoints.borrow_mut().push(self.bytes.get());
    }

    /// The innermost savepoint is closed, and what was written since stays.
    ///
    /// # Errors
    /// [`StoreError::Engine`] if none is open.
    pub fn release(&self) -> Result<(), StoreError> {
        self.close_savepoint().map(drop)
    }

    /// The innermost savepoint is closed, and what was written since is forgotten.
    ///
    /// # Errors
    /// As [`Changes::release`].
    pub fn rollback(&self) -> Result<(), StoreError> {
        self.bytes.set(self.close_savepoint()?);
        Ok(())
    }

    /// The bytes that were written and not rolled back.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    fn close_savepoint(&self) -> Result<u64, StoreError> {
        let innermost = self.savepoints.borrow_mut().pop();
        innermost.ok_or_else(|| StoreError::Engine("no savepoint is open".to_owned()))
    }
}

/// Beside the values of a row: its id, its time and its length.
const ROW: u64 = 32;
/// Beside the keys of an index entry: the row's id and the entry's length.
const ENTRY: u64 = 24;

impl Change<'_> {
    fn bytes(self) -> u64 {
        match self {
            Change::Inserted { table, values, .. } => row_bytes(table, values),
            Change::Updated { table, before, values, .. } => updated(table, before, values),
            Change::Deleted { table, .. } => ROW + ENTRY * table.indexes.len() as u64,
        }
    }
}

/// Bytes of a row with its index entries, however an engine packs them.
pub fn row_bytes(table: &TableDef, values: &[Value]) -> u64 {
    let keys =
        |index: &IndexDef| index.keys.iter().filter_map(|key| values.get(key.field)).map(Value::bytes).sum::<u64>();
    ROW + values.iter().map(Value::bytes).sum::<u64>()
        + table.indexes.iter().map(|index| ENTRY + keys(index)).sum::<u64>()
}

/// Bytes of a change to a row with the values `before`: what differs in the fields that changed, and the entries of the
/// indexes that have one of them. A field that is not in `before` counts whole.
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

/// Bytes of a value without those that it begins and ends with as the one before it does.
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
    fn of_a_text_that_changes_only_what_differs_counts() {
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
