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

use super::cache::Written;
use super::connection::{Connection, Lease, Stop};
use super::failure;
use super::sql::{self, SqliteRow, StatementKey, places, row, unique_index};
use convoke_store::overlay::{Base, RowWrite, Write};
use convoke_store::query::LIST_MAX;
use convoke_store::reader::Visit;
use convoke_store::schema::{Definition, Schemas};
use convoke_store::{Commit, Fields, MemoryRow, PackedRow, Plan, Reader, Row, StoreError, TableDef, ValueRef};

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
    /// Present in mutations: the writes since the last commit.
    written: Option<Rc<Written>>,
    /// True if it shows writes that are not committed.
    has_applied: Cell<bool>,
    limit: Duration,
    statements: Cell<u64>,
    rows_visited: Cell<u64>,
    keys_visited: Cell<u64>,
    poison: RefCell<Option<Poison>>,
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
            written: None,
            has_applied: Cell::new(false),
            limit,
            statements: Cell::new(0),
            rows_visited: Cell::new(0),
            keys_visited: Cell::new(0),
            poison: RefCell::new(None),
        }
    }

    /// Creates the transaction of a mutation, or of the writes of a batch.
    pub(crate) fn writing(connection: Rc<Connection>, limit: Duration, written: Rc<Written>) -> Self {
        Self { written: Some(written), ..Self::new(Source::Writer(connection), limit) }
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

    /// Returns true if SQLite can commit nothing of the transaction.
    pub(crate) fn is_lost(&self) -> bool {
        match &*self.poison.borrow() {
            Some(Poison::Disk(_) | Poison::Lost(_) | Poison::NoRoom(_)) => true,
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

    /// Returns the committed state that the transaction shows, if it is known. Its rows may be cached.
    fn state(&self) -> Option<u64> {
        match &self.source {
            Source::Reader(lease) => lease.connection().state(),
            // Only this thread commits. The number is odd during a change of the schema.
            Source::Writer(connection) if self.written.is_some() && !self.has_applied.get() => {
                Some(connection.newest.number()).filter(|number| number.is_multiple_of(2))
            }
            Source::Writer(_) => None,
        }
    }

    fn cached(&self, table: &'static TableDef, id: u128) -> Option<MemoryRow> {
        self.source.newest.get(self.state()?, table, id)
    }

    /// Returns the only row of a plan with all keys of a unique index, if it is cached.
    fn cached_only(&self, plan: &Plan) -> Option<MemoryRow> {
        self.source.newest.only(self.state()?, plan)
    }

    /// Caches a row of the database.
    fn cache(&self, row: &SqliteRow<'_>) {
        if let Some(state) = self.state() {
            self.source.newest.keep(state, row);
        }
    }

    fn visit_cached(&self, row: Option<MemoryRow>, visit: &mut Visit<'_>) -> Result<bool> {
        let Some(row) = row else { return Ok(false) };
        self.statements.set(self.statements.get() + 1);
        self.rows_visited.set(self.rows_visited.get() + 1);
        visit(&row).map(|_| true)
    }

    /// Runs a writing statement whose parameters are bound. Returns true if it found its row.
    fn write(&self, statement: &mut CachedStatement<'_>, table: &'static TableDef) -> Result<bool> {
        self.require_open()?;
        self.has_applied.set(true);
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

    fn insert(&self, table: &'static TableDef, id: u128, row: &PackedRow) -> Result<()> {
        let mut statement = self.statement(StatementKey::insert(table), || sql::insert(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        self.bound(row::bind(&mut statement, 2, ValueRef::Integer(row.creation_time())))?;
        let stored = table.fields.iter().enumerate().filter(|(_, field)| !field.retired);
        for (number, (place, _)) in stored.enumerate() {
            self.bound(row::bind(&mut statement, number + 3, row.value(place)))?;
        }
        self.write(&mut statement, table).map(drop)
    }

    fn delete(&self, table: &'static TableDef, id: u128) -> Result<bool> {
        let mut statement = self.statement(StatementKey::delete(table), || sql::delete(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        self.write(&mut statement, table)
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
}

impl Reader for SqliteTransaction {
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
        self.alive()?;
        if self.visit_cached(self.cached(table, id), visit)? {
            return Ok(true);
        }
        let mut statement = self.statement(StatementKey::get(table), || sql::get(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        self.visit(&mut statement, table, &self.rows_visited, &mut |row| {
            self.cache(row);
            visit(row)
        })
    }

    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
        self.alive()?;
        if plan.is_empty()? {
            return Ok(());
        }
        let is_unique = unique_index(plan).is_some();
        if is_unique && self.visit_cached(self.cached_only(plan), visit)? {
            return Ok(());
        }
        if plan.index.is_none() {
            self.source.counters.scans.fetch_add(1, Relaxed);
        }
        let mut statement = self.statement(StatementKey::select(plan), || sql::select(plan))?;
        self.bound(row::bind_plan(&mut statement, plan))?;
        let visited = if plan.keys_only { &self.keys_visited } else { &self.rows_visited };
        let visited = self.visit(&mut statement, plan.table, visited, &mut |row| {
            if is_unique {
                self.cache(row);
            }
            visit(row)
        });
        visited.map(drop)
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
            self.visit(&mut statement, table, &self.rows_visited, &mut |row| visit(row))?;
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

impl Base for SqliteTransaction {
    fn alive(&self) -> Result<()> {
        self.alive()
    }

    fn is_free(&self, _: &'static TableDef, id: u128) -> bool {
        self.written.as_ref().is_some_and(|written| id > written.greatest_id())
    }

    fn holder(&self, plan: &Plan, id: u128) -> Result<Option<u128>> {
        self.alive()?;
        if let Some(row) = self.cached_only(plan) {
            return Ok(Some(row.id).filter(|holder| *holder != id));
        }
        let text = self.source.text(StatementKey::select(plan), || sql::select(plan));
        let mut statement = match self.source.sqlite.prepare_cached(&text) {
            Err(error) if failure::lacks_index(&error) => return Ok(None),
            prepared => prepared.map_err(|error| self.failed(&error))?,
        };
        self.statements.set(self.statements.get() + 1);
        self.bound(row::bind_plan(&mut statement, plan))?;
        let mut found = None;
        self.visit(&mut statement, plan.table, &Cell::new(0), &mut |row| {
            self.cache(row);
            found = Some(row.id()?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found.filter(|holder| *holder != id))
    }

    fn apply(&self, writes: &[RowWrite]) -> Result<()> {
        for RowWrite { table, id, number, write } in writes {
            let is_found = match write {
                Write::Insert(row) => self.insert(table, *id, row).map(|()| true),
                Write::Delete => self.delete(table, *id),
                Write::Vacate(fields) => {
                    self.write_fields(table, (*id, *number), *fields, fields.places().map(|_| ValueRef::Null))
                }
                Write::Update(row, fields) => {
                    self.write_fields(table, (*id, *number), *fields, fields.places().map(|place| row.value(place)))
                }
            }?;
            if !is_found {
                return Err(self.poisoned(Poison::Lost("a row is gone that was changed".to_owned())));
            }
            if let Some(written) = &self.written {
                written.add(table, *id);
            }
        }
        Ok(())
    }

    fn savepoint(&self) -> Result<()> {
        self.control("SAVEPOINT one")
    }

    fn release(&self) -> Result<()> {
        self.control("RELEASE one")
    }

    fn rollback(&self) -> Result<()> {
        self.control("ROLLBACK TO one")?;
        self.control("RELEASE one")
    }
}
