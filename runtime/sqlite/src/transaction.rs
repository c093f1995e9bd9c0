//! A transaction on a connection: reads and writes by plan. A failed transaction stays failed.
//!
//! After its deadline or a failure of the engine, a transaction is *poisoned*: every further operation fails, and the
//! call fails whatever its function returns. Otherwise a function that ignores the error could continue after SQLite
//! rolled back everything, and each write would be its own transaction.

use std::cell::{Cell, RefCell};
use std::ops::{ControlFlow, Deref};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rusqlite::CachedStatement;

use super::cache::{KnownRow, RowMemory};
use super::connection::{Connection, Lease, Stop};
use super::failure;
use super::sql::{self, Fields, SqliteRow, StatementKey, places, row, unique_index};
use convoke_store::changes::{Change, Changes};
use convoke_store::query::LIST_MAX;
use convoke_store::schema::{Definition, Schemas};
use convoke_store::transaction::Visit;
use convoke_store::{Commit, Plan, Reader, Row, StoreError, TableDef, Value, ValueRef, Writer};

/// The connection of a transaction.
pub(crate) enum Source {
    /// A reader, held until the end of the transaction.
    Reader(Lease),
    /// The writer's connection.
    Writer(Rc<Connection>),
}

impl Deref for Source {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        match self {
            Source::Reader(lease) => lease.connection(),
            Source::Writer(connection) => connection,
        }
    }
}

/// An open transaction.
pub(crate) struct SqliteTransaction {
    source: Source,
    /// The writer's rows; none if other connections may write, or if the rows are not read again.
    memory: Option<Rc<RowMemory>>,
    savepoints: RefCell<Savepoints>,
    /// True if it has written values that other mutations set.
    tells_of_others: Cell<bool>,
    limit: Duration,
    statements: Cell<u64>,
    rows_visited: Cell<u64>,
    keys_visited: Cell<u64>,
    changes: Changes,
    poison: RefCell<Option<Poison>>,
}

/// The savepoints of a transaction. SQLite learns them at the first write.
#[derive(Default)]
struct Savepoints {
    /// Marks in the row memory of the open savepoints.
    marks: Vec<usize>,
    /// Number of them that SQLite knows, from the outermost one.
    known: usize,
}

/// Reason why no further operation runs.
#[derive(Clone)]
enum Poison {
    Deadline,
    Interrupted,
    Disk(String),
    NoRoom(String),
    Lost(String),
    /// The function returned; remaining references to the transaction must not use it.
    Over,
}

type Result<T> = std::result::Result<T, StoreError>;

/// Like [`Visit`], for the current row of a statement.
type VisitStored<'a> = dyn FnMut(&SqliteRow<'_>) -> Result<ControlFlow<()>> + 'a;

impl SqliteTransaction {
    /// Creates a transaction whose `BEGIN` has run, with the time limit `limit`.
    pub(crate) fn new(source: Source, limit: Duration) -> Self {
        Self {
            source,
            memory: None,
            savepoints: RefCell::default(),
            tells_of_others: Cell::new(false),
            limit,
            statements: Cell::new(0),
            rows_visited: Cell::new(0),
            keys_visited: Cell::new(0),
            changes: Changes::default(),
            poison: RefCell::new(None),
        }
    }

    /// Like [`SqliteTransaction::new`], in its own savepoint, with the writer's rows.
    pub(crate) fn with(source: Source, limit: Duration, memory: Rc<RowMemory>) -> Self {
        let transaction = Self { memory: Some(memory), ..Self::new(source, limit) };
        transaction.open_savepoint();
        transaction
    }

    /// Returns the failure of the transaction, if it failed.
    pub(crate) fn died(&self) -> Option<StoreError> {
        self.poison.borrow().as_ref().map(|poison| self.error(poison))
    }

    /// Ends the transaction after its function returned. Fails it if it is late, even if the function made no operation
    /// since.
    pub(crate) fn finish(&self) {
        let interrupt = &self.source.interrupt;
        let now = interrupt.now();
        if !interrupt.ordered() && interrupt.is_late(now) {
            self.poison.borrow_mut().get_or_insert(Poison::Deadline);
        }
        if let Source::Reader(lease) = &self.source {
            lease.end_at(now);
        }
    }

    /// Returns how long its reader has been held; zero for the writer.
    pub(crate) fn elapsed(&self) -> Duration {
        match &self.source {
            Source::Reader(lease) => lease.elapsed(),
            Source::Writer(_) => Duration::ZERO,
        }
    }

