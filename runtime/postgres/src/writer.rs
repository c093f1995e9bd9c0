//! The threads that run mutations concurrently, each in its own transaction.
//!
//! A conflicting mutation runs again after a growing pause until its time limit. Mutations with several conflicts run
//! one at a time on this node, so that they do not keep conflicting with each other. If the connection is cut during a
//! commit, its outcome is looked up by the id that the commit wrote.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tracing::{error, warn};

use super::counters::Counters;
use super::failure::{Failure, UNCONFIRMED, misfit};
use super::line::Line;
use super::nodes::follower::{self, MARK, Signals};
use super::own;
use super::pauses::Pauses;
use super::session::{Ask, BARRIER, Session};
use super::sessions::Sessions;
use super::transaction::{Committed, Death, Frame, PgTransaction, Purpose};
use super::value::Bits;
use convoke_core::clock::Clock;
use convoke_core::limits::Limits;
use convoke_store::fair_queue::Service;
use convoke_store::overlay::{Batch, End, Mode, Transaction};
use convoke_store::{Commits, Flow, OpenError, Reader as _, StoreError, Stuck, TableDef, WriteJob};

/// Number of conflicts after which a mutation waits for its turn among those with as many.
const PATIENT_AFTER: u32 = 2;
/// Time limit of finding the outcome of a commit, with new connections.
const RESOLUTION: Duration = Duration::from_secs(15);
/// Time limit of one such lookup.
const ANSWER: Duration = Duration::from_secs(5);
/// Time limit of the response to a commit.
const COMMIT: Duration = Duration::from_secs(10);
/// Multiple of its time limit after which a mutation counts as stuck.
const STUCK: u32 = 2;
/// Multiple of its time limit after which the process ends, if configured.
const END: u32 = 10;

/// The threads that run mutations, and their shared state.
pub(crate) struct Writers {
    line: Arc<Line<Box<dyn WriteJob>>>,
    count: usize,
    shared: Arc<Shared>,
}

