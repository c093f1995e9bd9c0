//! A transaction on a session: reads and writes by plan. A failed transaction stays failed.
//!
//! Writes are queued and sent together, before a read that could see them or with the commit. The function assumes that
//! they violate no unique index. If one does, the transaction starts again on a new snapshot and sends each write
//! immediately, so that the function can handle the violation. A row that was read is remembered as it is in the
//! snapshot, so that reading it again needs no round trip.
//!
//! After a deadline, a conflict or a failure of the server, the transaction is *poisoned*: every further operation
//! fails, whatever the function returns.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use tokio_postgres::Row as Raw;

use super::failure::{Failure, STANDBY, UNCONFIRMED};
use super::nodes::turns;
use super::session::{Ask, Flight, Session, Told};
use super::sql;
use super::value::{self, Param, PgRow};
use convoke_core::clock::Clock;
use convoke_store::changes::{Change, Changes};
use convoke_store::overlay::{Base, RowWrite, Write};
use convoke_store::query::LIST_MAX;
use convoke_store::schema::{Definition, Schemas};
use convoke_store::transaction::Visit;
use convoke_store::{
    Commit, Commits, Fields, IndexDef, NewRow, PackedRow, Plan, Reader, Row, StoreError, TableDef, TurnName, Value,
    Writer,
};

type Result<T> = std::result::Result<T, StoreError>;

/// Most queued statements.
const WAITING_MAX: usize = 64;
/// Approximate maximum of their values in bytes.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Most remembered rows.
const REMEMBERED_MAX: usize = 256;
/// First number of rows of a plan without a limit; then the bytes, and the rows, per fetch.
const FIRST_ROWS: u64 = 256;
const CHUNK_BYTES: usize = 1 << 20;
const CHUNK_ROWS: u64 = 5_000;

/// Longest wait of a mutation for a row that another one changes. It mostly conflicts with that one and runs again. Of
/// two mutations that wait for each other, the server would end one only after its `deadlock_timeout`, a second.
const LOCK_WAIT_MS: u32 = 100;

/// The purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Reads on one snapshot.
    Read,
    /// Reads on one snapshot without a time limit, certainly serializable with the writes.
    ReadLong,
    /// A mutation.
    Write,
    /// A mutation that sends each write immediately, because a queued one violated an index.
    WriteAtOnce,
    /// A schema change or an inspection: not a mutation, and not ordered with any.
    Upkeep,
}

impl Purpose {
    fn begin(self, isolation: &str) -> Ask {
        Ask::Run(match self {
            Purpose::Read => format!("BEGIN ISOLATION LEVEL {isolation} READ ONLY"),
            Purpose::ReadLong => "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE".to_owned(),
            Purpose::Write | Purpose::WriteAtOnce => {
                format!("BEGIN ISOLATION LEVEL {isolation}; SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
            }
            Purpose::Upkeep => "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned(),
        })
    }

    /// Returns true if everything is read from one snapshot.
    const fn has_snapshot(self) -> bool {
        !matches!(self, Purpose::Upkeep)
    }
}

/// Options of a transaction: time limit, clock, and commits.
#[derive(Clone)]
pub(crate) struct Frame {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Start.
    pub began: Duration,
    /// Time limit.
    pub limit: Duration,
    /// The commits of the store.
    pub commits: Arc<Commits>,
}

/// An open transaction.
pub(crate) struct PgTransaction {
    session: RefCell<Option<Session>>,
    purpose: Purpose,
    frame: Frame,
    /// The newest commit published before the snapshot, which therefore contains it.
    newest: Commit,
    begun: Cell<bool>,
    /// True if a statement that changes rows was sent.
    has_sent: Cell<bool>,
    waiting: RefCell<Waiting>,
    remembered: RefCell<FxHashMap<(usize, u128), Remembered>>,
    statements: Cell<u64>,
    rows_visited: Cell<u64>,
    keys_visited: Cell<u64>,
    changes: Changes,
    poison: RefCell<Option<Poison>>,
}

/// Unsent writes.
#[derive(Default)]
struct Waiting {
    asks: Vec<Waits>,
    bytes: usize,
    /// Their tables.
    tables: Vec<&'static str>,
    /// True if a sent statement must be rolled back.
    rolls_back: bool,
}

impl Waiting {
    /// Returns true if a read of a table may depend on queued writes.
    fn concerns(&self, table: &str) -> bool {
        self.rolls_back || self.tables.contains(&table)
    }

