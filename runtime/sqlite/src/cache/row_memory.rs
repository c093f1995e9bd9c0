//! Rows cached by the writer: rows read or written recently, and their changes that are not stored yet.
//!
//! Only one connection writes, so a remembered row equals the row in SQLite, by id or by the keys of a unique index. A
//! change of values that are in no index is not written immediately, but once before the commit, however many mutations
//! of the batch made it. Until then it overlays SQLite's rows. A rollback follows the journal. After a lost
//! transaction, a schema change, or a write of another connection, everything is forgotten.

use std::cell::RefCell;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::known_rows::{KnownRow, KnownRows, Places, RowKey};
use super::newest::Changed;
use super::packed_row::PackedRow;
use crate::sql::{Fields, SqliteRow, unique_index};
use convoke_store::table::{FieldDef, IndexDef};
use convoke_store::{ColumnType, Plan, Row, StoreError, TableDef, Value};

/// Steps of the journal: a mutation with more writes directly to SQLite, within its own time.
const STEPS_MAX: usize = 256;
/// Most rows with unwritten changes per commit, which takes some milliseconds to write.
const WAITING_ROWS_MAX: usize = 2_048;
const WAITING_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// The writer's rows.
pub(crate) struct RowMemory(RefCell<Rows>);

struct Rows {
    kept: KnownRows,
    places: Places,
    unwritten: FxHashMap<RowKey, Unwritten>,
    /// Memory of the unwritten rows.
    waiting_bytes: usize,
    journal: Vec<Undo>,
    /// Changes since the last commit, including rolled-back ones.
    changed: Changed,
    is_writing_through: bool,
}

/// A row with values that SQLite does not know.
struct Unwritten {
    table: &'static TableDef,
    columns: PackedRow,
    fields: Fields,
}

/// The effect of a rollback on a row.
enum Undo {
    /// Forget values that were read after a write.
    Forget(RowKey),
    /// Restore unwritten values that were written in the meantime, or whose row was deleted.
    Restore(RowKey, Unwritten),
    /// Restore the row, and the fields that were unwritten.
    Reset(RowKey, PackedRow, Fields),
}