    /// Rejects further operations.
    pub(crate) fn close(&self) {
        // Once per transaction rather than per statement, because all threads share the counter.
        self.source.counters.statements.fetch_add(self.statements.get(), Relaxed);
        self.poison.borrow_mut().get_or_insert(Poison::Over);
    }

    fn error(&self, poison: &Poison) -> StoreError {
        match poison {
            Poison::Deadline => {
                StoreError::Deadline { limit_ms: self.limit.as_millis().try_into().unwrap_or(u64::MAX) }
            }
            Poison::Interrupted => StoreError::Interrupted,
            Poison::Disk(reason) => StoreError::Disk(reason.clone()),
            Poison::NoRoom(reason) => StoreError::NoRoom(reason.clone()),
            Poison::Lost(reason) => StoreError::TransactionLost(reason.clone()),
            Poison::Over => StoreError::TransactionLost("it is over".to_owned()),
        }
    }

    fn poisoned(&self, poison: Poison) -> StoreError {
        self.error(self.poison.borrow_mut().get_or_insert(poison))
    }

    /// Checked before every statement: fails if the transaction failed or is late.
    fn alive(&self) -> Result<()> {
        if let Some(poison) = &*self.poison.borrow() {
            return Err(self.error(poison));
        }
        match self.source.interrupt.must_stop() {
            None => Ok(()),
            Some(stop) => Err(self.stopped(stop)),
        }
    }

    fn stopped(&self, stop: Stop) -> StoreError {
        self.poisoned(match stop {
            Stop::Deadline => Poison::Deadline,
            Stop::Ordered => Poison::Interrupted,
        })
    }