    /// Returns the writes behind the innermost open savepoint, or all if there is none or it is closed.
    fn part(&self) -> &[Waits] {
        let is_mark = |waits: &Waits| matches!(waits, Waits::Savepoint | Waits::Control(_));
        match self.asks.iter().rposition(is_mark) {
            Some(place) if matches!(self.asks[place], Waits::Savepoint) => &self.asks[place..],
            Some(_) | None => &self.asks,
        }
    }
}

enum Waits {
    Savepoint,
    Control(&'static str),
    /// It must fail if another row has the same keys.
    Check(Ask),
    /// It must change one row; otherwise the function's assumption was wrong.
    Write(Ask),
}

/// The knowledge about a row.
enum Remembered {
    /// It exists.
    Exists,
    /// It exists, with these values.
    Row(Rc<Raw>),
}

/// Reason why no further operation runs.
#[derive(Clone)]
enum Poison {
    Deadline,
    /// It must run again.
    Again(String),
    /// It must run again and send each write immediately.
    AtOnce,
    /// The connection was cut: it may run again.
    Cut(String),
    NoRoom(String),
    NotWritable(&'static str),
    TooLong,
    Lost(String),
    /// The function returned; remaining references to the transaction must not use it.
    Over,
}

/// Reason of a transaction's failure.
pub(crate) enum Death {
    /// It must run again, because it conflicted with others.
    Again(String),
    /// It must run again and send each write immediately.
    AtOnce,
    /// It must run again once there is a connection.
    Cut(String),
    /// This is its result.
    Failed(StoreError),
}

/// The outcome of a commit.
pub(crate) enum Committed {
    /// Durable.
    Yes,
    /// Not committed, for certain.
    No(Death),
    /// Unknown: this failure prevented the response.
    Unknown(Failure),
}

impl PgTransaction {
    /// Creates a transaction that starts with its first operation.
    pub(crate) fn new(session: Session, purpose: Purpose, frame: Frame) -> Self {
        Self {
            session: RefCell::new(Some(session)),
            purpose,
            newest: frame.commits.newest(),
            frame,
            begun: Cell::new(false),
            has_sent: Cell::new(false),
            waiting: RefCell::default(),
            remembered: RefCell::default(),
            statements: Cell::new(0),
            rows_visited: Cell::new(0),
            keys_visited: Cell::new(0),
            changes: Changes::default(),
            poison: RefCell::new(None),
        }
    }

    fn limit_ms(&self) -> u64 {
        self.frame.limit.as_millis().try_into().unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.frame.clock.monotonic().saturating_sub(self.frame.began)
    }

    /// Ends the transaction after its function returned, and returns its failure, if it failed. Late counts as failed.
    pub(crate) fn finish(&self) -> Option<Death> {
        // Other failures have been reported.
        let _ = self.alive();
        self.death()
    }

    /// Like [`PgTransaction::finish`], for a function that rolls back: the assumptions about its queued writes are
    /// verified before its result counts.
    pub(crate) fn finish_unwanted(&self) -> Option<Death> {
        let is_told = self.waiting.borrow().asks.iter().any(|waits| matches!(waits, Waits::Write(_)));
        if is_told && self.alive().is_ok() {
            // The failure fails the transaction.
            let _ = self.fly(Vec::new());
        }
        self.finish()
    }

    fn death(&self) -> Option<Death> {
        let poison = self.poison.borrow();
        Some(match poison.as_ref()? {
            Poison::Again(reason) => Death::Again(reason.clone()),
            Poison::AtOnce => Death::AtOnce,
            Poison::Cut(reason) => Death::Cut(reason.clone()),
            poison => Death::Failed(self.error(poison)),
        })
    }

    fn error(&self, poison: &Poison) -> StoreError {
        match poison {
            Poison::Deadline => StoreError::Deadline { limit_ms: self.limit_ms() },
            Poison::Again(reason) => StoreError::Contended(reason.clone()),
            Poison::AtOnce => StoreError::Contended("a write is to be made at once".to_owned()),
            Poison::Cut(reason) => StoreError::Unreachable(reason.clone()),
            Poison::NoRoom(reason) => StoreError::NoRoom(reason.clone()),
            Poison::NotWritable(reason) => StoreError::NotWritable(reason),
            Poison::TooLong => StoreError::Engine("a key is too long for its index".to_owned()),
            Poison::Lost(reason) => StoreError::TransactionLost(reason.clone()),
            Poison::Over => StoreError::TransactionLost("it is over".to_owned()),
        }
    }

