//! The writer: one thread, one connection, batches.
//!
//! A batch is one transaction; each mutation runs in a savepoint of its own and is answered only after the commit,
//! whatever its answer: it may rest on rows that are not committed before. If SQLite gives the transaction up (a full
//! disk, an I/O error), all outcomes are dropped and the mutations are run again, each alone. If COMMIT itself fails it
//! is unknown what is stored: the writer then refuses everything until it reopened the database and checked it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tracing::{error, warn};

use super::connection::{Common, Connection, Purpose};
use super::failure;
use super::queue::{Next, Work};
use super::readers::Readers;
use super::transaction::{Source, SqliteTransaction};
use super::wal::{Bounds, Wal};
use crate::store::engine::WriteJob;
use crate::store::error::StoreError;
use crate::store::handle::OpenError;
use crate::store::shared::Shared;

/// The first and the longest pause between two attempts to reopen the database.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));

/// The writer's side, on its thread.
pub struct Writer {
    shared: Arc<Shared>,
    common: Common,
    bounds: Bounds,
    readers: Arc<Readers>,
    connection: Rc<Connection>,
    wal: Wal,
    batch: Vec<Ran>,
}

/// A mutation that ran and waits for the commit.
struct Ran {
    job: Box<dyn WriteJob>,
    outcome: Outcome,
}

/// What a mutation's run came to.
enum Outcome {
    /// Its writes are in the transaction.
    Kept,
    /// It refused; its writes are rolled back.
    Refused,
    /// The store failed it; its writes are rolled back.
    Failed(StoreError),
}

impl Writer {
    /// Takes over the connection that writes; called on the writer's thread.
    ///
    /// # Errors
    /// The engine's.
    pub fn new(
        shared: Arc<Shared>,
        common: Common,
        bounds: Bounds,
        readers: Arc<Readers>,
        connection: Connection,
    ) -> Result<Self, OpenError> {
        let wal = Wal::watch(&connection, bounds, common.clock.clone(), readers.clone())?;
        Ok(Self { shared, common, bounds, readers, connection: Rc::new(connection), wal, batch: Vec::new() })
    }

    /// Works until the queue ends.
    pub fn run(mut self) {
        loop {
            match self.shared.queue.next(self.wal.patience(&self.connection)) {
                Next::Work(Work::Job(job)) => self.batch(job),
                Next::Work(Work::Backup(backup)) => {
                    let connection = self.connection.clone();
                    let copying = AssertUnwindSafe(|| {
                        backup.run(&connection, || {
                            if let Some(job) = self.shared.queue.waiting() {
                                self.batch(job);
                            }
                            // A backup copies from one connection: with another one it would have to begin again.
                            Rc::ptr_eq(&self.connection, &connection) && !self.shared.queue.is_closed()
                        });
                    });
                    // Whoever is told of its progress must not end the writer.
                    if let Err(panic) = catch_unwind(copying) {
                        error!("a backup panicked: {}", panic_message(&*panic));
                    }
                }
                Next::Work(Work::Upkeep(work)) => {
                    let connection = self.connection.clone();
                    work(&connection);
                    self.wal.committed(&connection);
                }
                Next::Idle => self.wal.idle(&self.connection),
                Next::End => break,
            }
        }
        self.wal.finish(&self.connection);
    }

    /// Runs `first` and what else waits in one transaction.
    fn batch(&mut self, first: Box<dyn WriteJob>) {
        let connection = self.connection.clone();
        if let Err(error) = begin(&connection) {
            return self.not_begun(first, &error);
        }
        let started = self.common.clock.monotonic();
        let mut next = Some(first);
        while let Some(mut job) = next.take() {
            let slow = job.slow();
            let outcome = self.attempt(&mut *job);
            self.batch.push(Ran { job, outcome });
            if !connection.in_transaction() {
                return self.replay();
            }
            let aged = || self.common.clock.monotonic().saturating_sub(started) >= self.shared.batch_age_max;
            if slow || self.batch.len() >= self.shared.batch_max || aged() {
                break;
            }
            next = self.shared.queue.joining();
        }
        self.commit();
    }