    /// Poisons the transaction after the engine failed with `error`.
    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        if failure::interrupted(error) {
            return self.stopped(self.source.interrupt.must_stop().unwrap_or(Stop::Deadline));
        }
        match failure::of_disk(error) {
            Some(StoreError::Disk(reason)) => {
                self.source.reads.failed(&reason, self.source.interrupt.now());
                return self.poisoned(Poison::Disk(reason));
            }
            Some(StoreError::NoRoom(reason)) => return self.poisoned(Poison::NoRoom(reason)),
            Some(_) | None => {}
        }
        if failure::breaks_connection(error) {
            self.source.set_broken();
        }
        self.poisoned(Poison::Lost(error.to_string()))
    }

    /// Returns true if nothing of the transaction may be committed.
    pub(crate) fn is_lost(&self) -> bool {
        match &*self.poison.borrow() {
            Some(Poison::Disk(_) | Poison::Lost(_)) => true,
            // Running the mutations one by one shows whose values have no room.
            Some(Poison::NoRoom(_)) => self.tells_of_others.get(),
            Some(Poison::Deadline | Poison::Interrupted | Poison::Over) | None => false,
        }
    }

    /// Rolls back a lost transaction, so that the connection can be used again.
    pub(crate) fn give_up(&self) {
        if self.source.give_up().is_err() {
            self.source.set_broken();
        }
    }

    /// Returns the prepared statement of a key.
    fn statement(&self, key: StatementKey, write: impl FnOnce() -> String) -> Result<CachedStatement<'_>> {
        self.statements.set(self.statements.get() + 1);
        let text = self.source.text(key, write);
        self.source.sqlite.prepare_cached(&text).map_err(|error| self.failed(&error))
    }

    /// Steps through the rows of a statement whose parameters are bound. Returns true if there was a row. Each row adds
    /// one to `visited`.
    fn visit(
        &self,
        statement: &mut CachedStatement<'_>,
        table: &'static TableDef,
        visited: &Cell<u64>,
        visit: &mut VisitStored<'_>,
    ) -> Result<bool> {
        let mut rows = statement.raw_query();
        let mut any = false;
        while let Some(row) = rows.next().map_err(|error| self.failed(&error))? {
            if !any {
                any = true;
                self.source.has_read();
            }
            visited.set(visited.get() + 1);
            if visit(&SqliteRow { table, row })?.is_break() {
                break;
            }
            // SQLite does not check while the visitor works.
            if self.source.interrupt.ordered() {
                return Err(self.stopped(Stop::Ordered));
            }
        }
        Ok(any)
    }

    /// Visits the rows of SQLite, overlaid with changes that SQLite does not know yet, and remembers them if requested.
    fn overlaying<R>(
        &self,
        remembers: bool,
        visit: &mut Visit<'_>,
        read: impl FnOnce(&mut VisitStored<'_>) -> Result<R>,
    ) -> Result<R> {
        let Some(memory) = &self.memory else {
            return read(&mut |row| {
                if remembers {
                    self.source.keep_row(row);
                }
                visit(row)
            });
        };
        let is_changed = self.savepoints.borrow().known > 0;
        read(&mut |row| match memory.unwritten(row)? {
            Some(row) => visit(&row),
            None => {
                if remembers {
                    memory.remember(row, is_changed);
                }
                visit(row)
            }
        })
    }

    /// Visits a remembered row. Returns true if there is one.
    fn visit_remembered(&self, row: Option<KnownRow>, visit: &mut Visit<'_>) -> Result<bool> {
        let Some(row) = row else { return Ok(false) };
        self.statements.set(self.statements.get() + 1);
        self.rows_visited.set(self.rows_visited.get() + 1);
        visit(&row).map(|_| true)
    }

    /// Runs a writing statement whose parameters are bound. Returns true if it found its row.
    fn write(&self, statement: &mut CachedStatement<'_>, table: &'static TableDef) -> Result<bool> {
        self.require_open()?;
        self.tell_savepoints()?;
        let changed = self
            .source
            .interrupt
            .uninterrupted(|| statement.raw_execute())
            .map_err(|error| failure::violation(table, &error).unwrap_or_else(|| self.failed(&error)))?;
        Ok(changed > 0)
    }

    /// Writes some fields of a row, whose number may be known. Returns true if the row exists.
    fn write_fields<'v>(
        &self,
        table: &'static TableDef,
        (id, number): (u128, Option<i64>),
        fields: Fields,
        values: impl Iterator<Item = ValueRef<'v>> + Clone,
    ) -> Result<bool> {
        let mut statement = match number {
            Some(_) => {
                self.statement(StatementKey::update_numbered(table, fields), || sql::update_numbered(table, fields))
            }
            None => self.statement(StatementKey::update(table, fields), || sql::update(table, fields)),
        }?;
        let parameters = values.clone().chain(number.map(ValueRef::Integer)).chain([ValueRef::Id(id)]);
        for (place, value) in parameters.enumerate() {
            self.bound(row::bind(&mut statement, place + 1, value))?;
        }
        if self.write(&mut statement, table)? {
            return Ok(true);
        }
        // Numbers do not change unless another program rewrites the file.
        if number.is_some() { self.write_fields(table, (id, None), fields, values) } else { Ok(false) }
    }

    /// Writes the remembered changes. Called once, at the end before the commit.
    ///
    /// # Errors
    /// Errors of the engine: nothing of the transaction may be committed then.
    pub(crate) fn write_remembered(&self, memory: &RowMemory) -> Result<()> {
        memory.write(|table, id, fields, row| {
            let values = fields.places().map(|place| row.value(place));
            let written = self.write_fields(table, (id, row.number()), fields, values)?;
            if written { Ok(()) } else { Err(StoreError::TransactionLost("a row is gone that was changed".to_owned())) }
        })
    }

    fn forget(&self, table: &'static TableDef, id: u128) {
        if let Some(memory) = &self.memory {
            memory.forget(table, id);
        }
    }

    fn require_open(&self) -> Result<()> {
        if self.source.in_transaction() {
            return Ok(());
        }
        Err(self.poisoned(Poison::Lost("it is no longer open".to_owned())))
    }

    fn bound(&self, bound: rusqlite::Result<()>) -> Result<()> {
        bound.map_err(|error| self.failed(&error))
    }

    /// Runs `SAVEPOINT` and similar statements.
    fn control(&self, sql: &'static str) -> Result<()> {
        self.source.interrupt.uninterrupted(|| self.source.run(sql)).map_err(|error| self.failed(&error))
    }

    fn open_savepoint(&self) {
        let mark = self.memory.as_ref().map_or(0, |memory| memory.mark());
        self.savepoints.borrow_mut().marks.push(mark);
    }

    /// Creates the savepoints that SQLite does not know yet, before a write.
    fn tell_savepoints(&self) -> Result<()> {
        let savepoints = &mut *self.savepoints.borrow_mut();
        while savepoints.known < savepoints.marks.len() {
            self.control("SAVEPOINT one")?;
            savepoints.known += 1;
        }
        Ok(())
    }

    /// Closes the innermost savepoint, if one is open, and keeps or drops its writes.
    ///
    /// # Errors
    /// Errors of the engine: the transaction is lost then.
    pub(crate) fn close_savepoint(&self, is_kept: bool) -> Result<()> {
        let savepoints = &mut *self.savepoints.borrow_mut();
        let Some(mark) = savepoints.marks.pop() else { return Ok(()) };
        if let (Some(memory), false) = (&self.memory, is_kept) {
            memory.roll_back(mark);
        }
        if savepoints.known <= savepoints.marks.len() {
            return Ok(());
        }
        savepoints.known -= 1;
        if !is_kept {
            self.control("ROLLBACK TO one")?;
        }
        self.control("RELEASE one")
    }

    /// Closes all savepoints, including those that its function left open.
    ///
    /// # Errors
    /// Like [`SqliteTransaction::close_savepoint`].
    pub(crate) fn close_savepoints(&self, is_kept: bool) -> Result<()> {
        while !self.savepoints.borrow().marks.is_empty() {
            self.close_savepoint(is_kept)?;
        }
        if let Some(memory) = &self.memory {
            memory.keep();
        }
        Ok(())
    }
}

