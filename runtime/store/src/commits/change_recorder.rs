//! Records the writes of a mutation, on any engine.
//!
//! For a watched table, each row is recorded with its old and new positions in the indexes. For any other table, only
//! the name is recorded. The old values are mostly known, because a mutation usually reads a row before it writes it;
//! otherwise the recorder reads them.

use std::cell::{Cell, RefCell};
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::change_set::{ChangeSet, Commit, Mark, RowChange};
use super::log::Commits;
use crate::engine::WriteJob;
use crate::error::StoreError;
use crate::fairness::Flow;
use crate::gate::Access;
use crate::nodes::TurnName;
use crate::query::{Plan, index_key};
use crate::row::Row;
use crate::schema::Schemas;
use crate::schema::table::{IndexDef, TableDef};
use crate::transaction::{Reader, Visit, Writer};
use crate::value::Value;

/// Most rows whose values are remembered during a mutation.
const REMEMBERED_MAX: usize = 64;

type Result<T> = std::result::Result<T, StoreError>;

/// A mutation whose changes are recorded.
pub struct RecordedJob {
    job: Box<dyn WriteJob>,
    commits: Arc<Commits>,
    changes: ChangeSet,
}

impl RecordedJob {
    /// Records the changes of `job`.
    pub fn new(job: Box<dyn WriteJob>, commits: Arc<Commits>) -> Self {
        Self { job, commits, changes: ChangeSet::default() }
    }
}

impl WriteJob for RecordedJob {
    fn run(&mut self, writer: Rc<dyn Writer>) -> std::result::Result<(), Option<StoreError>> {
        self.changes = ChangeSet::default();
        let recorder = Rc::new(ChangeRecorder::new(writer, self.commits.clone()));
        let ran = self.job.run(recorder.clone());
        if ran.is_ok() {
            self.changes = recorder.changes.take();
        }
        ran
    }

    fn take_changes(&mut self) -> ChangeSet {
        std::mem::take(&mut self.changes)
    }

    fn finish(self: Box<Self>, outcome: Result<()>) {
        self.job.finish(outcome);
    }

    fn slow(&self) -> bool {
        self.job.slow()
    }

    fn access(&self) -> Access {
        self.job.access()
    }

    fn flow(&self) -> Flow {
        self.job.flow()
    }

    fn name(&self) -> &str {
        self.job.name()
    }
}

struct ChangeRecorder {
    writer: Rc<dyn Writer>,
    commits: Arc<Commits>,
    changes: RefCell<ChangeSet>,
    /// Current values of the indexed fields of rows that were read or written.
    remembered: RefCell<FxHashMap<(usize, u128), Vec<Value>>>,
    /// Marks of the changes at the start of each open savepoint.
    savepoints: RefCell<Vec<Mark>>,
    /// Own statements that read old values, and their rows, which do not count as reads of the mutation.
    own_statements: Cell<u64>,
    own_rows: Cell<u64>,
    rows_written: Cell<u64>,
}

impl ChangeRecorder {
    fn new(writer: Rc<dyn Writer>, commits: Arc<Commits>) -> Self {
        Self {
            writer,
            commits,
            changes: RefCell::default(),
            remembered: RefCell::default(),
            savepoints: RefCell::default(),
            own_statements: Cell::new(0),
            own_rows: Cell::new(0),
            rows_written: Cell::new(0),
        }
    }

