//! One mutation: its reads over pending rows, and its writes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::base::Base;
use super::batch::{Batch, PENDING_BYTES_MAX};
use super::merge::Merge;
use super::pending::{Matches, PendingRow, deciding_fields};
use super::row_bytes::{delete_bytes, row_bytes, update_bytes};
use crate::commits::Commit;
use crate::error::StoreError;
use crate::fields::Fields;
use crate::file_fields::{Reference, StoredFile, file_places, require_fit, with_references};
use crate::nodes::TurnName;
use crate::packed_row::PackedRow;
use crate::query::{Plan, index_key};
use crate::reader::{Reader, Visit};
use crate::row::{MemoryRow, Row};
use crate::schema::Schemas;
use crate::schema::table::{IndexDef, Table as _, TableDef};
use crate::value::{ColumnType, Value, ValueRef};

/// Most rows of the database that a mutation keeps in memory after it has read them, because it often writes them next.
const KNOWN_MAX: usize = 256;
/// Most bytes of these rows. Other rows are read again.
const KNOWN_BYTES_MAX: usize = 4 * 1_024 * 1_024;

type Result<T> = std::result::Result<T, StoreError>;

/// How a mutation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In a batch. Its writes stay pending until the commit.
    Shared,
    /// Alone, as the only mutation of its batch and of the engine's transaction. Pending rows that exceed the limit are
    /// applied before the commit, and savepoints are those of the engine. If the mutation is not kept, the engine rolls
    /// back its transaction.
    Alone,
}

/// Reason why a mutation cannot go on, besides those of its [`Base`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its pending rows exceed the limit. It must run again in [`Mode::Alone`].
    Outgrown,
    /// The engine rejected a write because of this unique index, which the mutation could not foresee.
    Violated {
        /// The table.
        table: &'static str,
        /// The index.
        index: &'static str,
    },
}

impl End {
    /// Returns the error of further operations, and of the mutation.
    pub fn error(self) -> StoreError {
        match self {
            End::Outgrown => StoreError::TransactionLost("its writes exceed the limit of a batch".to_owned()),
            End::Violated { table, index } => StoreError::UniqueViolation { table, index },
        }
    }
}

/// The rows that are searched for the unique keys of a written row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Pending rows.
    Pending,
    /// Pending rows and those of the database.
    PendingAndStored,
}

/// The transaction of one mutation.
pub struct Transaction {
    base: Rc<dyn Base>,
    batch: Batch,
    mode: Mode,
    /// Position in the journal, and memory of the batch, at the start of the mutation.
    start: usize,
    start_bytes: usize,
    savepoints: RefCell<Vec<Savepoint>>,
    /// Rows of the base that the mutation has read.
    known: RefCell<FxHashMap<(&'static str, u128), PackedRow>>,
    known_bytes: Cell<usize>,
    /// Keys of unique indexes that no row of the base has, by the names of the table and the index.
    absent: RefCell<FxHashSet<(&'static str, &'static str, Vec<u8>)>>,
    bytes_written: Cell<u64>,
    rows_written: Cell<u64>,
    statements: Cell<u64>,
    rows_visited: Cell<u64>,
    keys_visited: Cell<u64>,
    end: Cell<Option<End>>,
}

/// An open savepoint.
struct Savepoint {
    /// Position in the journal.
    mark: usize,
    bytes_written: u64,
}

impl Transaction {
    /// Creates the transaction of a mutation on `base`. The mutations before it in the batch are kept or undone.
    pub fn begin(batch: &Batch, base: Rc<dyn Base>, mode: Mode) -> Self {
        let start = batch.pending().mark();
        let start_bytes = batch.pending().bytes();
        Self {
            base,
            batch: batch.clone(),
            mode,
            start,
            start_bytes,
            savepoints: RefCell::default(),
            known: RefCell::default(),
            known_bytes: Cell::new(0),
            absent: RefCell::default(),
            bytes_written: Cell::new(0),
            rows_written: Cell::new(0),
            statements: Cell::new(0),
            rows_visited: Cell::new(0),
            keys_visited: Cell::new(0),
            end: Cell::new(None),
        }
    }

