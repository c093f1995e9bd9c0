//! One mutation: its reads over pending rows, and its writes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::base::Base;
use super::batch::{Batch, PENDING_BYTES_MAX};
use super::pending::{Matches, PendingRow, deciding_fields};
use crate::commits::Commit;
use crate::commits::changes::Change;
use crate::error::StoreError;
use crate::fields::Fields;
use crate::nodes::TurnName;
use crate::packed_row::PackedRow;
use crate::query::{Plan, index_key};
use crate::row::{MemoryRow, Row};
use crate::schema::Schemas;
use crate::schema::table::{IndexDef, TableDef};
use crate::transaction::{Reader, Visit, Writer};
use crate::value::{ColumnType, Value, ValueRef};

/// Most rows of the database that a mutation keeps in memory after it has read them, because it often writes them next.
const KNOWN_MAX: usize = 256;
/// A larger row is read again instead.
const KNOWN_BYTES_MAX: usize = 16 * 1_024;

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

    /// Keeps a row of the base that is visited, unless it is large or cannot be read.
    fn remember(&self, table: &'static TableDef, row: &dyn Row) {
        let mut known = self.known.borrow_mut();
        if known.len() < KNOWN_MAX
            && let (Ok(id), Ok(Some(columns))) = (row.id(), row.packed(table.fields.len(), KNOWN_BYTES_MAX))
        {
            known.insert((table.name, id), columns);
        }
    }

    /// Returns a row of the base.
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
        id: u128,
        row: &PackedRow,
        is_concerned: impl Fn(&'static IndexDef) -> bool,
    ) -> Result<()> {
        for (number, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.unique && is_concerned(index))
        {
            let Some(keys) = index_key::of_unique_row(table, index, |field| row.value(field)) else { continue };
            let violation = || StoreError::UniqueViolation { table: table.name, index: index.name };
            if self.batch.pending().has_other(table, number, &keys, id) {
                return Err(violation());
            }
            if self.batch.pending().has_left(table, number, &keys) {
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
    fn put(&self, table: &'static TableDef, id: u128, row: PendingRow, change: Change<'_>) -> Result<()> {
        let mut pending = self.batch.pending();
        pending.put(table, id, row);
        let bytes = pending.bytes() - self.start_bytes;
        drop(pending);
        self.bytes_written.set(self.bytes_written.get() + change.bytes());
        self.rows_written.set(self.rows_written.get() + 1);
        match self.mode {
            _ if bytes <= PENDING_BYTES_MAX => Ok(()),
            Mode::Shared => Err(self.ended(End::Outgrown)),
            Mode::Alone => self.apply(),
        }
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
        self.known.borrow_mut().clear();
        Ok(())
    }

    fn close_savepoint(&self) -> Result<Savepoint> {
        let innermost = self.savepoints.borrow_mut().pop();
        innermost.ok_or_else(|| StoreError::Engine("no savepoint is open".to_owned()))
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
        self.base.get(table, id, &mut |row| {
            self.remember(table, row);
            count();
            visit(row)
        })
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
        let mut merged = Merge { plan, rows: rows.into_iter().peekable(), left: plan.limit, visited, visit };
        if merged.is_complete() {
            return merged.rest();
        }
        let of_base = Plan { limit: plan.limit.map(|limit| limit.saturating_add(hidden)), ..plan.clone() };
        let mut flow = ControlFlow::Continue(());
        self.base.select(&of_base, &mut |row| {
            if hidden > 0 && self.batch.pending().get(plan.table, row.id()?).is_some() {
                return Ok(ControlFlow::Continue(()));
            }
            if remembers {
                self.remember(plan.table, row);
            }
            flow = merged.visit_behind_pending(row)?;
            Ok(flow)
        })?;
        if flow.is_break() { Ok(()) } else { merged.rest() }
    }

    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<()> {
        self.alive()?;
        self.count_statements(1);
        let mut counted = |row: &dyn Row| {
            self.rows_visited.set(self.rows_visited.get() + 1);
            visit(row)
        };
        if self.batch.pending().is_untouched(table) {
            return self.base.get_many(table, ids, &mut counted);
        }
        let (mut others, mut pending) = (Vec::with_capacity(ids.len()), BTreeSet::new());
        for id in ids {
            let is_pending = self.batch.pending().get(table, *id).is_some();
            if is_pending {
                pending.insert(*id);
            } else {
                others.push(*id);
            }
        }
        for id in pending {
            let row = self.pending_row(table, id).and_then(|row| row.now);
            if let Some(columns) = row
                && counted(&MemoryRow { id, columns })?.is_break()
            {
                return Ok(());
            }
        }
        if others.is_empty() { Ok(()) } else { self.base.get_many(table, &others, &mut counted) }
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

/// The pending rows of a plan, merged into rows of the base.
struct Merge<'a, 'v> {
    plan: &'a Plan,
    rows: std::iter::Peekable<std::vec::IntoIter<(Vec<u8>, MemoryRow)>>,
    /// Rows until the limit.
    left: Option<u64>,
    visited: &'a Cell<u64>,
    visit: &'a mut Visit<'v>,
}

impl Merge<'_, '_> {
    /// Returns true if pending rows alone are the result: the plan has all keys of a unique index, and a pending row
    /// has them.
    fn is_complete(&mut self) -> bool {
        let Plan { index, eq, .. } = self.plan;
        let is_unique = index.is_some_and(|index| index.unique && index.keys.len() == eq.len());
        is_unique && !eq.contains(&Value::Null) && self.rows.peek().is_some()
    }

    /// Visits the pending rows before a row of the base, and then this row.
    fn visit_behind_pending(&mut self, row: &dyn Row) -> Result<ControlFlow<()>> {
        if self.rows.peek().is_some() {
            let Some(place) = index_key::of_visited(self.plan, row)? else {
                return Err(StoreError::Engine(format!("a row of {} does not fit its index", self.plan.table.name)));
            };
            let reverse = self.plan.reverse;
            while let Some((_, row)) =
                self.rows.next_if(|(pending, _)| if reverse { *pending > place } else { *pending < place })
            {
                if self.visit_pending(&row)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        self.visit_one(row)
    }

    /// Visits the remaining pending rows.
    fn rest(mut self) -> Result<()> {
        while let Some((_, row)) = self.rows.next() {
            if self.visit_pending(&row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn visit_pending(&mut self, row: &MemoryRow) -> Result<ControlFlow<()>> {
        match self.plan.index.filter(|_| self.plan.keys_only) {
            Some(index) => self.visit_one(&KeysOf { row, index }),
            None => self.visit_one(row),
        }
    }

    fn visit_one(&mut self, row: &dyn Row) -> Result<ControlFlow<()>> {
        if self.left == Some(0) {
            return Ok(ControlFlow::Break(()));
        }
        self.left = self.left.map(|left| left - 1);
        self.visited.set(self.visited.get() + 1);
        let flow = (self.visit)(row)?;
        Ok(if self.left == Some(0) { ControlFlow::Break(()) } else { flow })
    }
}

/// A row of which only the id and the keys of an index are read.
struct KeysOf<'a> {
    row: &'a MemoryRow,
    index: &'a IndexDef,
}

impl Row for KeysOf<'_> {
    fn id(&self) -> Result<u128> {
        self.row.id()
    }

    fn creation_time(&self) -> Result<i64> {
        self.row.creation_time()
    }

    fn value(&self, place: usize) -> Result<ValueRef<'_>> {
        let is_key = self.index.keys.iter().any(|key| key.field == place);
        if is_key { self.row.value(place) } else { Ok(ValueRef::Null) }
    }
}

impl Writer for Transaction {
    fn insert(&self, table: &'static TableDef, id: u128, creation_time: i64, values: &[Value]) -> Result<()> {
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
        self.require_unique(table, id, &row, |_| true)?;
        let base = former.and_then(|row| row.base);
        let row = PendingRow { is_replaced: base.is_some(), base, now: Some(row), fields: Fields::default() };
        self.put(table, id, row, Change::Inserted { table, id, values })
    }

    fn update(&self, table: &'static TableDef, id: u128, before: &[Value], changes: &[(usize, Value)]) -> Result<bool> {
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
        self.require_unique(table, id, &row, |index| deciding_fields(table, index).any(|field| changed.has(field)))?;
        let row = PendingRow { now: Some(row), fields: former.fields.and(changed), ..former };
        self.put(table, id, row, Change::Updated { table, id, before, values: changes })?;
        Ok(true)
    }

    fn delete(&self, table: &'static TableDef, id: u128) -> Result<bool> {
        self.alive()?;
        self.count_statements(1);
        let Some(former) = self.existing(table, id)? else { return Ok(false) };
        let row = PendingRow { base: former.base, ..PendingRow::default() };
        self.put(table, id, row, Change::Deleted { table, id })?;
        Ok(true)
    }

    fn savepoint(&self) -> Result<()> {
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

    fn release(&self) -> Result<()> {
        self.alive()?;
        self.close_savepoint()?;
        self.count_statements(1);
        if self.mode == Mode::Alone {
            self.apply()?;
            self.base.release()?;
        }
        Ok(())
    }

    fn rollback(&self) -> Result<()> {
        self.alive()?;
        let savepoint = self.close_savepoint()?;
        self.count_statements(2);
        self.base.verify()?;
        self.bytes_written.set(savepoint.bytes_written);
        match self.mode {
            Mode::Shared => self.batch.pending().undo_to(savepoint.mark),
            Mode::Alone => {
                self.batch.pending().clear();
                self.known.borrow_mut().clear();
                self.base.rollback()?;
            }
        }
        Ok(())
    }

    fn bytes_written(&self) -> u64 {
        self.bytes_written.get()
    }

    fn rows_written(&self) -> u64 {
        self.rows_written.get()
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
