//! The bytes of a write, by a formula that is the same on every engine.
//!
//! A row counts as its values, its id and its time, and each of its index entries as its keys and the id. For a changed
//! value, the differing part counts: one letter in a long text counts as one letter. Pages, logs and compression of the
//! engine do not count.

use crate::schema::table::{IndexDef, TableDef};
use crate::value::Value;

/// Bytes of a row besides its values: its id, its time and its length.
const ROW: u64 = 32;
/// Bytes of an index entry besides its keys: the id of the row and the length of the entry.
const ENTRY: u64 = 24;

/// Returns the bytes of a row with its index entries, independent of the engine.
pub fn row_bytes(table: &TableDef, values: &[Value]) -> u64 {
    let keys =
        |index: &IndexDef| index.keys.iter().filter_map(|key| values.get(key.field)).map(Value::bytes).sum::<u64>();
    ROW + values.iter().map(Value::bytes).sum::<u64>()
        + table.indexes.iter().map(|index| ENTRY + keys(index)).sum::<u64>()
}

/// Returns the bytes of a change of a row with the values `before`: the differences of the changed fields, and the
/// entries of the indexes with one of them. A field that is missing in `before` counts completely.
pub(super) fn update_bytes(table: &TableDef, before: &[Value], changes: &[(usize, Value)]) -> u64 {
    let keys = |index: &IndexDef| {
        let changed = |field: usize| changes.iter().find(|(place, _)| *place == field).map(|(_, value)| value.bytes());
        index.keys.iter().filter_map(|key| changed(key.field)).reduce(|sum, bytes| sum + bytes)
    };
    let entries = table.indexes.iter().filter_map(keys).map(|bytes| ENTRY + bytes).sum::<u64>();
    let differs =
        |(field, value): &(usize, Value)| before.get(*field).map_or(value.bytes(), |old| differing(old, value));
    ROW + changes.iter().map(differs).sum::<u64>() + entries
}

/// Returns the bytes of the deletion of a row.
pub(super) fn delete_bytes(table: &TableDef) -> u64 {
    ROW + ENTRY * table.indexes.len() as u64
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