    /// Returns the reason why the mutation could not go on, if there is one.
    pub fn end(&self) -> Option<End> {
        self.end.get()
    }

    /// Keeps the writes in the batch.
    pub fn keep(&self) {
        self.batch.pending().keep();
    }

    /// Undoes the writes in the batch. Applied writes of [`Mode::Alone`] remain in the engine's transaction.
    pub fn undo(&self) {
        self.batch.pending().undo_to(self.start);
    }

    /// Called before each operation: fails if the mutation cannot go on.
    fn alive(&self) -> Result<()> {
        self.base.alive()?;
        self.end.get().map_or(Ok(()), |end| Err(end.error()))
    }

    fn ended(&self, end: End) -> StoreError {
        self.end.set(Some(end));
        end.error()
    }

    fn count_statements(&self, count: u64) {
        self.statements.set(self.statements.get() + count);
    }

    /// Returns the counter of the rows of a plan.
    fn visited(&self, keys_only: bool) -> &Cell<u64> {
        if keys_only { &self.keys_visited } else { &self.rows_visited }
    }

    /// Remembers a row of the base that is visited, and returns it, which is cheaper to read. None: it cannot be read, or
    /// the limits are reached.
    fn remember(&self, table: &'static TableDef, id: u128, row: &dyn Row) -> Option<MemoryRow> {
        let mut known = self.known.borrow_mut();
        if known.len() >= KNOWN_MAX {
            return None;
        }
        let columns = match known.entry((table.name, id)) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(free) => {
                let columns = row.packed(table.fields.len(), KNOWN_BYTES_MAX - self.known_bytes.get()).ok()??;
                self.known_bytes.set(self.known_bytes.get() + columns.bytes());
                free.insert(columns).clone()
            }
        };
        Some(MemoryRow { id, columns })
    }