impl RowMemory {
    /// Creates an empty memory of about `bytes_max` bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self(RefCell::new(Rows {
            kept: KnownRows::new(bytes_max),
            places: Places::default(),
            unwritten: FxHashMap::default(),
            waiting_bytes: 0,
            journal: Vec::new(),
            changed: Changed::default(),
            is_writing_through: false,
        }))
    }

    /// Returns the row with this id, if it is remembered.
    pub(crate) fn get(&self, table: &'static TableDef, id: u128) -> Option<KnownRow> {
        self.0.borrow().row(RowKey::new(table, id)).map(|columns| KnownRow { id, columns })
    }

    /// Returns the only row of a plan with all keys of a unique index, if it is remembered.
    pub(crate) fn only(&self, plan: &Plan) -> Option<KnownRow> {
        let index = unique_index(plan)?;
        let rows = self.0.borrow();
        let id = *rows.kept.ids.get(&rows.places.of(plan.table, index, plan.eq.iter().map(Value::as_ref)))?;
        let row = KnownRow { id, columns: rows.row(RowKey::new(plan.table, id))? };
        row.has_keys(index, &plan.eq).then_some(row)
    }

    /// Returns the current row with its unwritten changes.
    pub(crate) fn unwritten(&self, row: &SqliteRow<'_>) -> Result<Option<KnownRow>, StoreError> {
        let rows = self.0.borrow();
        if rows.unwritten.is_empty() {
            return Ok(None);
        }
        let id = row.id()?;
        let columns = rows.unwritten.get(&RowKey::new(row.table, id)).map(|row| row.columns.clone());
        Ok(columns.map(|columns| KnownRow { id, columns }))
    }

    /// Remembers a row from SQLite; `is_changed` is true after a write that may be rolled back alone. An unreadable row
    /// is not remembered.
    pub(crate) fn remember(&self, row: &SqliteRow<'_>, is_changed: bool) {
        let (Ok(id), Ok(Some(packed))) = (row.id(), PackedRow::read(row)) else { return };
        self.remember_packed(row.table, id, packed, is_changed);
    }

    fn remember_packed(&self, table: &'static TableDef, id: u128, row: PackedRow, is_changed: bool) {
        let rows = &mut *self.0.borrow_mut();
        if is_changed && rows.journal.len() >= STEPS_MAX {
            return;
        }
        let key = RowKey::new(table, id);
        for place in rows.places.of_row(table, &row) {
            rows.kept.ids.insert(place, id);
        }
        if is_changed {
            rows.journal.push(Undo::Forget(key));
        }
        rows.kept.rows.insert(key, row);
    }

    /// Sets values of a row, to be written before the commit. Returns false if the row is not remembered or SQLite must
    /// be written immediately. `changes` are in order, each field once.
    pub(crate) fn set(&self, table: &'static TableDef, id: u128, changes: &[(usize, Value)]) -> bool {
        let key = RowKey::new(table, id);
        let rows = &mut *self.0.borrow_mut();
        let may_wait =
            |(place, value): &(usize, Value)| is_of(&table.fields[*place], value) && !is_indexed(table, *place);
        let has_room = rows.journal.len() < STEPS_MAX
            && rows.unwritten.len() < WAITING_ROWS_MAX
            && rows.waiting_bytes < WAITING_BYTES_MAX;
        if rows.is_writing_through || !has_room || !changes.iter().all(may_wait) {
            return false;
        }
        let Some(former) = rows.row(key) else { return false };
        let Some(columns) = former.with(table, changes) else { return false };
        rows.waiting_bytes += columns.bytes();
        let before = match rows.unwritten.entry(key) {
            Entry::Occupied(row) => {
                let row = row.into_mut();
                let before = row.fields;
                (row.columns, row.fields) = (columns, before.and(Fields::of(changes)));
                rows.waiting_bytes -= former.bytes();
                before
            }
            Entry::Vacant(place) => {
                rows.kept.rows.remove(&key);
                place.insert(Unwritten { table, columns, fields: Fields::of(changes) });
                Fields::default()
            }
        };
        rows.journal.push(Undo::Reset(key, former, before));
        true
    }

    /// Returns the unwritten fields of a row, and the complete row.
    pub(crate) fn waiting(&self, table: &'static TableDef, id: u128) -> Option<(Fields, PackedRow)> {
        let rows = self.0.borrow();
        let row = rows.unwritten.get(&RowKey::new(table, id))?;
        (row.fields != Fields::default()).then(|| (row.fields, row.columns.clone()))
    }

    /// Forgets a row after SQLite has received all unwritten values and another change, or has deleted it.
    pub(crate) fn forget(&self, table: &'static TableDef, id: u128) {
        let key = RowKey::new(table, id);
        let rows = &mut *self.0.borrow_mut();
        rows.kept.rows.remove(&key);
        rows.changed.add(key);
        if let Some(row) = rows.unwritten.remove(&key) {
            rows.waiting_bytes -= row.columns.bytes();
            rows.journal.push(Undo::Restore(key, row));
        }
    }

    /// Returns the mark for a rollback to this point.
    pub(crate) fn mark(&self) -> usize {
        self.0.borrow().journal.len()
    }

    /// Rolls back to a mark.
    pub(crate) fn roll_back(&self, mark: usize) {
        let rows = &mut *self.0.borrow_mut();
        while rows.journal.len() > mark {
            match rows.journal.pop() {
                Some(Undo::Forget(key)) => {
                    rows.kept.rows.remove(&key);
                    // Values set since the mark are reset, and the row still exists here.
                    if let Some(row) = rows.unwritten.remove(&key) {
                        rows.waiting_bytes -= row.columns.bytes();
                    }
                }
                Some(Undo::Restore(key, row)) => {
                    rows.waiting_bytes += row.columns.bytes();
                    if let Some(other) = rows.unwritten.insert(key, row) {
                        rows.waiting_bytes -= other.columns.bytes();
                    }
                }
                Some(Undo::Reset(key, former, fields)) => {
                    if let Some(row) = rows.unwritten.get_mut(&key) {
                        rows.waiting_bytes += former.bytes();
                        rows.waiting_bytes -= row.columns.bytes();
                        (row.columns, row.fields) = (former, fields);
                    }
                }
                None => break,
            }
        }
    }

    /// Keeps all changes so far.
    pub(crate) fn keep(&self) {
        self.0.borrow_mut().journal.clear();
    }

    /// Passes unwritten values row by row to `write`: the fields, and the complete row. They count as written then.
    pub(crate) fn write<E>(
        &self,
        mut write: impl FnMut(&'static TableDef, u128, Fields, &PackedRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let rows = &mut *self.0.borrow_mut();
        for (key, row) in rows.unwritten.drain() {
            if row.fields != Fields::default() {
                rows.changed.add(key);
                write(row.table, key.id(), row.fields, &row.columns)?;
            }
            rows.kept.rows.insert(key, row.columns);
        }
        rows.waiting_bytes = 0;
        Ok(())
    }

    /// Returns the changes since the last call.
    pub(crate) fn take_changed(&self) -> Changed {
        std::mem::take(&mut self.0.borrow_mut().changed)
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        let rows = &mut *self.0.borrow_mut();
        rows.kept.clear();
        rows.unwritten.clear();
        rows.waiting_bytes = 0;
        rows.journal.clear();
    }

    /// Sets if SQLite must receive each value immediately.
    pub(crate) fn write_through(&self, is_so: bool) {
        self.0.borrow_mut().is_writing_through = is_so;
    }
}

impl Rows {
    fn row(&self, key: RowKey) -> Option<PackedRow> {
        if !self.unwritten.is_empty()
            && let Some(row) = self.unwritten.get(&key)
        {
            return Some(row.columns.clone());
        }
        self.kept.rows.get(&key).cloned()
    }
}

