//! The writer: one thread, one connection, batches.
//!
//! A batch is one transaction of SQLite. The mutations write into a [`Batch`] in memory, and SQLite receives the rows
//! before the commit. A mutation completes only after the commit, even with an error, because its result may depend on
//! uncommitted rows. If SQLite rejects a row or loses the transaction (a full disk, an I/O error), all results are
//! dropped and the mutations run again, each in a transaction of its own. If COMMIT itself fails, it is unknown what is
//! stored: the writer then rejects all writes until it has reopened and checked the database.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tracing::{error, warn};

use super::answer::{answer, panic_message};
use super::cache::{Changed, Written};
use super::connection::{Checkpoint, Common, Connection, Purpose, Readers};
use super::failure::{self, Opening as _};
use super::file::{Bounds, Wal};
use super::queue::{Next, Taken, Whole, Work};
use super::threads::Shared;
use super::transaction::SqliteTransaction;
use convoke_store::overlay::{Base as _, Batch, End, Mode, Transaction};
use convoke_store::{Flow, OpenError, StoreError, WriteJob};

/// First and longest pause between two attempts to reopen the database.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));
/// Time between two log lines about attempts that fail for the same reason.
const COMPLAINT: Duration = Duration::from_secs(60);

/// The state of the writer thread.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    common: Common,
    bounds: Bounds,
    readers: Arc<Readers>,
    connection: Rc<Connection>,
    written: Rc<Written>,
    wal: Wal,
    pending: Batch,
    batch: Vec<Ran>,
}

/// A mutation that waits for the commit.
struct Ran {
    job: Box<dyn WriteJob>,
    flow: Flow,
    elapsed: Duration,
    outcome: Outcome,
}

/// The result of a mutation's run.
enum Outcome {
    /// Its writes are in the transaction.
    Kept,
    /// Its function returned an error; its writes are rolled back.
    Rejected,
    /// The store failed; its writes are rolled back.
    Failed(StoreError),
    /// It wrote too much for a batch, and must run again alone.
    Outgrown,
}

impl Writer {
    /// Takes over the writing connection to a database with this greatest id. Called on the writer thread.
    pub(crate) fn new(
        shared: Arc<Shared>,
        common: Common,
        bounds: Bounds,
        readers: Arc<Readers>,
        connection: Connection,
        greatest_id: u128,
    ) -> Result<Self, OpenError> {
        let wal = Wal::watch(&connection, bounds, common.clock.clone(), readers.clone()).opening()?;
        let (written, pending) = (Rc::new(Written::new(greatest_id)), Batch::new(common.commits.clone()));
        let (connection, batch) = (Rc::new(connection), Vec::new());
        Ok(Self { shared, common, bounds, readers, connection, written, wal, pending, batch })
    }

    /// Processes the queue until its end.
    pub(crate) fn run(mut self) {
        loop {
            match self.shared.queue.next(self.wal.patience(&self.connection)) {
                Next::Work(Work::Job(taken)) => self.batch(taken),
                Next::Work(Work::Whole(Whole::Backup(backup))) => {
                    let connection = self.connection.clone();
                    let copying = AssertUnwindSafe(|| {
                        backup.run(&connection, || {
                            if let Some(taken) = self.shared.queue.waiting() {
                                self.batch(taken);
                            }
                            // A backup copies from one connection, and would start again with another one.
                            Rc::ptr_eq(&self.connection, &connection) && !self.shared.queue.is_closed()
                        });
                    });
                    // A panic of the progress callback must not end the writer.
                    if let Err(panic) = catch_unwind(copying) {
                        error!("a backup panicked: {}", panic_message(&*panic));
                    }
                }
                Next::Work(Work::Whole(Whole::Upkeep(work))) => {
                    let connection = self.connection.clone();
                    work(&connection);
                    self.wal.publish(&self.connection);
                    self.wal.committed(&self.connection);
                }
                Next::Idle => self.wal.idle(&self.connection),
                Next::End => break,
            }
        }
        self.wal.finish(&self.connection);
    }