    /// Visits a row of the base, and remembers it.
    fn visit_base(
        &self,
        table: &'static TableDef,
        id: u128,
        row: &dyn Row,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>> {
        self.rows_visited.set(self.rows_visited.get() + 1);
        match self.remember(table, id, row) {
            Some(row) => visit(&row),
            None => visit(row),
        }
    }

    /// Remembers that no row of the base has the keys of a plan, which has all keys of a unique index.
    fn remember_absence(&self, plan: &Plan) {
        let mut absent = self.absent.borrow_mut();
        if absent.len() < KNOWN_MAX
            && let Some(index) = plan.unique_index()
            && let Some(keys) = index_key::of_fixed(plan, index)
        {
            absent.insert((plan.table.name, index.name, keys));
        }
    }

    /// Forgets all rows of the base, because the base has changed.
    fn forget(&self) {
        self.known.borrow_mut().clear();
        self.known_bytes.set(0);
        self.absent.borrow_mut().clear();
    }

    fn base_row(&self, table: &'static TableDef, id: u128) -> Result<Option<PackedRow>> {
        if let Some(row) = self.known.borrow().get(&(table.name, id)) {
            return Ok(Some(row.clone()));
        }
        let mut found = None;
        self.base.get(table, id, &mut |row| {
            found = Some(row.packed(table.fields.len(), PackedRow::BYTES_MAX)?.ok_or_else(too_large)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    fn pending_row(&self, table: &TableDef, id: u128) -> Option<PendingRow> {
        self.batch.pending().get(table, id).cloned()
    }

    /// Returns a row before a write of it. None: there is no such row.
    fn existing(&self, table: &'static TableDef, id: u128) -> Result<Option<PendingRow>> {
        match self.pending_row(table, id) {
            Some(row) => Ok(Some(row).filter(|row| row.now.is_some())),
            None => Ok(self.base_row(table, id)?.map(PendingRow::unchanged)),
        }
    }

    /// Fails if another row has the same keys in one of these unique indexes.
    fn require_unique(
        &self,
        table: &'static TableDef,
        (id, row): (u128, &PackedRow),
        search: Search,
        is_concerned: impl Fn(&'static IndexDef) -> bool,
    ) -> Result<()> {
        for (number, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.unique && is_concerned(index))
        {
            let Some(keys) = index_key::of_unique_row(table, index, |field| row.value(field)) else { continue };
            let violation = || StoreError::UniqueViolation { table: table.name, index: index.name };
            if self.batch.pending().has_other(table, number, &keys, id) {
                return Err(violation());
            }
            if search == Search::Pending || self.batch.pending().has_left(table, number, &keys) {
                continue;
            }
            let key = (table.name, index.name, keys);
            if self.absent.borrow().contains(&key) {
                continue;
            }
            let mut plan = Plan::new(table, Some(index));
            plan.eq = index.keys.iter().map(|key| row.value(key.field).to_value()).collect();
            plan.limit = Some(1);
            // A pending row has the keys that were compared above.
            if let Some(holder) = self.base.holder(&plan, id)?
                && self.batch.pending().get(table, holder).is_none()
            {
                return Err(violation());
            }
        }
        Ok(())
    }

    /// Fails if the values alone exceed the limit of a batch, so that they are not copied twice.
    fn require_room(&self, bytes: u64) -> Result<()> {
        let is_outgrown = self.mode == Mode::Shared && bytes > PENDING_BYTES_MAX as u64;
        if is_outgrown { Err(self.ended(End::Outgrown)) } else { Ok(()) }
    }

    /// Adds a checked write.
    fn put(&self, table: &'static TableDef, id: u128, row: PendingRow, bytes_written: u64) -> Result<()> {
        let mut pending = self.batch.pending();
        pending.put(table, id, row);
        let bytes = pending.bytes() - self.start_bytes;
        drop(pending);
        self.bytes_written.set(self.bytes_written.get() + bytes_written);
        self.rows_written.set(self.rows_written.get() + 1);
        match self.mode {
            _ if bytes <= PENDING_BYTES_MAX => Ok(()),
            Mode::Shared => Err(self.ended(End::Outgrown)),
            Mode::Alone => self.apply(),
        }
    }

    /// Counts the references of a changed row to contents of files.
    fn count_references(
        &self,
        table: &'static TableDef,
        before: Option<&PackedRow>,
        after: Option<&PackedRow>,
    ) -> Result<()> {
        for (place, rule) in file_places(table) {
            let of = |row: Option<&PackedRow>| match row?.value(place) {
                ValueRef::Id(content) => Some(content),
                _ => None,
            };
            let (before, after) = (of(before), of(after));
            if before == after {
                continue;
            }
            if let Some(content) = after {
                let stored = self.existing(StoredFile::DEF, content)?.and_then(|row| row.now);
                require_fit(table, place, rule, stored.as_ref())?;
                self.count_reference(content, Reference::Added)?;
            }
            if let Some(content) = before {
                self.count_reference(content, Reference::Removed)?;
            }
        }
        Ok(())
    }

    /// Changes the number of references of a content. A content that an operator has deleted has no number.
    fn count_reference(&self, content: u128, change: Reference) -> Result<()> {
        let Some(stored) = self.existing(StoredFile::DEF, content)?.and_then(|row| row.now) else { return Ok(()) };
        let (before, mut changes) = with_references(&stored, change);
        changes.sort_by_key(|(place, _)| *place);
        self.update(StoredFile::DEF, content, &before, &changes).map(drop)
    }

    /// Applies the pending rows. Only a mutation that runs alone does it before its commit.
    fn apply(&self) -> Result<()> {
        let writes = self.batch.writes();
        if !writes.is_empty() {
            self.base.apply(&writes).map_err(|error| match error {
                StoreError::UniqueViolation { table, index } => self.ended(End::Violated { table, index }),
                error => error,
            })?;
        }
        self.batch.set_applied();
        self.forget();
        Ok(())
    }

    fn close_savepoint(&self) -> Result<Savepoint> {
        let innermost = self.savepoints.borrow_mut().pop();
        innermost.ok_or_else(|| StoreError::Engine("no savepoint is open".to_owned()))
    }
}

/// Writes and savepoints.
impl Transaction {
    /// Inserts a row.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`]: a row has this id (the index is `_id`) or the same keys in a unique index. The
    /// mutation may continue. Errors of [`TableDef::require_storable`]; failures of the store.
    pub fn insert(&self, table: &'static TableDef, id: u128, creation_time: i64, values: &[Value]) -> Result<()> {
        self.insert_checked(table, (id, creation_time), values, Search::PendingAndStored)
    }

    /// Inserts a row whose unique keys no row of the database has, as the caller knows. Only the pending rows are
    /// searched for them. If a row of the database has them, its engine rejects this row.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn insert_known_unique(
        &self,
        table: &'static TableDef,
        id: u128,
        creation_time: i64,
        values: &[Value],
    ) -> Result<()> {
        self.insert_checked(table, (id, creation_time), values, Search::Pending)
    }

    fn insert_checked(
        &self,
        table: &'static TableDef,
        (id, creation_time): (u128, i64),
        values: &[Value],
        search: Search,
    ) -> Result<()> {
        self.alive()?;
        self.count_statements(1);
        table.require_storable(values)?;
        require_fitting(table, values.iter().enumerate())?;
        self.require_room(values.iter().map(Value::bytes).sum())?;
        let former = self.pending_row(table, id);
        let exists = match &former {
            Some(row) => row.now.is_some(),
            None => !self.base.is_free(table, id) && self.base_row(table, id)?.is_some(),
        };
        if exists {
            return Err(StoreError::UniqueViolation { table: table.name, index: "_id" });
        }
        let value = |place: usize| match values.get(place) {
            Some(value) if !table.fields[place].retired => Ok(value.as_ref()),
            Some(_) | None => Ok(ValueRef::Null),
        };
        let row = PackedRow::pack((creation_time, None), table.fields.len(), PackedRow::BYTES_MAX, value)?;
        let row = row.ok_or_else(too_large)?;
        self.require_unique(table, (id, &row), search, |_| true)?;
        let base = former.and_then(|row| row.base);
        let now = row.clone();
        let row = PendingRow { is_replaced: base.is_some(), base, now: Some(row), fields: Fields::default() };
        self.put(table, id, row, row_bytes(table, values))?;
        self.count_references(table, None, Some(&now))
    }

    /// Writes the changed fields of a row, by position. Returns true if the row exists. `before` has the old values and
    /// serves to count the written bytes; missing values count as changed. If a field has two values, the first counts.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn update(
        &self,
        table: &'static TableDef,
        id: u128,
        before: &[Value],
        changes: &[(usize, Value)],
    ) -> Result<bool> {
        let is_in_order = changes.is_sorted_by(|(one, _), (next, _)| one < next);
        if !is_in_order || changes.iter().any(|(place, _)| table.fields[*place].retired) {
            let mut sorted = changes.to_vec();
            sorted.retain(|(place, _)| !table.fields[*place].retired);
            sorted.sort_by_key(|(place, _)| *place);
            sorted.dedup_by(|next, one| next.0 == one.0);
            return self.update(table, id, before, &sorted);
        }
        if changes.is_empty() {
            return self.get(table, id, &mut |_| Ok(ControlFlow::Break(())));
        }
        self.alive()?;
        self.count_statements(1);
        table.require_storable_changes(before, changes)?;
        require_fitting(table, changes.iter().map(|(place, value)| (*place, value)))?;
        self.require_room(changes.iter().map(|(_, value)| value.bytes()).sum())?;
        let Some(former) = self.existing(table, id)? else { return Ok(false) };
        let row = former.now.as_ref().and_then(|row| row.with(table.fields.len(), changes)).ok_or_else(too_large)?;
        let changed = Fields::of(changes);
        let search = Search::PendingAndStored;
        self.require_unique(table, (id, &row), search, |index| {
            deciding_fields(table, index).any(|field| changed.has(field))
        })?;
        let (old, now) = (former.now.clone(), row.clone());
        let row = PendingRow { now: Some(row), fields: former.fields.and(changed), ..former };
        self.put(table, id, row, update_bytes(table, before, changes))?;
        self.count_references(table, old.as_ref(), Some(&now))?;
        Ok(true)
    }

    /// Deletes a row. Returns true if it existed.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn delete(&self, table: &'static TableDef, id: u128) -> Result<bool> {
        self.alive()?;
        self.count_statements(1);
        let Some(former) = self.existing(table, id)? else { return Ok(false) };
        let row = PendingRow { base: former.base, ..PendingRow::default() };
        self.put(table, id, row, delete_bytes(table))?;
        self.count_references(table, former.now.as_ref(), None)?;
        Ok(true)
    }

    /// Opens a savepoint. Savepoints form a stack.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn savepoint(&self) -> Result<()> {
        self.alive()?;
        self.count_statements(1);
        if self.mode == Mode::Alone {
            self.apply()?;
            self.base.savepoint()?;
        }
        let savepoint = Savepoint { mark: self.batch.pending().mark(), bytes_written: self.bytes_written.get() };
        self.savepoints.borrow_mut().push(savepoint);
        Ok(())
    }

    /// Closes the innermost savepoint and keeps its writes.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: no savepoint is open; failures of the store.
    pub fn release(&self) -> Result<()> {
        self.alive()?;
        self.close_savepoint()?;
        self.count_statements(1);
        if self.mode == Mode::Alone {
            self.apply()?;
            self.base.release()?;
        }
        Ok(())
    }

    /// Closes the innermost savepoint and undoes its writes.
    ///
    /// # Errors
    /// As [`Transaction::release`].
    pub fn rollback(&self) -> Result<()> {
        self.alive()?;
        let savepoint = self.close_savepoint()?;
        self.count_statements(2);
        self.base.verify()?;
        self.bytes_written.set(savepoint.bytes_written);
        match self.mode {
            Mode::Shared => self.batch.pending().undo_to(savepoint.mark),
            Mode::Alone => {
                self.batch.pending().clear();
                self.forget();
                self.base.rollback()?;
            }
        }
        Ok(())
    }

    /// Returns the bytes written so far without undone writes: each row with its index entries, or the differences of a
    /// changed row. The engine's storage format does not matter.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written.get()
    }

    /// Returns the number of rows inserted, updated or deleted so far, including undone writes.
    pub fn rows_written(&self) -> u64 {
        self.rows_written.get()
    }
}

impl Reader for Transaction {
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
        self.alive()?;
        self.count_statements(1);
        let count = || self.rows_visited.set(self.rows_visited.get() + 1);
        if let Some(row) = self.pending_row(table, id) {
            let Some(columns) = row.now else { return Ok(false) };
            count();
            return visit(&MemoryRow { id, columns }).map(|_| true);
        }
        let known = self.known.borrow().get(&(table.name, id)).cloned();
        if let Some(columns) = known {
            count();
            return visit(&MemoryRow { id, columns }).map(|_| true);
        }
        self.base.get(table, id, &mut |row| self.visit_base(table, id, row, visit))
    }

    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
        self.alive()?;
        if plan.is_empty()? {
            return Ok(());
        }
        self.count_statements(1);
        let visited = self.visited(plan.keys_only);
        let remembers = !plan.keys_only && plan.limit.is_some_and(|limit| limit <= KNOWN_MAX as u64);
        let Matches { rows, hidden } = self.batch.pending().matches(plan)?;
        let mut merged = Merge::new(plan, rows, visited, visit);
        if merged.is_complete() {
            return merged.rest();
        }
        let (mut flow, mut is_absent) = (ControlFlow::Continue(()), true);
        let mut visit_base = |row: &dyn Row| {
            is_absent = false;
            let id = row.id()?;
            if hidden > 0 && self.batch.pending().get(plan.table, id).is_some() {
                return Ok(ControlFlow::Continue(()));
            }
            let known = if remembers { self.remember(plan.table, id, row) } else { None };
            flow = merged.visit_behind_pending(known.as_ref().map_or(row, |known| known))?;
            Ok(flow)
        };
        // A plan with all keys of a unique index has one row, so no other row is behind a hidden one.
        if hidden == 0 || plan.unique_index().is_some() {
            self.base.select(plan, &mut visit_base)?;
        } else {
            let limit = plan.limit.map(|limit| limit.saturating_add(hidden));
            self.base.select(&Plan { limit, ..plan.clone() }, &mut visit_base)?;
        }
        if is_absent {
            self.remember_absence(plan);
        }
        if flow.is_break() { Ok(()) } else { merged.rest() }
    }

    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<()> {
        self.alive()?;
        self.count_statements(1);
        let count = || self.rows_visited.set(self.rows_visited.get() + 1);
        let is_pending = |id: &u128| self.batch.pending().get(table, *id).is_some();
        let (pending, others): (Vec<u128>, Vec<u128>) = ids.iter().partition(|id| is_pending(id));
        for id in pending.into_iter().collect::<BTreeSet<_>>() {
            let Some(columns) = self.pending_row(table, id).and_then(|row| row.now) else { continue };
            count();
            if visit(&MemoryRow { id, columns })?.is_break() {
                return Ok(());
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        self.base.get_many(table, &others, &mut |row| self.visit_base(table, row.id()?, row, visit))
    }

    fn count(&self, plan: &Plan) -> Result<u64> {
        self.alive()?;
        if plan.is_empty()? {
            return Ok(0);
        }
        self.count_statements(1);
        if self.batch.pending().is_untouched(plan.table) {
            return self.base.count(plan);
        }
        let (now, stored) = self.batch.pending().counts(plan)?;
        let of_base = Plan { limit: plan.limit.map(|limit| limit.saturating_add(stored)), ..plan.clone() };
        let count = self.base.count(&of_base)?.saturating_sub(stored) + now;
        Ok(plan.limit.map_or(count, |limit| count.min(limit)))
    }

    fn estimated_rows(&self, table: &'static TableDef) -> Result<Option<u64>> {
        self.alive()?;
        self.base.estimated_rows(table)
    }

    fn bytes(&self, table: &'static TableDef) -> Result<u64> {
        self.alive()?;
        self.base.bytes(table)
    }

    fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas> {
        self.alive()?;
        self.base.schemas(tables)
    }

    fn statements(&self) -> u64 {
        self.statements.get()
    }

    fn rows_visited(&self) -> u64 {
        self.rows_visited.get()
    }

    fn keys_visited(&self) -> u64 {
        self.keys_visited.get()
    }

    fn has_turn(&self, turn: &TurnName, number: i64) -> Result<bool> {
        self.alive()?;
        self.base.has_turn(turn, number)
    }

    fn pin(&self) -> Result<Commit> {
        self.alive()?;
        Err(StoreError::Engine("a transaction that writes shows no commit".to_owned()))
    }
}

/// Fails if a value is not of the type of its column: such a value has no position in an index.
fn require_fitting<'a>(table: &TableDef, values: impl Iterator<Item = (usize, &'a Value)>) -> Result<()> {
    for (place, value) in values {
        let field = &table.fields[place];
        let is_fitting = match value {
            Value::Null => true,
            Value::Bool(_) => field.column == ColumnType::Bool,
            Value::Integer(_) => field.column == ColumnType::Integer,
            Value::Float(_) => field.column == ColumnType::Float,
            Value::Text(_) => matches!(field.column, ColumnType::Text | ColumnType::Json),
            Value::Bytes(_) => field.column == ColumnType::Bytes,
            Value::Id(_) => field.column == ColumnType::Id,
        };
        if !is_fitting {
            let reason = format!("{}.{} takes {:?}, not {value:?}", table.name, field.name, field.column);
            return Err(StoreError::Engine(reason));
        }
    }
    Ok(())
}