/// Numbers and publishes commits.
pub(crate) struct Home {
    /// This node.
    pub node: u128,
    /// The tables of this program.
    pub tables: Arc<[&'static TableDef]>,
    /// Receives a notification after a commit.
    pub signals: Arc<Signals>,
    /// Publishes commits.
    pub commits: Arc<Commits>,
    /// The state of the server's confirmations.
    pub confirmed: Arc<Confirmed>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// The state of the server's confirmations. After a commit without confirmation in time, no mutation starts until
/// another commit is confirmed: each would use a connection of the server and end with an unknown outcome.
#[derive(Default)]
pub(crate) struct Confirmed(AtomicBool);

impl Confirmed {
    /// Records a commit without confirmation.
    fn doubt(&self) {
        if !self.0.swap(true, Relaxed) {
            warn!("mutations are refused: {UNCONFIRMED}");
        }
    }

    /// Returns the reason why no mutation starts, if there is one.
    pub(crate) fn refused(&self) -> Option<Failure> {
        self.0.load(Relaxed).then_some(Failure::NotWritable(UNCONFIRMED))
    }

    /// Records a confirmed commit.
    pub(crate) fn restore(&self) {
        if self.0.swap(false, Relaxed) {
            warn!("the database confirms commits again");
        }
    }
}

struct Shared {
    home: Home,
    sessions: Arc<Sessions>,
    counters: Arc<Counters>,
    commits: Arc<Commits>,
    clock: Arc<dyn Clock>,
    limit: Duration,
    stuck: Stuck,
    /// Locked by a mutation with several conflicts while it runs again.
    turn: Mutex<()>,
    /// The running functions with their start, by number.
    running: Mutex<Running>,
    collisions: Collisions,
}

/// Functions whose assumptions about unique keys were recently wrong: for some time they read the keys before they write
/// them.
#[derive(Default)]
struct Collisions(Mutex<FxHashMap<String, u32>>);

impl Collisions {
    /// Most remembered functions.
    const NAMES_MAX: usize = 1_000;
    /// Number of runs for which a function is remembered.
    const RUNS: u32 = 50;

    fn note(&self, name: &str) {
        let mut names = self.0.lock();
        if names.len() < Self::NAMES_MAX || names.contains_key(name) {
            names.insert(name.to_owned(), Self::RUNS);
        }
    }

    fn purpose(&self, name: &str) -> Purpose {
        let mut names = self.0.lock();
        let Some(left) = names.get_mut(name) else { return Purpose::Write };
        *left -= 1;
        if *left == 0 {
            names.remove(name);
        }
        Purpose::WriteChecked
    }
}

#[derive(Default)]
struct Running {
    last: u64,
    all: Vec<(u64, String, Duration)>,
}

/// The result of a run of a mutation.
enum Outcome {
    /// Committed.
    Kept,
    /// The function returned an error; nothing is stored.
    Rejected,
    /// The store failed; nothing is stored, or that is unknown.
    Failed(StoreError),
    /// It must run again.
    Again(Death),
}

impl Writers {
    /// Creates this number of threads without starting them.
    pub(crate) fn new(
        home: Home,
        count: usize,
        limits: &Limits,
        sessions: Arc<Sessions>,
        counters: Arc<Counters>,
        stuck: Stuck,
    ) -> Self {
        let (commits, clock) = (home.commits.clone(), home.clock.clone());
        let count = count.max(1);
        let line = Arc::new(Line::new("writer", count, limits.writer_queue_max));
        let limit = limits.mutation_timeout;
        let (turn, running, collisions) = (Mutex::default(), Mutex::default(), Collisions::default());
        let shared = Shared { home, sessions, counters, commits, clock, limit, stuck, turn, running, collisions };
        Self { line, count, shared: Arc::new(shared) }
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(&self) -> Result<Vec<JoinHandle<()>>, OpenError> {
        let (line, shared) = (self.line.clone(), self.shared.clone());
        self.line.start(self.count, move |service, job| shared.serve(&line, service, job))
    }

    /// Queues a mutation. If another flow exceeds its share of a full queue, the newest mutation of that flow is
    /// rejected.
    ///
    /// # Errors
    /// Returns it with the reason.
    pub(crate) fn push(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)> {
        if let Some(other) = self.line.push(job.flow(), job)? {
            self.shared.counters.writer_share_rejections.fetch_add(1, Relaxed);
            answer(other, Err(StoreError::ShareFull("writer")));
        }
        Ok(())
    }

    /// Checks if another mutation of `flow` would be accepted.
    ///
    /// # Errors
    /// The reason for the rejection.
    pub(crate) fn room(&self, flow: Flow) -> Result<(), StoreError> {
        self.line.room(flow)
    }

    /// Returns the number of queued mutations.
    pub(crate) fn waiting(&self) -> usize {
        self.line.busy().1
    }

    /// Returns the function that has been running longest.
    pub(crate) fn longest(&self) -> Option<(String, Duration)> {
        self.shared.longest()
    }

    /// Returns the function that has been running too long.
    pub(crate) fn stuck(&self) -> Option<(String, Duration)> {
        let (name, since) = self.shared.longest().filter(|(_, since)| *since > STUCK * self.shared.limit)?;
        if since > END * self.shared.limit && self.shared.stuck == Stuck::EndProcess {
            // Written directly to standard error, because the log may not be flushed before this process ends.
            eprintln!("convoke: the mutation {name} does not return: the process ends");
            std::process::abort();
        }
        Some((name, since))
    }

    /// Closes the queue; queued mutations still run.
    pub(crate) fn close(&self) {
        self.line.close();
    }
}

impl Shared {
    fn longest(&self) -> Option<(String, Duration)> {
        let now = self.clock.monotonic();
        let running = self.running.lock();
        let (_, name, since) = running.all.iter().min_by_key(|(_, _, since)| *since)?;
        Some((name.clone(), now.saturating_sub(*since)))
    }

    fn serve(&self, line: &Line<Box<dyn WriteJob>>, service: Service, mut job: Box<dyn WriteJob>) {
        // Its time starts when there is a connection.
        let session = self.session();
        let began = self.clock.monotonic();
        let outcome = self.run_until_done(&mut *job, session, began);
        line.end(service, self.clock.monotonic().saturating_sub(began));
        let outcome = match outcome {
            Outcome::Kept | Outcome::Rejected => Ok(()),
            Outcome::Failed(error) => Err(error),
            Outcome::Again(death) => Err(given_up(death)),
        };
        answer(job, outcome);
    }

    /// Runs a mutation repeatedly until it succeeds or its time limit.
    fn run_until_done(
        &self,
        job: &mut dyn WriteJob,
        mut session: Result<Session, Failure>,
        began: Duration,
    ) -> Outcome {
        let (mut conflicts, mut pauses) = (0, Pauses::default());
        let (mut purpose, mut mode) = (self.collisions.purpose(job.name()), Mode::Shared);
        loop {
            let left = self.limit.saturating_sub(self.clock.monotonic().saturating_sub(began));
            let turn = if conflicts > PATIENT_AFTER { self.turn.try_lock_for(left) } else { None };
            let death = match self.attempt(job, session, (purpose, mode), began) {
                Outcome::Again(death) => death,
                Outcome::Failed(StoreError::Deadline { .. }) if conflicts > 0 => {
                    self.counters.contended.fetch_add(1, Relaxed);
                    return Outcome::Again(Death::Again(
                        "it was in conflict with others until its time was over".to_owned(),
                    ));
                }
                outcome => return outcome,
            };
            drop(turn);
            match &death {
                Death::Checked if purpose != Purpose::WriteChecked => {
                    self.collisions.note(job.name());
                    purpose = Purpose::WriteChecked;
                    session = self.session();
                    continue;
                }
                Death::Outgrown if mode != Mode::Alone => {
                    mode = Mode::Alone;
                    session = self.session();
                    continue;
                }
                Death::Outgrown => return Outcome::Again(death),
                // A unique index of a newer release, unknown to this one, rejects a write.
                Death::Again(_) | Death::Missing(_) | Death::Checked => {
                    conflicts += 1;
                    self.counters.retries.fetch_add(1, Relaxed);
                }
                Death::Cut(_) => {
                    self.counters.cuts.fetch_add(1, Relaxed);
                }
                Death::Failed(_) => {}
            }
            let wait = pauses.next();
            if self.clock.monotonic().saturating_sub(began) + wait >= self.limit {
                if matches!(death, Death::Again(_) | Death::Checked) {
                    self.counters.contended.fetch_add(1, Relaxed);
                }
                return Outcome::Again(death);
            }
            thread::sleep(wait);
            session = self.session();
        }
    }

    fn session(&self) -> Result<Session, Failure> {
        self.home.confirmed.refused().map_or_else(|| self.sessions.take(), Err)
    }

    fn attempt(
        &self,
        job: &mut dyn WriteJob,
        session: Result<Session, Failure>,
        (purpose, mode): (Purpose, Mode),
        began: Duration,
    ) -> Outcome {
        let session = match session {
            Ok(session) => session,
            Err(Failure::Cut(reason)) => return Outcome::Again(Death::Cut(reason)),
            Err(failure) => return Outcome::Failed(failure.into_store(0)),
        };
        let clock = self.clock.clone();
        let frame = Frame { clock, began, limit: self.limit, commits: self.commits.clone() };
        let base = Rc::new(PgTransaction::new(session, purpose, frame));
        let batch = Batch::new(self.commits.clone());
        let transaction = Rc::new(Transaction::begin(&batch, base.clone(), mode));
        let number = self.begin(job.name());
        let said = catch_unwind(AssertUnwindSafe(|| job.run(transaction.clone())));
        self.end(number);
        let is_wanted = matches!(said, Ok(Ok(())));
        let death = match transaction.end() {
            Some(End::Outgrown) => base.finish().or(Some(Death::Outgrown)),
            Some(End::Violated { .. }) | None if is_wanted => base.finish(),
            Some(End::Violated { .. }) | None => base.finish_unwanted(),
        };
        let outcome = match (death, said) {
            (Some(Death::Failed(_)), Err(panic)) => Outcome::Failed(panicked(&*panic)),
            (Some(Death::Failed(failure)), Ok(_)) => Outcome::Failed(failure),
            // Its result depends on a wrong assumption, or is incomplete.
            (Some(death), _) => Outcome::Again(death),
            (None, Err(panic)) => self.confirm(&base, Outcome::Failed(panicked(&*panic))),
            (None, Ok(Ok(()))) => self.commit(&base, &batch),
            (None, Ok(Err(None))) => self.confirm(&base, Outcome::Rejected),
            (None, Ok(Err(Some(failure)))) => self.confirm(&base, Outcome::Failed(failure)),
        };
        self.counters.statements.fetch_add(base.statements(), Relaxed);
        self.sessions.give_back(base.close());
        outcome
    }

    /// The error or panic of a function depends on its reads, which are verified without its writes.
    fn confirm(&self, transaction: &PgTransaction, outcome: Outcome) -> Outcome {
        match transaction.confirm(COMMIT) {
            Committed::Yes => outcome,
            Committed::No(Death::Failed(error)) => Outcome::Failed(error),
            Committed::No(death) => Outcome::Again(death),
            Committed::Unknown(failure) => Outcome::Again(Death::Cut(failure.reason())),
        }
    }

    /// Commits, and publishes the changes before any caller learns the result.
    fn commit(&self, transaction: &PgTransaction, batch: &Batch) -> Outcome {
        let begun = self.clock.monotonic();
        let (writes, changes) = (batch.writes(), batch.changes());
        let has_written = !writes.is_empty() || transaction.has_sent();
        let mut with = Vec::new();
        let mut marker = None;
        if has_written {
            match own::random_id() {
                Ok(id) => {
                    let noted = follower::encode(&changes, &self.home.tables);
                    with.push(Ask::Change(MARK.to_owned(), follower::mark(id, self.home.node, noted)));
                    marker = Some(id);
                }
                Err(failure) => return Outcome::Failed(failure.into_store(0)),
            }
        }
        if !has_written && transaction.has_only_read() {
            // A repeated call may find a commit that its standby never confirmed.
            with.push(Ask::Run(BARRIER.to_owned()));
        }
        match (transaction.commit(&writes, with, COMMIT), marker) {
            (Committed::Yes, _) => {}
            (Committed::No(Death::Failed(error)), _) => return Outcome::Failed(error),
            (Committed::No(death), _) => return Outcome::Again(death),
            (Committed::Unknown(failure), marker) => {
                if matches!(failure, Failure::Late | Failure::Unconfirmed) {
                    self.home.confirmed.doubt();
                }
                let reason = failure.reason();
                // Without a marker it has changed nothing and may run again.
                let Some(id) = marker else { return Outcome::Again(Death::Cut(reason)) };
                drop(transaction.close());
                match self.resolve(id, &reason) {
                    Resolved::Committed => {}
                    Resolved::Never => return Outcome::Again(Death::Cut(reason)),
                    Resolved::Unknown => {
                        self.home.signals.doubt(id);
                        let _ = self.commits.commit(changes, || Err::<(), ()>(()));
                        return Outcome::Failed(StoreError::CommitUnknown(reason));
                    }
                }
            }
        }
        self.counters.committed(1, self.clock.monotonic().saturating_sub(begun));
        let Ok(()) = self.commits.commit(changes, || Ok::<_, std::convert::Infallible>(()));
        if marker.is_some() {
            self.home.signals.committed();
        }
        Outcome::Kept
    }

    /// Finds the outcome of a commit. An insert of its id either finds the row, or prevents the commit forever. While
    /// the commit is in progress, the insert waits for it.
    fn resolve(&self, id: u128, reason: &str) -> Resolved {
        self.counters.commits_resolved.fetch_add(1, Relaxed);
        let began = self.clock.monotonic();
        let mut complained = false;
        while self.clock.monotonic().saturating_sub(began) < RESOLUTION {
            match self.sessions.open().and_then(|mut session| self.ask_for(id, &mut session)) {
                Ok(resolved) => return resolved,
                Err(failure) => {
                    if !std::mem::replace(&mut complained, true) {
                        warn!("a commit was cut ({reason}), and what became of it cannot be asked yet: {failure:?}");
                    }
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
        error!("it is unknown what became of a commit: {reason}");
        Resolved::Unknown
    }

    /// One attempt of [`Shared::resolve`].
    fn ask_for(&self, id: u128, session: &mut Session) -> Result<Resolved, Failure> {
        const BY: &str = "SELECT node FROM _commits WHERE id = $1";
        // The row belongs to no node, so that it is not taken for the commit's own if its response is lost.
        let mark = Ask::Change(MARK.to_owned(), follower::mark(id, 0, "null".to_owned()));
        match session.fly(&[mark], ANSWER).pop().unwrap_or(Err(Failure::Late)) {
            // No standby needs to confirm it: the prevented commit is on no standby either.
            Ok(_) | Err(Failure::Unconfirmed) => Ok(Resolved::Never),
            Err(Failure::Unique) => {
                let rows = session.rows(BY, vec![own::id(id)])?;
                let node = rows.first().and_then(|row| row.try_get::<_, Bits>(0).ok());
                if node.is_none_or(|node| node.0 != self.home.node) {
                    return Ok(Resolved::Never);
                }
                // The row may exist without confirmation of the standby. A later confirmation includes it.
                session.confirm(ANSWER).map(|()| Resolved::Committed)
            }
            Err(failure) => Err(failure),
        }
    }

    fn begin(&self, name: &str) -> u64 {
        let mut running = self.running.lock();
        running.last += 1;
        let number = running.last;
        running.all.push((number, name.to_owned(), self.clock.monotonic()));
        number
    }

    fn end(&self, number: u64) {
        self.running.lock().all.retain(|(other, _, _)| *other != number);
    }
}

enum Resolved {
    Committed,
    Never,
    Unknown,
}

/// Returns the error for a caller whose time limit has passed.
fn given_up(death: Death) -> StoreError {
    match death {
        Death::Again(reason) => StoreError::Contended(reason),
        Death::Missing(reason) => misfit(&reason),
        Death::Checked => StoreError::Contended("its writes collide".to_owned()),
        Death::Outgrown => End::Outgrown.error(),
        Death::Cut(reason) => StoreError::Unreachable(reason),
        Death::Failed(error) => error,
    }
}

/// Completes a mutation. A panic in its completion must not end this thread.
fn answer(job: Box<dyn WriteJob>, outcome: Result<(), StoreError>) {
    let name = job.name().to_owned();
    if catch_unwind(AssertUnwindSafe(|| job.finish(outcome))).is_err() {
        error!("the answer of {name} panicked");
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> StoreError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    StoreError::Panicked(text.unwrap_or_else(|| "no message".to_owned()))
}
