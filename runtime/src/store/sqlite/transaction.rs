//! One transaction on a connection: reads and writes by plan, and the rule that a failed one stays failed.
//!
//! After a deadline or a failure of the engine the transaction is *poisoned*: whatever is asked of it next fails, and
//! the call fails whatever its function returns. Otherwise a function that swallows the error could go on writing
//! after SQLite rolled everything back, each write then a transaction of its own.

use std::cell::{Cell, RefCell};
use std::ops::{ControlFlow, Deref};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rusqlite::CachedStatement;

use super::connection::Connection;
use super::failure;
use super::guard::Stop;
use super::readers::Lease;
use super::row::{self, SqliteRow};
use super::shape::{LIST_MAX, Shape, places};
use super::text;
use crate::store::error::StoreError;
use crate::store::table::TableDef;
use crate::store::transaction::{Plan, Row, Transaction, Visit};
use crate::store::value::Value;

/// What a transaction runs on.
pub enum Source {
    /// A reader, held until the transaction is over.
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
pub struct SqliteTransaction {
    source: Source,
    limit: Duration,
    statements: Cell<u64>,
    rows_visited: Cell<u64>,
    savepoints: Cell<u32>,
    poison: RefCell<Option<Poison>>,
}

/// Why nothing more runs.
#[derive(Clone)]
enum Poison {
    Deadline,
    Interrupted,
    Lost(String),
    /// The function returned; whoever kept the transaction has no part in it any more.
    Over,
}

type Result<T> = std::result::Result<T, StoreError>;

impl SqliteTransaction {
    /// A transaction whose `BEGIN` ran already, and which may take `limit`.
    pub fn new(source: Source, limit: Duration) -> Self {
        Self {
            source,
            limit,
            statements: Cell::new(0),
            rows_visited: Cell::new(0),
            savepoints: Cell::new(0),
            poison: RefCell::new(None),
        }
    }

    /// The failure that the transaction died of, if it did.
    pub fn died(&self) -> Option<StoreError> {
        self.poison.borrow().as_ref().map(|poison| self.error(poison))
    }

    /// Its function returned: too late counts as not at all, also if the function has asked for nothing since.
    pub fn finish(&self) {
        if self.source.guard.must_stop() == Some(Stop::Deadline) {
            self.poison.borrow_mut().get_or_insert(Poison::Deadline);
        }
    }

    /// Nothing more runs in it from here.
    pub fn close(&self) {
        // Once a transaction instead of once a statement: the counter is shared by all threads.
        self.source.figures.statements.fetch_add(self.statements.get(), Relaxed);
        self.poison.borrow_mut().get_or_insert(Poison::Over);
    }

    fn error(&self, poison: &Poison) -> StoreError {
        match poison {
            Poison::Deadline => {
                StoreError::Deadline { limit_ms: self.limit.as_millis().try_into().unwrap_or(u64::MAX) }
            }
            Poison::Interrupted => StoreError::Interrupted,
            Poison::Lost(reason) => StoreError::TransactionLost(reason.clone()),
            Poison::Over => StoreError::TransactionLost("it is over".to_owned()),
        }
    }

    fn poisoned(&self, poison: Poison) -> StoreError {
        self.error(self.poison.borrow_mut().get_or_insert(poison))
    }

    /// Asked before every statement: whether the transaction lives and has time left.
    fn alive(&self) -> Result<()> {
        if let Some(poison) = &*self.poison.borrow() {
            return Err(self.error(poison));
        }
        match self.source.guard.must_stop() {
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

    /// What became of the transaction when the engine failed with `error`.
    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        if failure::interrupted(error) {
            return self.stopped(self.source.guard.must_stop().unwrap_or(Stop::Deadline));
        }
        if failure::breaks_connection(error) {
            self.source.set_broken();
        }
        self.poisoned(Poison::Lost(error.to_string()))
    }

    /// The prepared statement of a shape.
    fn statement(&self, shape: Shape, write: impl FnOnce() -> String) -> Result<CachedStatement<'_>> {
        self.statements.set(self.statements.get() + 1);
        let text = self.source.text(shape, write);
        self.source.sqlite.prepare_cached(&text).map_err(|error| self.failed(&error))
    }

