//! A transaction on its own copy of the database.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use convoke_core::clock::Clock;
use convoke_store::overlay::{Base, RowWrite, Write};
use convoke_store::reader::Visit;
use convoke_store::schema::{Definition, Schemas};
use convoke_store::{Commit, Commits, Fields, IndexDef, Plan, Reader, Row, StoreError, TableDef, Value, ValueRef};

use super::database::{Database, StoredRow, Table, index_text};
use super::engine::Place;

/// Rows between two checks of the clock.
const ROWS_BETWEEN: u64 = 256;

type Result<T> = std::result::Result<T, StoreError>;

/// An open transaction.
pub(crate) struct Transaction {
    database: RefCell<Database>,
    savepoints: RefCell<Vec<Database>>,
    statements: Cell<u64>,
    rows_visited: Cell<u64>,
    keys_visited: Cell<u64>,
    clock: Arc<dyn Clock>,
    began: Duration,
    limit: Duration,
    end: Cell<Option<End>>,
    /// Source of the snapshot of a read-only transaction.
    source: Option<(Arc<Place>, Arc<Commits>)>,
}

/// Reason why the transaction ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Deadline,
    Over,
}

impl Transaction {
    /// Creates a transaction on this state with the time limit `limit`.
    pub(crate) fn new(database: Database, clock: Arc<dyn Clock>, limit: Duration) -> Self {
        Self {
            database: RefCell::new(database),
            savepoints: RefCell::default(),
            statements: Cell::new(0),
            rows_visited: Cell::new(0),
            keys_visited: Cell::new(0),
            began: clock.monotonic(),
            clock,
            limit,
            end: Cell::new(None),
            source: None,
        }
    }

    /// Creates a transaction that reads the newest state of a place with these commits.
    pub(crate) fn reading(place: &Arc<Place>, commits: &Arc<Commits>, clock: Arc<dyn Clock>, limit: Duration) -> Self {
        let source = Some((place.clone(), commits.clone()));
        Self { source, ..Self::new(place.database(), clock, limit) }
    }

    /// Returns the state with the writes.
    pub(crate) fn database(&self) -> Database {
        self.database.borrow().clone()
    }

    /// Changes the state.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Database) -> R) -> R {
        change(&mut self.database.borrow_mut())
    }

    /// Returns the time since it was opened.
    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.monotonic().saturating_sub(self.began)
    }

    /// Ends the transaction after its function returned. Fails after the deadline.
    pub(crate) fn end(&self) -> Result<()> {
        let alive = self.look();
        self.end.set(Some(End::Over));
        alive
    }

    fn failed(&self, end: End) -> StoreError {
        match end {
            End::Deadline => StoreError::Deadline { limit_ms: self.limit.as_millis().try_into().unwrap_or(u64::MAX) },
            End::Over => StoreError::TransactionLost("it is over".to_owned()),
        }
    }

    /// Fails if the transaction has ended or is late.
    fn look(&self) -> Result<()> {
        if self.end.get().is_none() && self.elapsed() > self.limit {
            self.end.set(Some(End::Deadline));
        }
        self.end.get().map_or(Ok(()), |end| Err(self.failed(end)))
    }

    fn begin(&self) -> Result<()> {
        self.look()?;
        self.statements.set(self.statements.get() + 1);
        Ok(())
    }

    fn table(&self, table: &'static TableDef) -> Result<Table> {
        let database = self.database.borrow();
        let found = database.tables.get(table.name).cloned();
        found.ok_or_else(|| StoreError::Engine(format!("there is no table {}", table.name)))
    }

    fn put(&self, table: &'static TableDef, id: u128, old: Option<&StoredRow>, new: Option<StoredRow>) -> Result<()> {
        let mut changed = self.table(table)?;
        changed.put(id, old, new).map_err(|violated| {
            let index = table.indexes.iter().find(|index| index.name == violated);
            StoreError::UniqueViolation { table: table.name, index: index.map_or("another", |index| index.name) }
        })?;
        self.change(|database| database.tables.insert_mut(table.name.to_owned(), changed));
        Ok(())
    }

    /// Visits the rows with these ids. Returns true if there was one.
    fn visit(
        &self,
        (table, rows): (&'static TableDef, &Table),
        ids: impl Iterator<Item = u128>,
        keys_of: Option<&IndexDef>,
        visit: &mut Visit<'_>,
    ) -> Result<bool> {
        let visited = if keys_of.is_some() { &self.keys_visited } else { &self.rows_visited };
        let mut any = false;
        for id in ids {
            let Some(row) = rows.rows.get(&id) else { continue };
            any = true;
            visited.set(visited.get() + 1);
            if visited.get() % ROWS_BETWEEN == 0 {
                self.look()?;
            }
            if visit(&MemoryRow { table, id, row, keys_of })?.is_break() {
                break;
            }
        }
        Ok(any)
    }
}