    fn poisoned(&self, poison: Poison) -> StoreError {
        let mut kept = self.poison.borrow_mut();
        let poison = kept.get_or_insert(poison);
        self.error(poison)
    }

    fn failed(&self, failure: Failure) -> StoreError {
        self.poisoned(match failure {
            Failure::Conflict(reason) | Failure::Outdated(reason) => Poison::Again(reason),
            Failure::Unique => Poison::AtOnce,
            Failure::Late => Poison::Deadline,
            Failure::Cut(reason) => Poison::Cut(reason),
            Failure::NoRoom(reason) => Poison::NoRoom(reason),
            Failure::NotWritable(reason) => Poison::NotWritable(reason),
            Failure::Unconfirmed => Poison::Cut(UNCONFIRMED.to_owned()),
            Failure::TooLong(_) => Poison::TooLong,
            Failure::Other(reason) => Poison::Lost(reason),
        })
    }

    /// Checked before every operation: fails if the transaction failed or is late.
    fn alive(&self) -> Result<()> {
        if let Some(poison) = &*self.poison.borrow() {
            return Err(self.error(poison));
        }
        if self.elapsed() > self.frame.limit { Err(self.poisoned(Poison::Deadline)) } else { Ok(()) }
    }

    /// Sends queued writes and these statements behind them. Queued writes must have their assumed results; the caller
    /// evaluates the others.
    fn fly(&self, asks: Vec<Ask>) -> Result<Flight> {
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return Err(self.poisoned(Poison::Over)) };
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        let mut flight = Vec::with_capacity(asks.len() + waiting.asks.len() + 1);
        if !self.begun.replace(true) {
            flight.push(self.purpose.begin(session.isolation()));
        }
        let begin = flight.len();
        let is_write: Vec<bool> = waiting.asks.iter().map(|waits| matches!(waits, Waits::Write(_))).collect();
        flight.extend(waiting.asks.into_iter().map(Waits::into_ask));
        let own = flight.len();
        flight.extend(asks);
        if flight.iter().any(|ask| matches!(ask, Ask::Change(..))) {
            self.has_sent.set(true);
        }
        let left = self.frame.limit.saturating_sub(self.elapsed());
        self.statements.set(self.statements.get() + flight.len() as u64);
        let mut told = begun(begin > 0, session.fly(&flight, left));
        if told.len() < flight.len() {
            // The first failure, before those that follow from it.
            let failure = told.into_iter().find_map(std::result::Result::err);
            return Err(self.failed(failure.unwrap_or(Failure::Late)));
        }
        let rest = told.split_off(own);
        for (number, told) in told.into_iter().enumerate() {
            let told = told.map_err(|failure| self.failed(failure))?;
            if number >= begin && is_write[number - begin] && told.count() != 1 {
                return Err(self.poisoned(Poison::AtOnce));
            }
        }
        Ok(rest)
    }

    /// The result of one statement.
    fn ask(&self, ask: Ask) -> Result<Told> {
        let told = self.fly(vec![ask])?.pop();
        let told = told.unwrap_or_else(|| Err(Failure::Other("a statement was not answered".to_owned())));
        told.map_err(|failure| self.failed(failure))
    }

    /// Queues a write, behind a statement that fails if another row has the same keys.
    fn wait(&self, table: &'static str, checks: Vec<Ask>, ask: Ask) -> Result<()> {
        let mut waiting = self.waiting.borrow_mut();
        waiting.bytes += ask.bytes();
        waiting.asks.extend(checks.into_iter().map(Waits::Check));
        waiting.asks.push(Waits::Write(ask));
        if !waiting.tables.contains(&table) {
            waiting.tables.push(table);
        }
        let is_full = waiting.asks.len() >= WAITING_MAX || waiting.bytes >= WAITING_BYTES_MAX;
        drop(waiting);
        if is_full { self.fly(Vec::new()).map(drop) } else { Ok(()) }
    }