    fn not_begun(&mut self, job: Box<dyn WriteJob>, error: &rusqlite::Error) {
        if failure::busy(error) {
            return answer(job, Err(StoreError::Closed("another program has locked the database".to_owned())));
        }
        let reason = format!("a transaction could not be opened: {error}");
        answer(job, Err(StoreError::Closed(reason.clone())));
        self.reopen(&reason);
    }

    /// Runs one mutation in its savepoint.
    fn attempt(&self, job: &mut dyn WriteJob) -> Outcome {
        let connection = &self.connection;
        if let Err(error) = control(connection, "SAVEPOINT job") {
            return Outcome::Failed(StoreError::TransactionLost(error.to_string()));
        }
        let limit = self.shared.mutation_timeout;
        connection.guard.begin(limit);
        self.shared.current.begin(job.name(), self.common.clock.monotonic());
        let transaction = Rc::new(SqliteTransaction::new(Source::Writer(connection.clone()), limit));
        let said = catch_unwind(AssertUnwindSafe(|| job.run(transaction.clone())));
        transaction.finish();
        self.shared.current.end();
        connection.guard.end();
        let outcome = match (transaction.died(), said) {
            (_, Err(panic)) => Outcome::Failed(StoreError::Panicked(panic_message(&*panic))),
            (Some(failure), Ok(_)) => Outcome::Failed(failure),
            (None, Ok(Ok(()))) => Outcome::Kept,
            (None, Ok(Err(None))) => Outcome::Refused,
            (None, Ok(Err(Some(failure)))) => Outcome::Failed(failure),
        };
        transaction.close();
        if connection.in_transaction() { self.close_savepoint(outcome) } else { outcome }
    }

    fn close_savepoint(&self, outcome: Outcome) -> Outcome {
        let closed = match &outcome {
            Outcome::Kept => control(&self.connection, "RELEASE job"),
            Outcome::Refused | Outcome::Failed(_) => {
                control(&self.connection, "ROLLBACK TO job").and_then(|()| control(&self.connection, "RELEASE job"))
            }
        };
        match closed {
            Ok(()) => outcome,
            Err(error) => {
                // Without its savepoint closed the transaction is of no use to anybody: it is given up, and replayed.
                warn!("a savepoint could not be closed: {error}");
                let _ = control(&self.connection, "ROLLBACK");
                Outcome::Failed(StoreError::TransactionLost(error.to_string()))
            }
        }
    }

    /// Commits, and answers everybody.
    fn commit(&mut self) {
        let begun = self.common.clock.monotonic();
        let committed = self.common.newest.change(|| control(&self.connection, "COMMIT"));
        let took = self.common.clock.monotonic().saturating_sub(begun);
        match committed {
            Ok(()) => {
                self.connection.figures.committed(self.batch.len(), took);
                for Ran { job, outcome } in self.batch.drain(..) {
                    answer(job, outcome.into_answer());
                }
                let connection = self.connection.clone();
                self.wal.committed(&connection);
            }
            Err(error) => self.commit_unknown(&error.to_string()),
        }
    }

    /// It is unknown whether the batch is stored: says so to those whose writes were in it. One that wrote nothing
    /// itself, but ran after one that did, may have seen rows that are not stored: it is to be called again.
    fn commit_unknown(&mut self, error: &str) {
        let reason = format!("a commit failed: {error}");
        self.shared.gate.close_writes(&reason);
        let mut wrote = false;
        for Ran { job, outcome } in self.batch.drain(..) {
            let answered = match outcome {
                Outcome::Kept => Err(StoreError::CommitUnknown(error.to_owned())),
                Outcome::Refused | Outcome::Failed(_) if wrote => Err(StoreError::Closed(reason.clone())),
                Outcome::Refused => Ok(()),
                Outcome::Failed(failure) => Err(failure),
            };
            wrote |= matches!(answered, Err(StoreError::CommitUnknown(_)));
            answer(job, answered);
        }
        self.reopen(&reason);
    }