    /// Runs `first` and other queued mutations in one transaction.
    fn batch(&mut self, first: Taken) {
        let connection = self.connection.clone();
        if let Err(error) = begin(&connection) {
            self.shared.queue.ran(first.service, Duration::ZERO);
            return self.not_begun(first.job, &error);
        }
        let started = self.common.clock.monotonic();
        let mut next = Some(first);
        while let Some(Taken { mut job, service }) = next.take() {
            let slow = job.slow();
            let (outcome, elapsed) = self.attempt(&mut *job, Mode::Shared);
            self.shared.queue.ran(service, elapsed);
            if let Outcome::Outgrown = outcome {
                self.commit();
                return self.alone(job, service.flow());
            }
            self.batch.push(Ran { job, flow: service.flow(), elapsed, outcome });
            if !connection.in_transaction() {
                return self.replay();
            }
            let aged = || self.common.clock.monotonic().saturating_sub(started) >= self.shared.batch_age_max;
            let is_full = self.batch.len() >= self.shared.batch_max || self.pending.is_large();
            if slow || is_full || aged() {
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
        let failure = failure::of_disk(error);
        let reason = format!(
            "a transaction could not be opened: {}",
            failure.as_ref().map_or_else(|| error.to_string(), StoreError::to_string)
        );
        answer(job, Err(failure.unwrap_or_else(|| StoreError::Closed(reason.clone()))));
        self.reopen(&reason);
    }

    /// Runs one mutation, and returns how long that took.
    fn attempt(&self, job: &mut dyn WriteJob, mode: Mode) -> (Outcome, Duration) {
        let began = self.common.clock.monotonic();
        let outcome = self.run_job(job, mode, began);
        (outcome, self.common.clock.monotonic().saturating_sub(began))
    }

    fn run_job(&self, job: &mut dyn WriteJob, mode: Mode, now: Duration) -> Outcome {
        let connection = &self.connection;
        let limit = self.shared.mutation_timeout;
        connection.interrupt.begin_at(now, limit);
        self.shared.current.begin(job.name(), now);
        let base = Rc::new(SqliteTransaction::writing(connection.clone(), limit, self.written.clone()));
        let transaction = Rc::new(Transaction::begin(&self.pending, base.clone(), mode));
        let said = catch_unwind(AssertUnwindSafe(|| job.run(transaction.clone())));
        base.finish();
        self.shared.current.end();
        connection.interrupt.end();
        let outcome = match (base.died(), transaction.end(), said) {
            (None, Some(End::Outgrown), _) => Outcome::Outgrown,
            (_, _, Err(panic)) => Outcome::Failed(StoreError::Panicked(panic_message(&*panic))),
            (Some(failure), _, Ok(_)) => Outcome::Failed(failure),
            (None, Some(end @ End::Violated { .. }), Ok(_)) => Outcome::Failed(end.error()),
            (None, None, Ok(Ok(()))) => Outcome::Kept,
            (None, None, Ok(Err(None))) => Outcome::Rejected,
            (None, None, Ok(Err(Some(failure)))) => Outcome::Failed(failure),
        };
        match outcome {
            Outcome::Kept => transaction.keep(),
            Outcome::Rejected | Outcome::Failed(_) | Outcome::Outgrown => transaction.undo(),
        }
        if base.is_lost() {
            // The other mutations run again without it: SQLite cannot commit them either.
            base.give_up();
        }
        base.close();
        outcome
    }

    /// Runs a mutation in a transaction of its own, and completes it.
    fn alone(&mut self, mut job: Box<dyn WriteJob>, flow: Flow) {
        if let Some(reason) = self.shared.gate.refuses_write(job.access()) {
            return answer(job, Err(StoreError::Closed(reason)));
        }
        if let Err(error) = begin(&self.connection) {
            return self.not_begun(job, &error);
        }
        let (outcome, elapsed) = self.attempt(&mut *job, Mode::Alone);
        self.shared.queue.charge(std::iter::once((flow, elapsed)));
        if !self.connection.in_transaction() {
            self.pending.clear();
            return answer(job, outcome.into_lost_answer());
        }
        if let Outcome::Kept = outcome {
            self.batch.push(Ran { job, flow, elapsed, outcome });
            return self.commit();
        }
        // SQLite may have received rows.
        self.pending.clear();
        match control(&self.connection, "ROLLBACK") {
            Ok(()) => answer(job, outcome.into_answer()),
            Err(error) => {
                let reason = format!("a transaction could not be rolled back: {error}");
                answer(job, Err(StoreError::Closed(reason.clone())));
                self.reopen(&reason);
            }
        }
    }

    /// Commits, and completes all mutations.
    fn commit(&mut self) {
        let begun = self.common.clock.monotonic();
        let writes = self.pending.writes();
        let rows = SqliteTransaction::writing(self.connection.clone(), Duration::MAX, self.written.clone());
        if let Err(error) = rows.apply(&writes) {
            warn!("rows could not be written before a commit: {error}");
            rows.give_up();
            return self.not_applied(error);
        }
        rows.close();
        let changes = self.pending.changes();
        self.pending.clear();
        let commit = || control(&self.connection, "COMMIT");
        let committed = self
            .common
            .commits
            .commit(changes, || self.common.newest.commit(self.written.take_changed(), &writes, commit));
        let elapsed = self.common.clock.monotonic().saturating_sub(begun);
        match committed {
            Ok(()) => {
                self.connection.counters.committed(self.batch.len(), elapsed);
                self.charge_commit(elapsed);
                self.wal.publish(&self.connection);
                for Ran { job, outcome, .. } in self.batch.drain(..) {
                    match &self.common.page_feed {
                        Some(feed) => feed.answer(job, outcome.into_answer()),
                        None => answer(job, outcome.into_answer()),
                    }
                }
                self.wal.committed(&self.connection);
            }
            Err(error) => self.commit_unknown(&failure::of_engine(&error).to_string()),
        }
    }

    /// Completes the mutations of a batch whose rows SQLite rejected.
    fn not_applied(&mut self, error: StoreError) {
        match self.batch.pop() {
            Some(ran) if self.batch.is_empty() => {
                self.pending.clear();
                answer(ran.job, Err(error));
            }
            // Running the mutations one by one shows whose rows they are.
            last => {
                self.batch.extend(last);
                self.replay();
            }
        }
    }

    /// Charges the flows of a batch for its commit, in proportion to the run time of their mutations.
    fn charge_commit(&self, elapsed: Duration) {
        let ran: Duration = self.batch.iter().map(|ran| ran.elapsed).sum();
        if !ran.is_zero() {
            let costs = self.batch.iter().map(|one| (one.flow, elapsed.mul_f64(one.elapsed.div_duration_f64(ran))));
            self.shared.queue.charge(costs);
        }
    }

    /// Completes the mutations with writes in a batch of unknown outcome. A mutation without writes that ran after one
    /// with writes may have seen rows that are not stored, and must be called again.
    fn commit_unknown(&mut self, error: &str) {
        let reason = format!("a commit failed: {error}");
        self.shared.gate.close_writes(&reason);
        let mut wrote = false;
        for Ran { job, outcome, .. } in self.batch.drain(..) {
            let answered = match outcome {
                Outcome::Kept => Err(StoreError::CommitUnknown(error.to_owned())),
                Outcome::Rejected | Outcome::Failed(_) | Outcome::Outgrown if wrote => {
                    Err(StoreError::Closed(reason.clone()))
                }
                outcome => outcome.into_answer(),
            };
            wrote |= matches!(answered, Err(StoreError::CommitUnknown(_)));
            answer(job, answered);
        }
        self.reopen(&reason);
    }

    /// Runs the mutations of a lost transaction again, one by one.
    fn replay(&mut self) {
        self.connection.counters.replays.fetch_add(1, Relaxed);
        self.pending.clear();
        for Ran { job, flow, .. } in std::mem::take(&mut self.batch) {
            self.alone(job, flow);
        }
    }

    /// Rejects writes until the database is reopened, valid, and accepts a commit.
    fn reopen(&mut self, reason: &str) {
        error!("the store refuses writes: {reason}");
        self.shared.gate.close_writes(reason);
        self.pending.clear();
        if self.connection.in_transaction() {
            // It must not hold the lock against the next connection.
            let _ = control(&self.connection, "ROLLBACK");
        }
        let (mut pause, mut is_checked) = (PAUSES.0, false);
        let (mut said, mut silent_until) = (String::new(), Duration::ZERO);
        loop {
            while let Some(Taken { job, service }) = self.shared.queue.waiting() {
                self.shared.queue.ran(service, Duration::ZERO);
                answer(job, Err(StoreError::Closed(reason.to_owned())));
            }
            match self.try_reopen(&mut is_checked) {
                Ok(()) => break,
                Err(error) => {
                    let reason = format!("{reason}; reopening failed: {error}");
                    let now = self.common.clock.monotonic();
                    if reason != said || now >= silent_until {
                        warn!("{reason}");
                        silent_until = now + COMPLAINT;
                    }
                    self.shared.gate.close_writes(&reason);
                    said = reason;
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

    /// Reopens the database. It is checked once, because a check reads all of it and nothing is written until a commit
    /// succeeds.
    fn try_reopen(&mut self, is_checked: &mut bool) -> Result<(), OpenError> {
        let connection = Connection::open(&self.common, Purpose::Write)?;
        if !*is_checked {
            let found: String = connection.sqlite.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).opening()?;
            if found != "ok" {
                return Err(OpenError::Engine(format!("the check found: {found}")));
            }
            *is_checked = true;
        }
        // A checkpoint may free space on a full disk; the commit below shows if it did. It would wait for idle
        // snapshots.
        self.readers.release_snapshots();
        let _ = connection.checkpoint(Checkpoint::Truncate);
        // A separate commit proves that the disk accepts one, and overwrites the rest of the failed one in the log.
        begin(&connection).opening()?;
        control(&connection, "UPDATE \"_schema\" SET \"version\" = \"version\"").opening()?;
        let commit = || self.common.newest.change(Changed::Anything, || control(&connection, "COMMIT"));
        self.common.commits.change_everything(commit).opening()?;
        self.wal = Wal::watch(&connection, self.bounds, self.common.clock.clone(), self.readers.clone()).opening()?;
        if let Some(feed) = &self.common.page_feed {
            // The failed commit may be in the log.
            feed.lose();
        }
        self.connection = Rc::new(connection);
        Ok(())
    }
}

impl Outcome {
    fn into_answer(self) -> Result<(), StoreError> {
        match self {
            Outcome::Kept | Outcome::Rejected => Ok(()),
            Outcome::Failed(failure) => Err(failure),
            Outcome::Outgrown => Err(End::Outgrown.error()),
        }
    }

    /// Returns the result of a mutation that ran alone when its transaction was lost.
    fn into_lost_answer(self) -> Result<(), StoreError> {
        match self {
            Outcome::Kept | Outcome::Rejected => Err(StoreError::TransactionLost("the database gave it up".to_owned())),
            Outcome::Failed(failure) => Err(failure),
            Outcome::Outgrown => Err(End::Outgrown.error()),
        }
    }
}

fn begin(connection: &Connection) -> rusqlite::Result<()> {
    control(connection, "BEGIN IMMEDIATE")
}

fn control(connection: &Connection, sql: &'static str) -> rusqlite::Result<()> {
    connection.interrupt.uninterrupted(|| connection.run(sql))
}