    /// Steps through the rows of a statement whose parameters are bound; says whether there was one. Each counts as
    /// `whole` rows read.
    fn visit(
        &self,
        statement: &mut CachedStatement<'_>,
        table: &'static TableDef,
        whole: u64,
        visit: &mut Visit<'_>,
    ) -> Result<bool> {
        let mut rows = statement.raw_query();
        let mut any = false;
        while let Some(row) = rows.next().map_err(|error| self.failed(&error))? {
            any = true;
            self.rows_visited.set(self.rows_visited.get() + whole);
            if visit(&SqliteRow { table, row })?.is_break() {
                break;
            }
            // SQLite does not ask while the visitor works.
            if self.source.guard.ordered() {
                return Err(self.stopped(Stop::Ordered));
            }
        }
        Ok(any)
    }

    /// Runs a writing statement whose parameters are bound; returns how many rows it changed.
    fn write(&self, statement: &mut CachedStatement<'_>, table: &'static TableDef) -> Result<usize> {
        if !self.source.in_transaction() {
            return Err(self.poisoned(Poison::Lost("it is no longer open".to_owned())));
        }
        self.source
            .guard
            .uninterrupted(|| statement.raw_execute())
            .map_err(|error| failure::violation(table, &error).unwrap_or_else(|| self.failed(&error)))
    }

    fn bound(&self, bound: rusqlite::Result<()>) -> Result<()> {
        bound.map_err(|error| self.failed(&error))
    }

    /// `SAVEPOINT` and its like, inside the savepoint that the writer holds.
    fn control(&self, sql: &'static str) -> Result<()> {
        self.statements.set(self.statements.get() + 1);
        self.source.guard.uninterrupted(|| self.source.run(sql)).map_err(|error| self.failed(&error))
    }

    fn close_savepoint(&self) -> Result<()> {
        match self.savepoints.get() {
            0 => Err(StoreError::Engine("no savepoint is open".to_owned())),
            depth => {
                self.savepoints.set(depth - 1);
                Ok(())
            }
        }
    }
}

impl Transaction for SqliteTransaction {
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
        self.alive()?;
        let mut statement = self.statement(Shape::get(table), || text::get(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        self.visit(&mut statement, table, 1, visit)
    }

    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
        self.alive()?;
        if empty(plan)? {
            return Ok(());
        }
        if plan.index.is_none() {
            self.source.figures.scans.fetch_add(1, Relaxed);
        }
        let mut statement = self.statement(Shape::select(plan), || text::select(plan))?;
        self.bound(row::bind_plan(&mut statement, plan))?;
        let whole = if plan.keys_only { 0 } else { 1 };
        self.visit(&mut statement, plan.table, whole, visit).map(|_| ())
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
            let mut statement = self.statement(Shape::get_many(table, places), || text::get_many(table, places))?;
            self.bound(row::bind_ids(&mut statement, ids))?;
            self.visit(&mut statement, table, 1, &mut visit)?;
            if broken_off.get() {
                break;
            }
        }
        Ok(())
    }

    fn count(&self, plan: &Plan) -> Result<u64> {
        self.alive()?;
        if empty(plan)? {
            return Ok(0);
        }
        if plan.index.is_none() {
            self.source.figures.scans.fetch_add(1, Relaxed);
        }
        let mut statement = self.statement(Shape::count(plan), || text::count(plan))?;
        self.bound(row::bind_plan(&mut statement, plan))?;
        let mut rows = statement.raw_query();
        let count = rows
            .next()
            .and_then(|row| row.map_or(Ok(0), |row| row.get::<_, i64>(0)))
            .map_err(|error| self.failed(&error))?;
        Ok(count.unsigned_abs())
    }