    /// Runs the mutations of a lost transaction again, each alone.
    fn replay(&mut self) {
        self.connection.figures.replays.fetch_add(1, Relaxed);
        let lost = std::mem::take(&mut self.batch);
        for Ran { mut job, .. } in lost {
            if let Some(reason) = self.shared.gate.refuses_write(job.access()) {
                answer(job, Err(StoreError::Closed(reason)));
                continue;
            }
            if let Err(error) = begin(&self.connection) {
                self.not_begun(job, &error);
                continue;
            }
            let outcome = self.attempt(&mut *job);
            if self.connection.in_transaction() {
                self.batch.push(Ran { job, outcome });
                self.commit();
            } else {
                answer(job, outcome.into_lost_answer());
            }
        }
    }

    /// Refuses writes until the database is open again, whole, and takes a commit.
    fn reopen(&mut self, reason: &str) {
        error!("the store refuses writes: {reason}");
        self.shared.gate.close_writes(reason);
        if self.connection.in_transaction() {
            // It must not keep the lock from the connection that follows.
            let _ = control(&self.connection, "ROLLBACK");
        }
        let mut pause = PAUSES.0;
        loop {
            while let Some(job) = self.shared.queue.waiting() {
                answer(job, Err(StoreError::Closed(reason.to_owned())));
            }
            match self.try_reopen() {
                Ok(()) => break,
                Err(error) => {
                    let reason = format!("{reason}; reopening failed: {error}");
                    warn!("{reason}");
                    self.shared.gate.close_writes(&reason);
                }
            }
            if self.shared.queue.ended_within(pause) {
                return;
            }
            pause = (pause * 2).min(PAUSES.1);
        }
        warn!("the database is open again and was checked");
        self.shared.gate.reopen_writes();
    }

    fn try_reopen(&mut self) -> Result<(), OpenError> {
        let connection = Connection::open(&self.common, Purpose::Write)?;
        let found: String = connection.sqlite.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if found != "ok" {
            return Err(OpenError::Engine(format!("the check found: {found}")));
        }
        // Copying the log back may make room on a full disk; whether it did, the commit below shows.
        let _ = connection.sqlite.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        // A commit of its own: it proves that the disk takes one, and writes over what the failed one left in the log.
        begin(&connection)?;
        control(&connection, "UPDATE \"_schema\" SET \"version\" = \"version\"")?;
        self.common.newest.change(|| control(&connection, "COMMIT"))?;
        self.wal = Wal::watch(&connection, self.bounds, self.common.clock.clone(), self.readers.clone())?;
        self.connection = Rc::new(connection);
        Ok(())
    }
}

impl Outcome {
    fn into_answer(self) -> Result<(), StoreError> {
        match self {
            Outcome::Kept | Outcome::Refused => Ok(()),
            Outcome::Failed(failure) => Err(failure),
        }
    }

    /// The answer when the transaction was given up under a mutation that ran alone.
    fn into_lost_answer(self) -> Result<(), StoreError> {
        match self {
            Outcome::Kept | Outcome::Refused => Err(StoreError::TransactionLost("the database gave it up".to_owned())),
            Outcome::Failed(failure) => Err(failure),
        }
    }
}

fn begin(connection: &Connection) -> rusqlite::Result<()> {
    control(connection, "BEGIN IMMEDIATE")
}

fn control(connection: &Connection, sql: &'static str) -> rusqlite::Result<()> {
    connection.guard.uninterrupted(|| connection.run(sql))
}

/// Answers a mutation. Its answer is its own affair: a panic there must not end the writer.
fn answer(job: Box<dyn WriteJob>, outcome: Result<(), StoreError>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job.finish(outcome))) {
        error!("an answer panicked: {}", panic_message(&*panic));
    }
}

/// What a panic said.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
