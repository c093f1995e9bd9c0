//! A transaction on a session: reads and writes by plan. A failed transaction stays failed.
//!
//! The writes of a mutation arrive with its commit, and all statements are sent together. The mutation assumes that they
//! violate no unique index, and the transaction checks it in the same round trip. If an assumption is wrong, the
//! mutation runs again on a new snapshot and reads the keys before each write, so that its function can handle the
//! violation. A reading transaction remembers rows as they are in the snapshot, so that reading them again needs no round
//! trip.
//!
//! After a deadline, a conflict or a failure of the server, the transaction is *poisoned*: every further operation
//! fails, whatever the function returns.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use tokio_postgres::Row as Raw;

use super::failure::{Failure, STANDBY, UNCONFIRMED, misfit};
use super::nodes::turns;
use super::session::{Ask, Flight, Session, StatementResult};
use super::sql;
use super::value::{self, Bits, Param, PgRow};
use convoke_core::clock::Clock;
use convoke_store::overlay::{Base, RowWrite, Write};
use convoke_store::query::LIST_MAX;
use convoke_store::reader::Visit;
use convoke_store::schema::{Definition, Schemas};
use convoke_store::{Commit, Commits, Fields, NewRow, Plan, Reader, Row, StoreError, TableDef, TurnName, Value};

type Result<T> = std::result::Result<T, StoreError>;

/// Most writes and checks of one round trip.
const FLIGHT_MAX: usize = 64;
/// Approximate maximum of their values in bytes.
const FLIGHT_BYTES_MAX: usize = 1 << 20;
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
    /// A mutation that reads unique keys before it writes them, because an assumption about them was wrong.
    WriteChecked,
    /// A schema change or an inspection: not a mutation, and not ordered with any.
    Upkeep,
}