    /// Sends the queued writes to a table before a read of it.
    fn rows(&self, table: &'static TableDef, sql: String, params: Vec<Param>) -> Result<Vec<Raw>> {
        if self.waiting.borrow().concerns(table.name) || !self.begun.get() {
            return self.ask(Ask::Rows(sql, params)).map(Told::rows);
        }
        // Other writes stay queued: the later locks are taken, the shorter they are held.
        let kept = std::mem::take(&mut *self.waiting.borrow_mut());
        let told = self.ask(Ask::Rows(sql, params));
        *self.waiting.borrow_mut() = kept;
        told.map(Told::rows)
    }

    fn remember(&self, table: &'static TableDef, id: u128, what: Remembered) {
        if !self.purpose.has_snapshot() {
            return;
        }
        let mut remembered = self.remembered.borrow_mut();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert((key(table), id), what);
    }

    fn forget(&self, table: &'static TableDef, id: u128) {
        self.remembered.borrow_mut().remove(&(key(table), id));
    }

    fn exists(&self, table: &'static TableDef, id: u128) -> bool {
        self.remembered.borrow().contains_key(&(key(table), id))
    }

    fn remembered_row(&self, table: &'static TableDef, id: u128) -> Option<Rc<Raw>> {
        match self.remembered.borrow().get(&(key(table), id))? {
            Remembered::Row(row) => Some(row.clone()),
            Remembered::Exists => None,
        }
    }

    /// Returns the row with this id, from memory if it was read before.
    fn row(&self, table: &'static TableDef, id: u128) -> Result<Option<Rc<Raw>>> {
        if let Some(row) = self.remembered_row(table, id) {
            return Ok(Some(row));
        }
        let found = self.rows(table, sql::get(table), vec![Value::Id(id).into()])?.pop().map(Rc::new);
        if let Some(row) = &found {
            self.remember(table, id, Remembered::Row(row.clone()));
        }
        Ok(found)
    }

    /// Passes rows to a visitor. Returns true if it stopped.
    fn visit(
        &self,
        table: &'static TableDef,
        rows: Vec<Raw>,
        counter: &Cell<u64>,
        visit: &mut Visit<'_>,
        remember: bool,
    ) -> Result<bool> {
        for raw in rows {
            counter.set(counter.get() + 1);
            let row = PgRow { table, row: &raw };
            let flow = visit(&row)?;
            if remember {
                let id = row.id()?;
                self.remember(table, id, Remembered::Row(Rc::new(raw)));
            }
            if flow.is_break() {
                return Ok(true);
            }
            if counter.get().is_multiple_of(256) {
                self.alive()?;
            }
        }
        Ok(false)
    }

    /// Returns statements that look for another row with these keys, or that fail if there is one, and their indexes.
    fn probes(
        table: &'static TableDef,
        id: u128,
        values: &[Value],
        fails: bool,
        is_asked: impl Fn(&IndexDef) -> bool,
    ) -> (Vec<&'static str>, Vec<Ask>) {
        let collides = |index: &&'static IndexDef| {
            index.unique
                && is_asked(index)
                && index.when.is_none_or(|when| when.holds(table, values))
                && index.keys.iter().all(|key| values[key.field] != Value::Null)
        };
        let probe = |index: &'static IndexDef| {
            let mut params: Vec<Param> = index.keys.iter().map(|key| values[key.field].clone().into()).collect();
            params.push(Value::Id(id).into());
            let sql = sql::other_with(table, index);
            (index.name, if fails { Ask::Change(sql::fail_if(&sql), params) } else { Ask::Rows(sql, params) })
        };
        table.indexes.iter().filter(collides).map(probe).unzip()
    }

    /// Returns the first of these indexes with another row.
    fn found(
        &self,
        indexes: &[&'static str],
        probes: Vec<std::result::Result<Told, Failure>>,
    ) -> Result<Option<&'static str>> {
        let mut found = None;
        for (index, probe) in indexes.iter().zip(probes) {
            let told = probe.map_err(|failure| self.failed(failure))?;
            if told.count() > 0 {
                found.get_or_insert(*index);
            }
        }
        Ok(found)
    }

    /// Another transaction of unknown outcome has a row with the same keys.
    fn again(&self) -> StoreError {
        self.poisoned(Poison::Again("another transaction has changed what a unique index holds".to_owned()))
    }

    /// Runs statements without results behind queued ones, for schema changes.
    pub(crate) fn run(&self, sql: &str) -> Result<()> {
        self.alive()?;
        self.ask(Ask::Run(sql.to_owned())).map(drop)
    }