    /// Visits rows, and remembers them if their table is watched.
    fn visiting(
        &self,
        table: &'static TableDef,
        visit: &mut Visit<'_>,
        read: impl FnOnce(&mut Visit<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.commits.is_watched(table.name) {
            return read(visit);
        }
        read(&mut |row| {
            let mut remembered = self.remembered.borrow_mut();
            if remembered.len() < REMEMBERED_MAX
                && let Entry::Vacant(free) = remembered.entry(key(table, row.id()?))
            {
                free.insert(indexed_values(table, row)?);
            }
            drop(remembered);
            visit(row)
        })
    }

    fn count_written(&self) {
        self.rows_written.set(self.rows_written.get() + 1);
    }

    /// Returns the values of a row's indexed fields and stops remembering it, because it is about to be written.
    fn take_stored(&self, table: &'static TableDef, id: u128) -> Result<Option<Vec<Value>>> {
        if let Some(values) = self.remembered.borrow_mut().remove(&key(table, id)) {
            return Ok(Some(values));
        }
        let mut found = None;
        self.writer.get(table, id, &mut |row: &dyn Row| {
            found = Some(indexed_values(table, row)?);
            Ok(ControlFlow::Break(()))
        })?;
        self.own_statements.set(self.own_statements.get() + 1);
        self.own_rows.set(self.own_rows.get() + u64::from(found.is_some()));
        Ok(found)
    }

    /// Stops remembering a row.
    fn forget(&self, table: &'static TableDef, id: u128) {
        self.remembered.borrow_mut().remove(&key(table, id));
    }

    fn note(&self, table: &'static TableDef, id: u128, before: Option<&[Value]>, after: Option<&[Value]>) {
        let mut places = Vec::with_capacity(table.indexes.len());
        for (number, index) in table.indexes.iter().enumerate() {
            let of = |values: &[Value]| index_key::of_row(table, index, |field| values[field].as_ref(), id);
            let stays = match (before, after) {
                (Some(before), Some(after)) => fields(table, index).all(|field| before[field] == after[field]),
                _ => false,
            };
            if !stays {
                places.extend(before.and_then(of).map(|place| (number, place.into())));
            }
            places.extend(after.and_then(of).map(|place| (number, place.into())));
        }
        self.changes.borrow_mut().add_row(RowChange { table: table.name, id, places });
    }
}

fn key(table: &'static TableDef, id: u128) -> (usize, u128) {
    (std::ptr::from_ref(table).addr(), id)
}

/// Returns the values of the indexed fields, and null for all others.
fn indexed_values(table: &'static TableDef, row: &dyn Row) -> Result<Vec<Value>> {
    let mut values = vec![Value::Null; table.fields.len()];
    for field in table.indexes.iter().flat_map(|index| fields(table, index)) {
        if values[field] == Value::Null {
            values[field] = row.value(field)?.to_value();
        }
    }
    Ok(values)
}

/// Returns the fields that decide if and where a row is in an index.
fn fields(table: &'static TableDef, index: &'static IndexDef) -> impl Iterator<Item = usize> {
    let deciding = index.when.and_then(|when| table.fields.iter().position(|field| field.name == when.field()));
    index.keys.iter().map(|key| key.field).chain(deciding)
}

impl Reader for ChangeRecorder {
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
        let mut found = false;
        self.visiting(table, visit, |visit| {
            found = self.writer.get(table, id, visit)?;
            Ok(())
        })?;
        Ok(found)
    }

    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
        if plan.keys_only {
            return self.writer.select(plan, visit);
        }
        self.visiting(plan.table, visit, |visit| self.writer.select(plan, visit))
    }

    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<()> {
        self.visiting(table, visit, |visit| self.writer.get_many(table, ids, visit))
    }

    fn count(&self, plan: &Plan) -> Result<u64> {
        self.writer.count(plan)
    }

    fn bytes(&self, table: &'static TableDef) -> Result<u64> {
        self.writer.bytes(table)
    }

    fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas> {
        self.writer.schemas(tables)
    }

    fn statements(&self) -> u64 {
        self.writer.statements() - self.own_statements.get()
    }

    fn rows_visited(&self) -> u64 {
        self.writer.rows_visited() - self.own_rows.get()
    }

    fn keys_visited(&self) -> u64 {
        self.writer.keys_visited()
    }

    fn has_turn(&self, turn: &TurnName, number: i64) -> Result<bool> {
        self.writer.has_turn(turn, number)
    }

    fn pin(&self) -> Result<Commit> {
        self.writer.pin()
    }
}

impl Writer for ChangeRecorder {
    fn insert(&self, table: &'static TableDef, id: u128, creation_time: i64, values: &[Value]) -> Result<()> {
        self.writer.insert(table, id, creation_time, values)?;
        self.count_written();
        match self.commits.is_watched(table.name) {
            true => self.note(table, id, None, Some(values)),
            false => self.changes.borrow_mut().add_table(table.name),
        }
        Ok(())
    }

    fn update(&self, table: &'static TableDef, id: u128, before: &[Value], changes: &[(usize, Value)]) -> Result<bool> {
        if !self.commits.is_watched(table.name) {
            let found = self.writer.update(table, id, before, changes)?;
            self.forget(table, id);
            if found && !changes.is_empty() {
                self.count_written();
                self.changes.borrow_mut().add_table(table.name);
            }
            return Ok(found);
        }
        // The old values from the caller may be out of date.
        let stored = self.take_stored(table, id)?;
        let found = self.writer.update(table, id, before, changes)?;
        if let Some(before) = stored.filter(|_| found && !changes.is_empty()) {
            self.count_written();
            let mut after = before.clone();
            // If a field has two values, the first one counts.
            changes.iter().rev().for_each(|(place, value)| after[*place] = value.clone());
            self.note(table, id, Some(&before), Some(&after));
            self.remembered.borrow_mut().insert(key(table, id), after);
        }
        Ok(found)
    }

    fn delete(&self, table: &'static TableDef, id: u128) -> Result<bool> {
        if !self.commits.is_watched(table.name) {
            let found = self.writer.delete(table, id)?;
            self.forget(table, id);
            if found {
                self.count_written();
                self.changes.borrow_mut().add_table(table.name);
            }
            return Ok(found);
        }
        let before = self.take_stored(table, id)?;
        let found = self.writer.delete(table, id)?;
        if found {
            self.count_written();
            self.note(table, id, before.as_deref(), None);
        }
        Ok(found)
    }

    fn savepoint(&self) -> Result<()> {
        self.writer.savepoint()?;
        self.savepoints.borrow_mut().push(self.changes.borrow().mark());
        Ok(())
    }

    fn release(&self) -> Result<()> {
        self.writer.release()?;
        self.savepoints.borrow_mut().pop();
        Ok(())
    }

    fn rollback(&self) -> Result<()> {
        self.writer.rollback()?;
        self.remembered.borrow_mut().clear();
        if let Some(mark) = self.savepoints.borrow_mut().pop() {
            self.changes.borrow_mut().back_to(mark);
        }
        Ok(())
    }

    fn bytes_written(&self) -> u64 {
        self.writer.bytes_written()
    }

    fn rows_written(&self) -> u64 {
        self.rows_written.get()
    }
}