impl Reader for SqliteTransaction {
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
        self.alive()?;
        let remembered = match &self.memory {
            Some(memory) => memory.get(table, id),
            None => self.source.kept_row(table, id),
        };
        if self.visit_remembered(remembered, visit)? {
            return Ok(true);
        }
        let mut statement = self.statement(StatementKey::get(table), || sql::get(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        self.overlaying(true, visit, |visit| self.visit(&mut statement, table, &self.rows_visited, visit))
    }

    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
        self.alive()?;
        if plan.is_empty()? {
            return Ok(());
        }
        let is_unique = unique_index(plan).is_some();
        if is_unique {
            let remembered = match &self.memory {
                Some(memory) => memory.only(plan),
                None => self.source.kept_only_row(plan),
            };
            if self.visit_remembered(remembered, visit)? {
                return Ok(());
            }
        }
        if plan.index.is_none() {
            self.source.counters.scans.fetch_add(1, Relaxed);
        }
        let mut statement = self.statement(StatementKey::select(plan), || sql::select(plan))?;
        self.bound(row::bind_plan(&mut statement, plan))?;
        let table = plan.table;
        if plan.keys_only {
            return self.visit(&mut statement, table, &self.keys_visited, &mut |row| visit(row)).map(drop);
        }
        let visit_all = |visit: &mut VisitStored<'_>| self.visit(&mut statement, table, &self.rows_visited, visit);
        self.overlaying(is_unique, visit, visit_all).map(drop)
    }

    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<()> {
        let broken_off = Cell::new(false);
        let mut visit = |row: &dyn Row| {
            let flow = visit(row)?;
            broken_off.set(flow.is_break());
            Ok(flow)
        };
        for ids in ids.chunks(LIST_MAX) {
            self.alive()?;
            let places = places(ids.len());
            let mut statement =
                self.statement(StatementKey::get_many(table, places), || sql::get_many(table, places))?;
            self.bound(row::bind_ids(&mut statement, ids))?;
            self.overlaying(false, &mut visit, |visit| self.visit(&mut statement, table, &self.rows_visited, visit))?;
            if broken_off.get() {
                break;
            }
        }
        Ok(())
    }

    fn count(&self, plan: &Plan) -> Result<u64> {
        self.alive()?;
        if plan.is_empty()? {
            return Ok(0);
        }
        if plan.index.is_none() {
            self.source.counters.scans.fetch_add(1, Relaxed);
        }
        let mut statement = self.statement(StatementKey::count(plan), || sql::count(plan))?;
        self.bound(row::bind_plan(&mut statement, plan))?;
        let mut rows = statement.raw_query();
        let count = rows
            .next()
            .and_then(|row| row.map_or(Ok(0), |row| row.get::<_, i64>(0)))
            .map_err(|error| self.failed(&error))?;
        Ok(count.unsigned_abs())
    }

    fn estimated_rows(&self, table: &'static TableDef) -> Result<Option<u64>> {
        self.alive()?;
        let text = sql::span_of_rows(table);
        let mut statement = self.source.sqlite.prepare_cached(&text).map_err(|error| self.failed(&error))?;
        let span = statement.query_row([], |row| row.get::<_, Option<i64>>(0)).map_err(|error| self.failed(&error))?;
        Ok(Some(span.map_or(0, i64::unsigned_abs)))
    }

    fn bytes(&self, table: &'static TableDef) -> Result<u64> {
        let mut bytes = 0;
        for name in sql::trees(table) {
            self.alive()?;
            let mut statement =
                self.source.sqlite.prepare_cached(sql::TREE_BYTES).map_err(|error| self.failed(&error))?;
            let found = statement.query_row([name], |row| row.get::<_, i64>(0)).map_err(|error| self.failed(&error))?;
            bytes += found.unsigned_abs();
        }
        Ok(bytes)
    }

    fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas> {
        self.alive()?;
        let kept = self.source.sqlite.query_row(sql::LAST_SCHEMA, [], |row| row.get::<_, String>(1));
        let stored = Definition::read(&kept.map_err(|error| self.failed(&error))?)?;
        Ok(Schemas { stored, code: Definition::of(tables, sql::create_index) })
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
        self.alive()?;
        let Source::Reader(lease) = &self.source else {
            return Err(StoreError::Engine("a transaction that writes shows no commit".to_owned()));
        };
        let connection = lease.connection();
        let fixed = connection.commits.exactly(|| connection.fix_snapshot().map_err(|error| self.failed(&error)));
        fixed.map(|(commit, ())| commit)
    }
}

impl Writer for SqliteTransaction {
    fn insert(&self, table: &'static TableDef, id: u128, creation_time: i64, values: &[Value]) -> Result<()> {
        self.alive()?;
        table.require_storable(values)?;
        let mut statement = self.statement(StatementKey::insert(table), || sql::insert(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        self.bound(row::bind(&mut statement, 2, ValueRef::Integer(creation_time)))?;
        let stored = values.iter().zip(table.fields).filter(|(_, field)| !field.retired);
        for (number, (value, _)) in stored.enumerate() {
            self.bound(row::bind(&mut statement, number + 3, value.as_ref()))?;
        }
        if self.write(&mut statement, table)? {
            self.changes.add(Change::Inserted { table, id, values });
        }
        Ok(())
    }

    fn update(&self, table: &'static TableDef, id: u128, before: &[Value], changes: &[(usize, Value)]) -> Result<bool> {
        self.alive()?;
        if !changes.is_sorted_by(|(one, _), (next, _)| one < next) {
            let mut sorted = changes.to_vec();
            sorted.sort_by_key(|(place, _)| *place);
            sorted.dedup_by(|next, one| next.0 == one.0);
            return self.update(table, id, before, &sorted);
        }
        if changes.is_empty() {
            return self.get(table, id, &mut |_| Ok(ControlFlow::Break(())));
        }
        table.require_storable_changes(before, changes)?;
        let change = Change::Updated { table, id, before, values: changes };
        if self.memory.as_ref().is_some_and(|memory| memory.set(table, id, changes)) {
            self.require_open()?;
            self.statements.set(self.statements.get() + 1);
            self.changes.add(change);
            return Ok(true);
        }
        let own = Fields::of(changes);
        let known = self.memory.as_ref().and_then(|memory| memory.get(table, id));
        let key = (id, known.and_then(|row| row.columns.number()));
        let found = match self.memory.as_ref().and_then(|memory| memory.waiting(table, id)) {
            None => self.write_fields(table, key, own, changes.iter().map(|(_, value)| value.as_ref()))?,
            Some((waiting, row)) => {
                self.tells_of_others.set(true);
                let changed = |place: usize| changes.binary_search_by_key(&place, |(place, _)| *place).ok();
                let value = |place| changed(place).map_or_else(|| row.value(place), |at| changes[at].1.as_ref());
                let fields = own.and(waiting);
                self.write_fields(table, key, fields, fields.places().map(value))?
            }
        };
        if found {
            self.forget(table, id);
            self.changes.add(change);
        }
        Ok(found)
    }

    fn delete(&self, table: &'static TableDef, id: u128) -> Result<bool> {
        self.alive()?;
        let mut statement = self.statement(StatementKey::delete(table), || sql::delete(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        let found = self.write(&mut statement, table)?;
        if found {
            self.forget(table, id);
            self.changes.add(Change::Deleted { table, id });
        }
        Ok(found)
    }

    fn savepoint(&self) -> Result<()> {
        self.alive()?;
        self.statements.set(self.statements.get() + 1);
        self.open_savepoint();
        self.changes.savepoint();
        Ok(())
    }

    fn release(&self) -> Result<()> {
        self.alive()?;
        self.changes.release()?;
        self.statements.set(self.statements.get() + 1);
        self.close_savepoint(true)
    }

    fn rollback(&self) -> Result<()> {
        self.alive()?;
        self.changes.rollback()?;
        self.statements.set(self.statements.get() + 2);
        self.close_savepoint(false)
    }

    fn bytes_written(&self) -> u64 {
        self.changes.bytes()
    }
}