    /// Like [`PgTransaction::run`]. Returns true if a unique index rejected rows; then nothing has changed.
    pub(crate) fn run_or_collide(&self, sql: &str) -> Result<bool> {
        self.alive()?;
        let run = |sql: &str| Ask::Run(sql.to_owned());
        let mut told = self.fly(vec![run("SAVEPOINT step"), run(sql), run("RELEASE step")])?.into_iter();
        told.next().transpose().map_err(|failure| self.failed(failure))?;
        match told.next() {
            Some(Err(Failure::Unique)) => self.run("ROLLBACK TO step; RELEASE step").map(|()| true),
            Some(Err(failure)) => Err(self.failed(failure)),
            Some(Ok(_)) | None => Ok(false),
        }
    }

    /// Inserts rows in one round trip. Returns true if all were inserted; otherwise none were.
    pub(crate) fn insert_all(&self, table: &'static TableDef, rows: &[NewRow]) -> Result<bool> {
        self.alive()?;
        if rows.iter().any(|row| table.require_storable(&row.values).is_err()) {
            return Ok(false);
        }
        let mut asks = vec![Ask::Run("SAVEPOINT rows".to_owned())];
        let params = |row: &NewRow| inserted(row.id, row.creation_time, &row.values, table);
        asks.extend(rows.iter().map(|row| Ask::Change(sql::insert(table), params(row))));
        asks.push(Ask::Run("RELEASE rows".to_owned()));
        match self.fly(asks)?.into_iter().find_map(std::result::Result::err) {
            None => Ok(true),
            Some(Failure::Unique) => self.run("ROLLBACK TO rows; RELEASE rows").map(|()| false),
            Some(failure) => Err(self.failed(failure)),
        }
    }

    /// Reads rows of an own statement of the engine.
    pub(crate) fn own_rows(&self, sql: &str, params: Vec<Param>) -> Result<Vec<Raw>> {
        self.alive()?;
        self.ask(Ask::Rows(sql.to_owned(), params)).map(Told::rows)
    }

    /// Changes rows of the engine's own tables.
    pub(crate) fn own_change(&self, sql: &str, params: Vec<Param>) -> Result<u64> {
        self.alive()?;
        self.ask(Ask::Change(sql.to_owned(), params)).map(|told| told.count())
    }

    /// Commits the writes, with these statements in the same round trip.
    pub(crate) fn commit(&self, with: Vec<Ask>, limit: Duration) -> Committed {
        if let Some(death) = self.death() {
            return Committed::No(death);
        }
        if !self.begun.get() && self.waiting.borrow().asks.is_empty() && with.is_empty() {
            return Committed::Yes;
        }
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return Committed::No(Death::Failed(self.poisoned(Poison::Over))) };
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        let begins = !self.begun.replace(true);
        let mut flight: Vec<Ask> = begins.then(|| self.purpose.begin(session.isolation())).into_iter().collect();
        flight.extend(waiting.asks.into_iter().map(Waits::into_ask));
        flight.extend(with);
        flight.push(Ask::Run("COMMIT".to_owned()));
        self.statements.set(self.statements.get() + flight.len() as u64);
        let told = begun(begins, session.fly_to_commit(&flight, limit));
        let is_whole = told.len() == flight.len();
        // The server responds to a commit of a failed transaction as if it succeeded, so the statements' results count.
        // An error from the server is certain; a cut connection is not, once the commit may have been sent.
        let failure = told.into_iter().find_map(std::result::Result::err);
        match failure {
            None if is_whole => {
                self.begun.set(false);
                Committed::Yes
            }
            None => Committed::Unknown(Failure::Cut("the commit was not answered".to_owned())),
            Some(failure @ (Failure::Cut(_) | Failure::Late | Failure::Unconfirmed)) => Committed::Unknown(failure),
            Some(failure) => {
                let error = self.failed(failure);
                Committed::No(self.death().unwrap_or(Death::Failed(error)))
            }
        }
    }

    /// Ends it without its writes, as a read-only one: its reads were consistent.
    pub(crate) fn confirm(&self, limit: Duration) -> Committed {
        if let Some(death) = self.death() {
            return Committed::No(death);
        }
        *self.waiting.borrow_mut() = Waiting::default();
        if self.has_sent.get() {
            // Its writes are rolled back, and therefore its reads are not checked.
            return Committed::Yes;
        }
        self.commit(Vec::new(), limit)
    }

    /// Rejects further operations, rolls back uncommitted writes, and returns the session.
    pub(crate) fn close(&self) -> Option<Session> {
        self.poison.borrow_mut().get_or_insert(Poison::Over);
        self.remembered.borrow_mut().clear();
        let mut session = self.session.borrow_mut().take()?;
        if self.begun.replace(false) && session.is_sound() && session.run("ROLLBACK").is_err() {
            session.set_broken();
        }
        session.is_sound().then_some(session)
    }
}