impl Purpose {
    fn begin(self, isolation: &str) -> Ask {
        Ask::Run(match self {
            Purpose::Read => format!("BEGIN ISOLATION LEVEL {isolation} READ ONLY"),
            Purpose::ReadLong => "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE".to_owned(),
            Purpose::Write | Purpose::WriteChecked => {
                format!("BEGIN ISOLATION LEVEL {isolation}; SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
            }
            Purpose::Upkeep => "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned(),
        })
    }

    /// Returns true if it only reads, on one snapshot.
    const fn is_read(self) -> bool {
        matches!(self, Purpose::Read | Purpose::ReadLong)
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
    assumed: RefCell<Assumed>,
    remembered: RefCell<FxHashMap<(usize, u128), Rc<Raw>>>,
    statements: Cell<u64>,
    rows_visited: Cell<u64>,
    keys_visited: Cell<u64>,
    poison: RefCell<Option<Poison>>,
}

/// Unverified assumptions about the snapshot.
#[derive(Default)]
struct Assumed {
    /// No other row has certain unique keys: each statement fails if a row has them.
    keys: Vec<(&'static TableDef, Ask)>,
    /// No row of the table has the id. The insert of the row verifies it, too.
    ids: Vec<(&'static TableDef, u128)>,
}

impl Assumed {
    fn into_steps(self) -> impl Iterator<Item = Step> {
        let check_id = |(table, id): (&'static TableDef, u128)| {
            (table, Ask::Change(sql::fail_if(&sql::get(table)), vec![Value::Id(id).into()]))
        };
        let checks = self.keys.into_iter().chain(self.ids.into_iter().map(check_id));
        checks.map(|(table, ask)| Step { table, ask, is_write: false })
    }
}

/// A statement of the writes of a mutation.
struct Step {
    table: &'static TableDef,
    ask: Ask,
    /// True if it must change one row.
    is_write: bool,
}

/// Reason why no further operation runs.
#[derive(Clone)]
enum Poison {
    Deadline,
    /// It must run again.
    Again(String),
    /// It may run again on a session that prepares its statements again.
    Missing(String),
    /// It must run again and read unique keys before it writes them.
    Checked,
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
    /// A table or column is missing. It may run again on a session that prepares its statements again.
    Missing(String),
    /// It must run again and read unique keys before it writes them.
    Checked,
    /// It must run again alone, because its writes exceed the limit of a batch.
    Outgrown,
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
            assumed: RefCell::default(),
            remembered: RefCell::default(),
            statements: Cell::new(0),
            rows_visited: Cell::new(0),
            keys_visited: Cell::new(0),
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

    /// Like [`PgTransaction::finish`], for a function that rolls back: its assumptions are verified before its result
    /// counts.
    pub(crate) fn finish_unwanted(&self) -> Option<Death> {
        if self.alive().is_ok() {
            // The failure fails the transaction.
            let _ = self.verify();
        }
        self.finish()
    }

    fn death(&self) -> Option<Death> {
        let poison = self.poison.borrow();
        Some(match poison.as_ref()? {
            Poison::Again(reason) => Death::Again(reason.clone()),
            Poison::Missing(reason) => Death::Missing(reason.clone()),
            Poison::Checked => Death::Checked,
            Poison::Cut(reason) => Death::Cut(reason.clone()),
            poison => Death::Failed(self.error(poison)),
        })
    }

    fn error(&self, poison: &Poison) -> StoreError {
        match poison {
            Poison::Deadline => StoreError::Deadline { limit_ms: self.limit_ms() },
            Poison::Again(reason) => StoreError::Contended(reason.clone()),
            Poison::Missing(reason) => misfit(reason),
            Poison::Checked => StoreError::Contended("an assumption about unique keys was wrong".to_owned()),
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
            Failure::Missing(reason) => Poison::Missing(reason),
            Failure::Unique => Poison::Checked,
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

    /// Sends these statements in one round trip, and returns their results.
    fn fly(&self, mut asks: Vec<Ask>) -> Result<Flight> {
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return Err(self.poisoned(Poison::Over)) };
        let begins = !self.begun.replace(true);
        if begins {
            asks.insert(0, self.purpose.begin(session.isolation()));
        }
        let left = self.frame.limit.saturating_sub(self.elapsed());
        self.statements.set(self.statements.get() + asks.len() as u64);
        let mut results = begun(begins, session.fly(&asks, left));
        if results.len() < asks.len() {
            // The first failure, before those that follow from it.
            let failure = results.into_iter().find_map(std::result::Result::err);
            return Err(self.failed(failure.unwrap_or(Failure::Late)));
        }
        if begins {
            results.remove(0).map_err(|failure| self.failed(failure))?;
        }
        Ok(results)
    }

    /// Sends the checks of assumptions and the statements of writes, and requires their expected results.
    fn fly_steps(&self, steps: Vec<Step>) -> Result<()> {
        let expected: Vec<_> = steps.iter().map(|step| (step.table, step.is_write)).collect();
        if steps.iter().any(|step| step.is_write) {
            self.has_sent.set(true);
        }
        let results = self.fly(steps.into_iter().map(|step| step.ask).collect())?;
        for ((table, is_write), result) in expected.into_iter().zip(results) {
            match (self.purpose, result) {
                // The engine's own transactions handle violations, and their rows may be deleted by other nodes.
                (Purpose::Upkeep, Err(Failure::Unique)) => {
                    return Err(StoreError::UniqueViolation { table: table.name, index: "another" });
                }
                (Purpose::Upkeep, Ok(_)) => {}
                (_, Ok(results)) if !is_write || results.count() == 1 => {}
                (_, Ok(_)) => return Err(self.poisoned(Poison::Checked)),
                (_, Err(failure)) => return Err(self.failed(failure)),
            }
        }
        Ok(())
    }

    /// Returns the statements of the unverified assumptions and of these writes, in round trips.
    fn flights(&self, writes: &[RowWrite]) -> Vec<Vec<Step>> {
        let Assumed { keys, mut ids } = self.assumed.take();
        if !ids.is_empty() {
            let inserts = writes.iter().filter(|write| matches!(write.write, Write::Insert(_)));
            let inserted: FxHashSet<_> = inserts.map(|write| (write.table.name, write.id)).collect();
            ids.retain(|(table, id)| !inserted.contains(&(table.name, *id)));
        }
        let checks = Assumed { keys, ids }.into_steps();
        let writes = writes.iter().map(|write| Step { table: write.table, ask: statement(write), is_write: true });
        let (mut flights, mut flight, mut bytes) = (Vec::new(), Vec::new(), 0);
        for step in checks.chain(writes) {
            if flight.len() >= FLIGHT_MAX || bytes >= FLIGHT_BYTES_MAX {
                flights.push(std::mem::take(&mut flight));
                bytes = 0;
            }
            bytes += step.ask.bytes();
            flight.push(step);
        }
        flights.push(flight);
        flights
    }

    fn ask(&self, ask: Ask) -> Result<StatementResult> {
        let result = self.fly(vec![ask])?.pop();
        let result = result.unwrap_or_else(|| Err(Failure::Other("a statement was not answered".to_owned())));
        result.map_err(|failure| self.failed(failure))
    }

    fn rows(&self, sql: String, params: Vec<Param>) -> Result<Vec<Raw>> {
        self.ask(Ask::Rows(sql, params)).map(StatementResult::rows)
    }

    /// Remembers a row of a reading transaction. A mutation remembers its rows itself.
    fn remember(&self, table: &'static TableDef, id: u128, row: Rc<Raw>) {
        if !self.purpose.is_read() {
            return;
        }
        let mut remembered = self.remembered.borrow_mut();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert((key(table), id), row);
    }

    /// Returns the row with this id, from memory if it was read before.
    fn row(&self, table: &'static TableDef, id: u128) -> Result<Option<Rc<Raw>>> {
        if let Some(row) = self.remembered.borrow().get(&(key(table), id)) {
            return Ok(Some(row.clone()));
        }
        let found = self.rows(sql::get(table), vec![Value::Id(id).into()])?.pop().map(Rc::new);
        if let Some(row) = &found {
            self.remember(table, id, row.clone());
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
                self.remember(table, id, Rc::new(raw));
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

    /// Runs statements without results, for schema changes.
    pub(crate) fn run(&self, sql: &str) -> Result<()> {
        self.alive()?;
        self.ask(Ask::Run(sql.to_owned())).map(drop)
    }

    /// Like [`PgTransaction::run`]. Returns true if a unique index rejected rows; then nothing has changed.
    pub(crate) fn run_or_collide(&self, sql: &str) -> Result<bool> {
        self.alive()?;
        let run = |sql: &str| Ask::Run(sql.to_owned());
        let mut results = self.fly(vec![run("SAVEPOINT step"), run(sql), run("RELEASE step")])?.into_iter();
        results.next().transpose().map_err(|failure| self.failed(failure))?;
        match results.next() {
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
        let params = |row: &NewRow| {
            inserted(table, row.id, row.creation_time, |place| row.values.get(place).cloned().unwrap_or(Value::Null))
        };
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
        self.ask(Ask::Rows(sql.to_owned(), params)).map(StatementResult::rows)
    }

    /// Changes rows of the engine's own tables.
    pub(crate) fn own_change(&self, sql: &str, params: Vec<Param>) -> Result<u64> {
        self.alive()?;
        self.ask(Ask::Change(sql.to_owned(), params)).map(|result| result.count())
    }

    /// Commits these writes and those applied before, with more statements in the same round trip.
    pub(crate) fn commit(&self, writes: &[RowWrite], with: Vec<Ask>, limit: Duration) -> Committed {
        let mut flights = self.flights(writes);
        let last = flights.pop().unwrap_or_default();
        let sent = flights.into_iter().try_for_each(|steps| self.alive().and_then(|()| self.fly_steps(steps)));
        if let Some(death) = self.death() {
            return Committed::No(death);
        }
        if let Err(error) = sent {
            return Committed::No(Death::Failed(error));
        }
        if !self.begun.get() && last.is_empty() && with.is_empty() {
            return Committed::Yes;
        }
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return Committed::No(Death::Failed(self.poisoned(Poison::Over))) };
        let begins = !self.begun.replace(true);
        let mut flight: Vec<Ask> = begins.then(|| self.purpose.begin(session.isolation())).into_iter().collect();
        // In the snapshot each row exists, so that its write changes it or fails.
        flight.extend(last.into_iter().map(|step| step.ask));
        flight.extend(with);
        flight.push(Ask::Run("COMMIT".to_owned()));
        self.statements.set(self.statements.get() + flight.len() as u64);
        let results = begun(begins, session.fly_to_commit(&flight, limit));
        let is_whole = results.len() == flight.len();
        // The server responds to a commit of a failed transaction as if it succeeded, so the statements' results count.
        // An error from the server is certain; a cut connection is not, once the commit may have been sent.
        let failure = results.into_iter().find_map(std::result::Result::err);
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
        if self.has_sent.get() {
            // Its writes are rolled back, and therefore its reads are not checked.
            return Committed::Yes;
        }
        self.commit(&[], Vec::new(), limit)
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
fn begun(begins: bool, mut results: Flight) -> Flight {
    if begins && let Some(first @ Err(Failure::Outdated(_))) = results.first_mut() {
        *first = Err(Failure::NotWritable(STANDBY));
    }
    results
}

/// Identifies a table: two definitions at one address are equal.
fn key(table: &'static TableDef) -> usize {
    std::ptr::from_ref(table).addr()
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
            let rows = self.rows(sql::select(&plan), value::bind(&plan))?;
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
            let rows = self.rows(sql::get_many(table), vec![Param::ids(ids)])?;
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
        let rows = self.rows(sql::count(plan), value::bind(plan))?;
        let count: i64 =
            rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(|error| self.failed(Failure::of(&error)))?;
        Ok(count.unsigned_abs())
    }

    fn bytes(&self, table: &'static TableDef) -> Result<u64> {
        self.alive()?;
        let rows = self.rows(sql::bytes(table), Vec::new())?;
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
        if !self.purpose.is_read() {
            return Err(StoreError::Engine("a transaction that writes shows no commit".to_owned()));
        }
        Ok(self.newest)
    }
}

/// Returns the parameters of a new row.
fn inserted(table: &TableDef, id: u128, creation_time: i64, value: impl Fn(usize) -> Value) -> Vec<Param> {
    let mut params = vec![Value::Id(id).into(), Value::Integer(creation_time).into()];
    let stored = table.fields.iter().enumerate().filter(|(_, field)| !field.retired);
    params.extend(stored.map(|(place, _)| Param::from(value(place))));
    params
}

fn statement(RowWrite { table, id, write, .. }: &RowWrite) -> Ask {
    let update = |fields: Fields, value: &dyn Fn(usize) -> Value| {
        let values = fields.places().map(value).chain([Value::Id(*id)]);
        Ask::Change(sql::update(table, fields), values.map(Param::from).collect())
    };
    match write {
        Write::Delete => Ask::Change(sql::delete(table), vec![Value::Id(*id).into()]),
        Write::Vacate(fields) => update(*fields, &|_| Value::Null),
        Write::Update(row, fields) => update(*fields, &|place| row.value(place).to_value()),
        Write::Insert(row) => {
            let value = |place| row.value(place).to_value();
            Ask::Change(sql::insert(table), inserted(table, *id, row.creation_time(), value))
        }
    }
}

/// Returns the position of a row in the order of a plan.
fn place(plan: &Plan, row: &Raw) -> Result<(Vec<Value>, u128)> {
    let row = PgRow { table: plan.table, row };
    let keys = plan.index.map_or(&[][..], |index| index.keys);
    let values = keys.iter().map(|key| row.value(key.field).map(convoke_store::ValueRef::to_value));
    Ok((values.collect::<Result<_>>()?, row.id()?))
}

impl Base for PgTransaction {
    fn alive(&self) -> Result<()> {
        self.alive()
    }

    fn is_free(&self, table: &'static TableDef, id: u128) -> bool {
        let is_assumed = self.purpose == Purpose::Write;
        if is_assumed {
            self.assumed.borrow_mut().ids.push((table, id));
        }
        is_assumed
    }

    fn holder(&self, plan: &Plan, id: u128) -> Result<Option<u128>> {
        self.alive()?;
        let Some(index) = plan.index else { return Ok(None) };
        let sql = sql::other_with(plan.table, index);
        let params: Vec<Param> = plan.eq.iter().cloned().chain([Value::Id(id)]).map(Param::from).collect();
        if self.purpose == Purpose::Write {
            let check = Ask::Change(sql::fail_if(&sql), params);
            self.assumed.borrow_mut().keys.push((plan.table, check));
            return Ok(None);
        }
        let rows = self.rows(sql, params)?;
        let holder = rows.first().map(|row| row.try_get::<_, Bits>(0)).transpose();
        Ok(holder.map_err(|error| self.failed(Failure::of(&error)))?.map(|id| id.0))
    }

    fn verify(&self) -> Result<()> {
        let mut checks = self.assumed.take().into_steps();
        loop {
            let flight: Vec<_> = checks.by_ref().take(FLIGHT_MAX).collect();
            if flight.is_empty() {
                return Ok(());
            }
            self.fly_steps(flight)?;
        }
    }

    fn apply(&self, writes: &[RowWrite]) -> Result<()> {
        self.alive()?;
        self.flights(writes).into_iter().filter(|steps| !steps.is_empty()).try_for_each(|steps| self.fly_steps(steps))
    }

    fn savepoint(&self) -> Result<()> {
        self.run("SAVEPOINT part")
    }

    fn release(&self) -> Result<()> {
        self.run("RELEASE part")
    }

    fn rollback(&self) -> Result<()> {
        self.run("ROLLBACK TO part; RELEASE part")
    }
}

impl PgTransaction {
    /// Returns true if its result depends on rows, rather than on a write that waits for standbys.
    pub(crate) fn has_only_read(&self) -> bool {
        self.begun.get() && !self.has_sent.get()
    }

    /// Returns true if it has sent writes.
    pub(crate) fn has_sent(&self) -> bool {
        self.has_sent.get()
    }
}