fn too_large() -> StoreError {
    StoreError::Engine("a row has at most 4 GiB".to_owned())
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::commits::Commits;
    use crate::conformance::support::{Account, clock};
    use crate::overlay::RowWrite;

    const TABLE: &TableDef = Account::DEF;

    /// A database with the account `a` under the id 1, which counts its reads.
    #[derive(Default)]
    struct OneRow {
        reads: Cell<u32>,
        applied: RefCell<Vec<RowWrite>>,
        is_rejecting: bool,
    }

    impl OneRow {
        fn visit(&self, is_found: bool, visit: &mut Visit<'_>) -> Result<bool> {
            self.reads.set(self.reads.get() + 1);
            let value = |place| Ok([ValueRef::Text("a"), ValueRef::Integer(10)][place]);
            let columns = PackedRow::pack((1, None), 2, usize::MAX, value)?.ok_or_else(too_large)?;
            if is_found { visit(&MemoryRow { id: 1, columns }).map(|_| true) } else { Ok(false) }
        }
    }

    impl Reader for OneRow {
        fn get(&self, _: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
            self.visit(id == 1, visit)
        }

        fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
            self.visit(plan.eq == [Value::Text("a".to_owned())], visit).map(drop)
        }

        fn get_many(&self, _: &'static TableDef, _: &[u128], _: &mut Visit<'_>) -> Result<()> {
            unreachable!("no test reads by several ids")
        }

        fn count(&self, _: &Plan) -> Result<u64> {
            unreachable!("no test counts")
        }

        fn bytes(&self, _: &'static TableDef) -> Result<u64> {
            Ok(0)
        }

        fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas> {
            unreachable!("no test reads the schema of {tables:?}")
        }

        fn statements(&self) -> u64 {
            0
        }

        fn rows_visited(&self) -> u64 {
            0
        }

        fn keys_visited(&self) -> u64 {
            0
        }

        fn pin(&self) -> Result<Commit> {
            unreachable!("a mutation pins no snapshot")
        }
    }

    impl Base for OneRow {
        fn alive(&self) -> Result<()> {
            Ok(())
        }

        fn is_free(&self, _: &'static TableDef, id: u128) -> bool {
            id > 1
        }

        fn holder(&self, plan: &Plan, id: u128) -> Result<Option<u128>> {
            let mut holder = None;
            self.select(plan, &mut |row| {
                holder = Some(row.id()?).filter(|holder| *holder != id);
                Ok(ControlFlow::Break(()))
            })?;
            Ok(holder)
        }

        fn apply(&self, writes: &[RowWrite]) -> Result<()> {
            self.applied.borrow_mut().extend_from_slice(writes);
            if self.is_rejecting {
                return Err(StoreError::UniqueViolation { table: TABLE.name, index: "another" });
            }
            Ok(())
        }

        fn savepoint(&self) -> Result<()> {
            Ok(())
        }

        fn release(&self) -> Result<()> {
            Ok(())
        }

        fn rollback(&self) -> Result<()> {
            Ok(())
        }
    }

    fn batch() -> Batch {
        Batch::new(Arc::new(Commits::new(clock(), &[TABLE])))
    }

    fn account(owner: &str, balance: i64) -> [Value; 2] {
        [Value::Text(owner.to_owned()), Value::Integer(balance)]
    }

    fn by_owner(owner: &str) -> Plan {
        let mut plan = Plan::new(TABLE, Some(&TABLE.indexes[0]));
        plan.eq = vec![Value::Text(owner.to_owned())];
        plan
    }

    #[test]
    fn unique_keys_are_read_once() {
        let base = Rc::new(OneRow::default());
        let mutation = Transaction::begin(&batch(), base.clone(), Mode::Shared);
        mutation.select(&by_owner("b"), &mut |_| unreachable!("there is no such row")).unwrap();
        mutation.insert(TABLE, 2, 1, &account("b", 1)).unwrap();
        assert_eq!(base.reads.get(), 1, "the insert knows that the keys are free");
        mutation.insert(TABLE, 3, 1, &account("c", 1)).unwrap();
        assert_eq!(base.reads.get(), 2, "one read of by_owner; the row is not in by_hundred");
        let taken = mutation.insert(TABLE, 4, 1, &account("a", 1));
        assert!(matches!(taken, Err(StoreError::UniqueViolation { index: "by_owner", .. })));
    }

    #[test]
    fn keys_that_are_known_as_unique_are_compared_with_pending_rows_only() {
        let (base, batch) = (Rc::new(OneRow::default()), batch());
        let mutation = Transaction::begin(&batch, base.clone(), Mode::Shared);
        mutation.insert_known_unique(TABLE, 2, 1, &account("b", 1)).unwrap();
        let taken = mutation.insert_known_unique(TABLE, 3, 1, &account("b", 1));
        assert!(matches!(taken, Err(StoreError::UniqueViolation { index: "by_owner", .. })));
        // The index of the engine rejects this row.
        mutation.insert_known_unique(TABLE, 4, 1, &account("a", 1)).unwrap();
        assert_eq!((base.reads.get(), batch.writes().len()), (0, 2));
    }

    #[test]
    fn row_that_was_read_is_written_without_another_read() {
        let (base, batch) = (Rc::new(OneRow::default()), batch());
        let mutation = Transaction::begin(&batch, base.clone(), Mode::Shared);
        assert!(mutation.get(TABLE, 1, &mut |_| Ok(ControlFlow::Break(()))).unwrap());
        for balance in [11, 12] {
            assert!(mutation.update(TABLE, 1, &[], &[(1, Value::Integer(balance))]).unwrap());
        }
        assert_eq!((base.reads.get(), mutation.rows_written(), batch.writes().len()), (1, 2, 1));
        mutation.undo();
        assert!(batch.writes().is_empty() && batch.changes().is_empty());
    }

    #[test]
    fn mutation_with_too_many_pending_bytes_ends() {
        let (base, batch) = (Rc::new(OneRow::default()), batch());
        let mutation = Transaction::begin(&batch, base.clone(), Mode::Shared);
        mutation.insert(TABLE, 2, 1, &account("b", 1)).unwrap();
        let mut ids = 3..10_000;
        let rejected = ids.find(|id| mutation.insert(TABLE, *id, 1, &account(&format!("{id:01900}"), 1)).is_err());
        assert!(rejected.is_some_and(|id| id > 3_000), "{rejected:?}");
        assert_eq!(mutation.end(), Some(End::Outgrown));
        assert!(mutation.delete(TABLE, 2).is_err(), "no further operation runs");
        mutation.undo();
        assert!(batch.writes().is_empty() && base.applied.borrow().is_empty());
    }

    #[test]
    fn mutation_alone_applies_its_rows_at_savepoints() {
        let (base, batch) = (Rc::new(OneRow::default()), batch());
        let mutation = Transaction::begin(&batch, base.clone(), Mode::Alone);
        mutation.insert(TABLE, 2, 1, &account("b", 1)).unwrap();
        assert!(base.applied.borrow().is_empty());
        mutation.savepoint().unwrap();
        assert_eq!(base.applied.borrow().len(), 1);
        mutation.insert(TABLE, 3, 1, &account("c", 1)).unwrap();
        mutation.rollback().unwrap();
        assert_eq!((base.applied.borrow().len(), batch.writes().len()), (1, 0));
        assert!(!batch.changes().is_empty(), "the applied row is a change of the commit");
    }

    #[test]
    fn mutation_ends_when_the_engine_rejects_a_row() {
        let base = Rc::new(OneRow { is_rejecting: true, ..OneRow::default() });
        let mutation = Transaction::begin(&batch(), base, Mode::Alone);
        mutation.insert(TABLE, 2, 1, &account("b", 1)).unwrap();
        assert!(mutation.savepoint().is_err());
        assert_eq!(mutation.end(), Some(End::Violated { table: "accounts", index: "another" }));
        assert!(matches!(mutation.delete(TABLE, 2), Err(StoreError::UniqueViolation { .. })));
    }
}