/// Returns true if a field accepts a value without SQLite and returns it unchanged.
fn is_of(field: &FieldDef, value: &Value) -> bool {
    match value {
        Value::Null => field.nullable,
        Value::Bool(_) => field.column == ColumnType::Bool,
        Value::Integer(_) => field.column == ColumnType::Integer,
        // SQLite does not store -0.
        Value::Float(number) => field.column == ColumnType::Float && !(*number == 0.0 && number.is_sign_negative()),
        Value::Text(_) => matches!(field.column, ColumnType::Text | ColumnType::Json),
        Value::Bytes(_) => field.column == ColumnType::Bytes,
        Value::Id(_) => field.column == ColumnType::Id,
    }
}

/// Returns true if a field decides if and where a row is in an index.
fn is_indexed(table: &TableDef, place: usize) -> bool {
    let decides = |index: &IndexDef| {
        index.keys.iter().any(|key| key.field == place)
            || index.when.is_some_and(|when| table.fields[place].name == when.field())
    };
    table.fields[place].retired || table.indexes.iter().any(decides)
}

#[cfg(test)]
mod tests {
    use convoke_store::ValueRef;
    use convoke_store::conformance::support::field;

    use super::*;

    static NOTES: TableDef = TableDef {
        name: "notes",
        prefix: "note",
        fields: &[field::<String>("text")],
        indexes: &[],
        file: file!(),
        line: line!(),
    };

    fn remember(memory: &RowMemory, id: u128, text: &str) {
        memory.remember_packed(&NOTES, id, PackedRow::of(1, &[ValueRef::Text(text)]).unwrap(), false);
    }

    fn set(memory: &RowMemory, id: u128, bytes: usize) -> bool {
        memory.set(&NOTES, id, &[(0, Value::Text("x".repeat(bytes)))])
    }

    /// Returns the number of unwritten values if each mutation sets this number, each of another row with this size.
    fn waiting(mutations: u128, sets: u128, bytes: usize) -> usize {
        let memory = RowMemory::new(64 * 1_024 * 1_024);
        for mutation in 0..mutations {
            for id in mutation * sets..(mutation + 1) * sets {
                remember(&memory, id, "");
                set(&memory, id, bytes);
            }
            memory.keep();
        }
        let mut count = 0;
        memory
            .write(|_, _, _, _| {
                count += 1;
                Ok::<(), StoreError>(())
            })
            .unwrap();
        count
    }

    #[test]
    fn pending_writes_are_bounded_per_mutation_in_rows_and_bytes() {
        assert_eq!(waiting(1, 100, 10), 100);
        assert_eq!(waiting(1, 1_000, 10), STEPS_MAX);
        assert_eq!(waiting(30, 100, 10), WAITING_ROWS_MAX);
        assert!(waiting(30, 100, 15_000) < 600);
        assert_eq!(waiting(1, 1, 20_000), 0);
    }

    #[test]
    fn oversized_row_is_written_directly_and_pending_again_after_a_rollback() {
        let memory = RowMemory::new(64 * 1_024 * 1_024);
        remember(&memory, 1, "first");
        assert!(set(&memory, 1, 10));
        memory.keep();
        let taken = memory.0.borrow().waiting_bytes;
        assert!(!set(&memory, 1, 20_000));
        // SQLite then also receives earlier unwritten values.
        assert!(memory.waiting(&NOTES, 1).is_some());
        memory.forget(&NOTES, 1);
        assert!(memory.get(&NOTES, 1).is_none());
        assert_eq!(memory.0.borrow().waiting_bytes, 0);
        memory.roll_back(0);
        assert_eq!(memory.waiting(&NOTES, 1).unwrap().1.value(0), ValueRef::Text(&"x".repeat(10)));
        assert_eq!(memory.0.borrow().waiting_bytes, taken);
    }

    #[test]
    fn pending_bytes_count_each_row_once() {
        let memory = RowMemory::new(64 * 1_024 * 1_024);
        remember(&memory, 1, "");
        for _ in 0..10 {
            let mark = memory.mark();
            assert!(set(&memory, 1, 1_000) && set(&memory, 1, 2_000));
            memory.roll_back(mark);
            assert!(set(&memory, 1, 1_000) && set(&memory, 1, 100));
        }
        let rows = memory.0.borrow();
        assert_eq!(rows.waiting_bytes, rows.unwritten.values().map(|row| row.columns.bytes()).sum::<usize>());
    }

    #[test]
    fn journal_keeps_a_bounded_number_of_values_per_row() {
        let memory = RowMemory::new(64 * 1_024 * 1_024);
        remember(&memory, 1, "first");
        let count = (0..1_000).take_while(|_| set(&memory, 1, 10)).count();
        assert_eq!(count, STEPS_MAX);
        memory.roll_back(0);
        let row = memory.get(&NOTES, 1).unwrap();
        assert_eq!(row.value(0).unwrap(), ValueRef::Text("first"));
    }
}