/// Returns the results of a round trip. A transaction like these can always begin, except on a standby.
fn begun(begins: bool, mut told: Flight) -> Flight {
    if begins && let Some(first @ Err(Failure::Outdated(_))) = told.first_mut() {
        *first = Err(Failure::NotWritable(STANDBY));
    }
    told
}

/// Identifies a table: two definitions at one address are equal.
fn key(table: &'static TableDef) -> usize {
    std::ptr::from_ref(table).addr()
}

impl Waits {
    fn into_ask(self) -> Ask {
        match self {
            Waits::Savepoint => Ask::Run("SAVEPOINT part".to_owned()),
            Waits::Control(sql) => Ask::Run(sql.to_owned()),
            Waits::Check(ask) | Waits::Write(ask) => ask,
        }
    }
}

impl Reader for PgTransaction {
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
        self.alive()?;
        let Some(row) = self.row(table, id)? else { return Ok(false) };
        self.rows_visited.set(self.rows_visited.get() + 1);
        visit(&PgRow { table, row: &row }).map(|_| true)
    }

    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
        self.alive()?;
        if plan.is_empty()? {
            return Ok(());
        }
        let counter = if plan.keys_only { &self.keys_visited } else { &self.rows_visited };
        let remember = !plan.keys_only && plan.limit.is_some_and(|limit| limit <= FIRST_ROWS);
        let mut left = plan.limit.unwrap_or(u64::MAX);
        let mut chunk = FIRST_ROWS;
        let mut plan = plan.clone();
        loop {
            plan.limit = Some(left.min(chunk));
            let rows = self.rows(plan.table, sql::select(&plan), value::bind(&plan))?;
            let count = rows.len() as u64;
            left -= count;
            let is_last = left == 0 || count < plan.limit.unwrap_or(0);
            if !is_last {
                if let Some(last) = rows.last() {
                    plan.after = Some(place(&plan, last)?);
                }
                let bytes = rows.iter().map(Raw::raw_size_bytes).sum::<usize>().max(1);
                chunk = (CHUNK_BYTES as u64 * count / bytes as u64).clamp(1, CHUNK_ROWS);
            }
            if self.visit(plan.table, rows, counter, visit, remember)? || is_last {
                return Ok(());
            }
            self.alive()?;
        }
    }

    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<()> {
        for ids in ids.chunks(LIST_MAX) {
            self.alive()?;
            let rows = self.rows(table, sql::get_many(table), vec![Param::ids(ids)])?;
            if self.visit(table, rows, &self.rows_visited, visit, true)? {
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
        let rows = self.rows(plan.table, sql::count(plan), value::bind(plan))?;
        let count: i64 =
            rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(|error| self.failed(Failure::of(&error)))?;
        Ok(count.unsigned_abs())
    }

    fn bytes(&self, table: &'static TableDef) -> Result<u64> {
        self.alive()?;
        let rows = self.rows(table, sql::bytes(table), Vec::new())?;
        let bytes: i64 =
            rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(|error| self.failed(Failure::of(&error)))?;
        Ok(bytes.unsigned_abs())
    }

    fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas> {
        self.alive()?;
        let rows = self.own_rows(sql::LAST_SCHEMA, Vec::new())?;
        let stored = match rows.first() {
            Some(row) => Definition::read(row.try_get(1).map_err(|error| self.failed(Failure::of(&error)))?)?,
            None => Definition::default(),
        };
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

    fn has_turn(&self, turn: &TurnName, number: i64) -> Result<bool> {
        Ok(!self.own_rows(turns::HAS, turns::name(turn, Value::Integer(number).into()))?.is_empty())
    }

    fn pin(&self) -> Result<Commit> {
        self.alive()?;
        if !matches!(self.purpose, Purpose::Read | Purpose::ReadLong) {
            return Err(StoreError::Engine("a transaction that writes shows no commit".to_owned()));
        }
        Ok(self.newest)
    }
}

/// Returns the parameters of a new row.
fn inserted(id: u128, creation_time: i64, values: &[Value], table: &TableDef) -> Vec<Param> {
    let mut params = vec![Value::Id(id).into(), Value::Integer(creation_time).into()];
    let stored = values.iter().zip(table.fields).filter(|(_, field)| !field.retired);
    params.extend(stored.map(|(value, _)| Param::from(value.clone())));
    params
}

/// Returns the position of a row in the order of a plan.
fn place(plan: &Plan, row: &Raw) -> Result<(Vec<Value>, u128)> {
    let row = PgRow { table: plan.table, row };
    let keys = plan.index.map_or(&[][..], |index| index.keys);
    let values = keys.iter().map(|key| row.value(key.field).map(convoke_store::ValueRef::to_value));
    Ok((values.collect::<Result<_>>()?, row.id()?))
}

impl Writer for PgTransaction {
    fn insert(&self, table: &'static TableDef, id: u128, creation_time: i64, values: &[Value]) -> Result<()> {
        self.alive()?;
        table.require_storable(values)?;
        let waits = self.purpose == Purpose::Write && !self.exists(table, id);
        let (indexes, mut asks) = Self::probes(table, id, values, waits, |_| true);
        if waits {
            self.wait(table.name, asks, Ask::Change(sql::insert(table), inserted(id, creation_time, values, table)))?;
        } else {
            asks.push(Ask::Change(sql::insert_unless_taken(table), inserted(id, creation_time, values, table)));
            let mut told = self.fly(asks)?;
            let told_last = told.pop();
            let found = self.found(&indexes, told)?;
            let added = told_last.transpose().map_err(|failure| self.failed(failure))?;
            match (found, added.map_or(0, |told| told.count())) {
                (None, 1) => {}
                (Some(index), 0) => return Err(StoreError::UniqueViolation { table: table.name, index }),
                (None, _) if self.row(table, id)?.is_some() => {
                    return Err(StoreError::UniqueViolation { table: table.name, index: "_id" });
                }
                // A row of this snapshot that was deleted in the meantime, or the other way round.
                (_, _) => return Err(self.again()),
            }
        }
        self.remember(table, id, Remembered::Exists);
        self.changes.add(Change::Inserted { table, id, values });
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
        let mut params: Vec<Param> = changes.iter().map(|(_, value)| value.clone().into()).collect();
        params.push(Value::Id(id).into());
        let update = Ask::Change(sql::update(table, changes), params);
        let touches = |index: &IndexDef| {
            let is_changed = |field: usize| changes.iter().any(|(place, _)| *place == field);
            index.unique
                && (index.keys.iter().any(|key| is_changed(key.field))
                    || index.when.and_then(|when| table.field(when.field())).is_some_and(is_changed))
        };
        let found = if table.indexes.iter().any(touches) {
            self.update_keys(table, id, changes, update, touches)?
        } else if self.exists(table, id) && self.purpose == Purpose::Write {
            self.wait(table.name, Vec::new(), update)?;
            true
        } else {
            self.ask(update)?.count() > 0
        };
        self.forget(table, id);
        if found {
            self.remember(table, id, Remembered::Exists);
            self.changes.add(Change::Updated { table, id, before, values: changes });
        }
        Ok(found)
    }

    fn delete(&self, table: &'static TableDef, id: u128) -> Result<bool> {
        self.alive()?;
        let delete = Ask::Change(sql::delete(table), vec![Value::Id(id).into()]);
        let found = if self.exists(table, id) && self.purpose == Purpose::Write {
            self.wait(table.name, Vec::new(), delete)?;
            true
        } else {
            self.ask(delete)?.count() > 0
        };
        self.forget(table, id);
        if found {
            self.changes.add(Change::Deleted { table, id });
        }
        Ok(found)
    }

    fn savepoint(&self) -> Result<()> {
        self.alive()?;
        self.waiting.borrow_mut().asks.push(Waits::Savepoint);
        self.changes.savepoint();
        Ok(())
    }

    fn release(&self) -> Result<()> {
        self.alive()?;
        self.changes.release()?;
        self.waiting.borrow_mut().asks.push(Waits::Control("RELEASE part"));
        Ok(())
    }

    fn rollback(&self) -> Result<()> {
        self.alive()?;
        let is_told = self.waiting.borrow().part().iter().any(|waits| matches!(waits, Waits::Write(_)));
        if is_told {
            // The assumptions must be true. If these statements were sent with the commit, which hides their failure, a
            // committed transaction would count as failed.
            self.fly(Vec::new())?;
        }
        self.changes.rollback()?;
        // Its knowledge may depend on rolled-back writes.
        self.remembered.borrow_mut().clear();
        let mut waiting = self.waiting.borrow_mut();
        match waiting.asks.last() {
            // No part of it was sent.
            Some(Waits::Savepoint) => drop(waiting.asks.pop()),
            Some(_) | None => {
                waiting.asks.push(Waits::Control("ROLLBACK TO part; RELEASE part"));
                waiting.rolls_back = true;
            }
        }
        Ok(())
    }

    fn bytes_written(&self) -> u64 {
        self.changes.bytes()
    }
}

impl PgTransaction {
    /// Changes keys of unique indexes. Returns true if the row exists.
    fn update_keys(
        &self,
        table: &'static TableDef,
        id: u128,
        changes: &[(usize, Value)],
        update: Ask,
        touches: impl Fn(&IndexDef) -> bool,
    ) -> Result<bool> {
        let Some(row) = self.row(table, id)? else { return Ok(false) };
        let mut values = value::values(table, &row)?;
        for (place, value) in changes {
            values[*place] = value.clone();
        }
        let waits = self.purpose == Purpose::Write;
        let (indexes, probes) = Self::probes(table, id, &values, waits, touches);
        if waits {
            return self.wait(table.name, probes, update).map(|()| true);
        }
        if probes.is_empty() {
            return Ok(self.ask(update)?.count() > 0);
        }
        let mut asks = vec![Ask::Run("SAVEPOINT keys".to_owned())];
        asks.extend(probes);
        asks.push(update);
        asks.push(Ask::Run("RELEASE keys".to_owned()));
        let mut told = self.fly(asks)?;
        let released = told.pop();
        let updated = told.pop();
        let found = self.found(&indexes, told.split_off(1))?;
        match (updated, found) {
            (Some(Ok(told)), None) => {
                released.transpose().map_err(|failure| self.failed(failure))?;
                Ok(told.count() > 0)
            }
            (Some(Err(Failure::Unique)), Some(index)) => {
                self.ask(Ask::Run("ROLLBACK TO keys; RELEASE keys".to_owned()))?;
                Err(StoreError::UniqueViolation { table: table.name, index })
            }
            (Some(Err(Failure::Unique) | Ok(_)), _) | (None, _) => Err(self.again()),
            (Some(Err(failure)), _) => Err(self.failed(failure)),
        }
    }

    /// Returns true if its result depends on rows, rather than on a write that waits for standbys.
    pub(crate) fn has_only_read(&self) -> bool {
        self.begun.get() && !self.has_written()
    }

    /// Returns true if anything was written and not rolled back.
    pub(crate) fn has_written(&self) -> bool {
        self.changes.bytes() > 0
    }
}

impl Base for PgTransaction {
    fn alive(&self) -> Result<()> {
        self.alive()
    }

    fn holder(&self, _: &Plan) -> Result<Option<u128>> {
        Ok(None)
    }

    /// Skips rows that other transactions have deleted: only changes of the schema apply rows here.
    fn apply(&self, writes: &[RowWrite]) -> Result<()> {
        for RowWrite { table, id, write, .. } in writes {
            let values = |fields: Fields, row: &PackedRow| {
                fields.places().map(|place| (place, row.value(place).to_value())).collect::<Vec<_>>()
            };
            match write {
                Write::Update(row, fields) => self.update(table, *id, &[], &values(*fields, row)).map(drop),
                Write::Insert(_) | Write::Delete | Write::Vacate(_) => {
                    Err(StoreError::Engine("only changes of the schema apply rows".to_owned()))
                }
            }?;
        }
        Ok(())
    }

    fn savepoint(&self) -> Result<()> {
        Writer::savepoint(self)
    }

    fn release(&self) -> Result<()> {
        Writer::release(self)
    }

    fn rollback(&self) -> Result<()> {
        Writer::rollback(self)
    }
}