    fn insert(&self, table: &'static TableDef, id: u128, creation_time: i64, values: &[Value]) -> Result<()> {
        self.alive()?;
        for (place, value) in values.iter().enumerate() {
            storable(table, place, value)?;
        }
        let mut statement = self.statement(Shape::insert(table), || text::insert(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        self.bound(row::bind(&mut statement, 2, &Value::Integer(creation_time)))?;
        let stored = values.iter().zip(table.fields).filter(|(_, field)| !field.retired);
        for (number, (value, _)) in stored.enumerate() {
            self.bound(row::bind(&mut statement, number + 3, value))?;
        }
        self.write(&mut statement, table).map(|_| ())
    }

    fn update(&self, table: &'static TableDef, id: u128, changes: &[(usize, Value)]) -> Result<bool> {
        self.alive()?;
        if !changes.is_sorted_by(|(one, _), (next, _)| one < next) {
            let mut sorted = changes.to_vec();
            sorted.sort_by_key(|(place, _)| *place);
            sorted.dedup_by(|next, one| next.0 == one.0);
            return self.update(table, id, &sorted);
        }
        if changes.is_empty() {
            return self.get(table, id, &mut |_| Ok(ControlFlow::Break(())));
        }
        for (place, value) in changes {
            storable(table, *place, value)?;
        }
        let mut statement = self.statement(Shape::update(table, changes), || text::update(table, changes))?;
        for (number, (_, value)) in changes.iter().enumerate() {
            self.bound(row::bind(&mut statement, number + 1, value))?;
        }
        self.bound(row::bind_id(&mut statement, changes.len() + 1, id))?;
        self.write(&mut statement, table).map(|rows| rows > 0)
    }

    fn delete(&self, table: &'static TableDef, id: u128) -> Result<bool> {
        self.alive()?;
        let mut statement = self.statement(Shape::delete(table), || text::delete(table))?;
        self.bound(row::bind_id(&mut statement, 1, id))?;
        self.write(&mut statement, table).map(|rows| rows > 0)
    }

    fn savepoint(&self) -> Result<()> {
        self.alive()?;
        self.control("SAVEPOINT inner")?;
        self.savepoints.set(self.savepoints.get() + 1);
        Ok(())
    }

    fn release(&self) -> Result<()> {
        self.alive()?;
        self.close_savepoint()?;
        self.control("RELEASE inner")
    }

    fn rollback(&self) -> Result<()> {
        self.alive()?;
        self.close_savepoint()?;
        self.control("ROLLBACK TO inner")?;
        self.control("RELEASE inner")
    }

    fn bytes(&self, table: &'static TableDef) -> Result<u64> {
        let mut bytes = 0;
        for name in text::trees(table) {
            self.alive()?;
            let mut statement =
                self.source.sqlite.prepare_cached(text::TREE_BYTES).map_err(|error| self.failed(&error))?;
            let found = statement.query_row([name], |row| row.get::<_, i64>(0)).map_err(|error| self.failed(&error))?;
            bytes += found.unsigned_abs();
        }
        Ok(bytes)
    }

    fn statements(&self) -> u64 {
        self.statements.get()
    }

    fn rows_visited(&self) -> u64 {
        self.rows_visited.get()
    }
}

/// Whether a plan has no rows by its form; a list that no statement takes is refused.
fn empty(plan: &Plan) -> Result<bool> {
    match &plan.any {
        Some(values) if values.len() > LIST_MAX => {
            Err(StoreError::Engine(format!("a list of keys has {} values; {LIST_MAX} are the most", values.len())))
        }
        Some(values) => Ok(values.is_empty()),
        None => Ok(plan.limit == Some(0)),
    }
}

/// Refuses what SQLite would store as something else: NaN becomes null, and text ends at U+0000 for many tools.
fn storable(table: &'static TableDef, place: usize, value: &Value) -> Result<()> {
    let reason = match value {
        Value::Float(number) if number.is_nan() => "must be a number",
        Value::Text(text) if text.as_bytes().contains(&0) => "must not contain U+0000",
        Value::Null
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Id(_) => return Ok(()),
    };
    Err(StoreError::Unstorable { table: table.name, field: table.fields[place].name, reason })
}