/// A row while it is visited.
struct MemoryRow<'a> {
    table: &'static TableDef,
    id: u128,
    row: &'a StoredRow,
    keys_of: Option<&'a IndexDef>,
}

impl Row for MemoryRow<'_> {
    fn id(&self) -> Result<u128> {
        Ok(self.id)
    }

    fn creation_time(&self) -> Result<i64> {
        Ok(self.row.time)
    }

    fn value(&self, place: usize) -> Result<ValueRef<'_>> {
        let field = &self.table.fields[place];
        let left_out = self.keys_of.is_some_and(|index| index.keys.iter().all(|key| key.field != place));
        Ok(if field.retired || left_out { ValueRef::Null } else { self.row.value(field.name).as_ref() })
    }
}

impl Reader for Transaction {
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
        self.begin()?;
        self.visit((table, &self.table(table)?), std::iter::once(id), None, visit)
    }

    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
        self.look()?;
        if plan.is_empty()? {
            return Ok(());
        }
        self.begin()?;
        let rows = self.table(plan.table)?;
        let keys_of = plan.index.filter(|_| plan.keys_only);
        self.visit((plan.table, &rows), rows.ids(plan)?, keys_of, visit).map(drop)
    }

    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<()> {
        self.begin()?;
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        self.visit((table, &self.table(table)?), ids.into_iter(), None, visit).map(drop)
    }

    fn count(&self, plan: &Plan) -> Result<u64> {
        self.look()?;
        if plan.is_empty()? {
            return Ok(0);
        }
        self.begin()?;
        let count = self.table(plan.table)?.ids(plan)?.count();
        self.look()?;
        Ok(count as u64)
    }

    fn bytes(&self, table: &'static TableDef) -> Result<u64> {
        self.look()?;
        Ok(self.table(table)?.rows.size() as u64 * size_of::<StoredRow>() as u64)
    }

    fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas> {
        let stored = Definition::read(&self.database().definition)?;
        Ok(Schemas { stored, code: Definition::of(tables, index_text) })
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

    fn pin(&self) -> Result<Commit> {
        self.look()?;
        let source = self.source.as_ref();
        let (place, commits) =
            source.ok_or_else(|| StoreError::Engine("a transaction that writes shows no commit".to_owned()))?;
        let (commit, database) = commits.exactly(|| Ok(place.database()))?;
        self.database.replace(database);
        Ok(commit)
    }
}

impl Base for Transaction {
    fn alive(&self) -> Result<()> {
        self.look()
    }

    fn holder(&self, plan: &Plan, id: u128) -> Result<Option<u128>> {
        self.begin()?;
        let rows = self.table(plan.table)?;
        let is_made = plan.index.is_some_and(|index| rows.indexes.contains_key(index.name));
        if is_made { Ok(rows.ids(plan)?.find(|holder| *holder != id)) } else { Ok(None) }
    }

    fn apply(&self, writes: &[RowWrite]) -> Result<()> {
        for RowWrite { table, id, write, .. } in writes {
            self.begin()?;
            let old = self.table(table)?.rows.get(id).cloned();
            let lost = || StoreError::TransactionLost("a row is gone that was changed".to_owned());
            let changed = |fields: Fields, value: &dyn Fn(usize) -> Value| -> Result<StoredRow> {
                let mut new = StoredRow::clone(old.as_deref().ok_or_else(lost)?);
                for place in fields.places() {
                    new.values.insert(table.fields[place].name.to_owned(), value(place));
                }
                Ok(new)
            };
            let new = match write {
                Write::Delete => None,
                Write::Vacate(fields) => Some(changed(*fields, &|_| Value::Null)?),
                Write::Update(row, fields) => Some(changed(*fields, &|place| row.value(place).to_value())?),
                Write::Insert(_) if old.is_some() => {
                    return Err(StoreError::UniqueViolation { table: table.name, index: "_id" });
                }
                Write::Insert(row) => {
                    let stored = table.fields.iter().enumerate().filter(|(_, field)| !field.retired);
                    let values = stored.map(|(place, field)| (field.name.to_owned(), row.value(place).to_value()));
                    Some(StoredRow { time: row.creation_time(), values: values.collect() })
                }
            };
            self.put(table, *id, old.as_deref(), new)?;
        }
        Ok(())
    }

    fn savepoint(&self) -> Result<()> {
        self.begin()?;
        self.savepoints.borrow_mut().push(self.database());
        Ok(())
    }

    fn release(&self) -> Result<()> {
        self.begin()?;
        self.savepoints.borrow_mut().pop();
        Ok(())
    }

    fn rollback(&self) -> Result<()> {
        self.begin()?;
        if let Some(before) = self.savepoints.borrow_mut().pop() {
            self.database.replace(before);
        }
        Ok(())
    }
}
