//! Runs reads on the calling thread or on their own thread, and mutations on one thread.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use convoke_core::clock::Clock;
use convoke_core::limits::Limits;
use convoke_store::engine::{OnProgress, Progress, Read, Seal};
use convoke_store::gate::Gate;
use convoke_store::overlay::{Base as _, Batch, End, Mode, Transaction as Mutation};
use convoke_store::schema::Extent;
use convoke_store::{
    Commits, Engine, EngineFactory, EngineStart, Files, Flow, Installation, NamedStat, OfflineDatabase, OpenError, Ran,
    ReadJob, Stats, StoreError, TableDef, WriteJob,
};

use super::database::Database;
use super::installation::{Held, copy};
use super::schema;
use super::transaction::Transaction;

/// Databases by their data folder.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<HashMap<PathBuf, Arc<Place>>>);

/// A database that no process serves.
#[derive(Default)]
pub(crate) struct Place(Mutex<State>);

#[derive(Default)]
struct State {
    database: Database,
    replacement: Option<Database>,
    is_held: bool,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a database in memory")
    }
}

impl Place {
    /// Returns the newest committed state.
    pub(crate) fn database(&self) -> Database {
        self.0.lock().unwrap().database.clone()
    }

    /// Sets the replacement.
    pub(crate) fn prepare(&self, replacement: Database) {
        self.0.lock().unwrap().replacement = Some(replacement);
    }

    /// Installs the replacement. Returns true if a database existed.
    pub(crate) fn replace(&self) -> bool {
        let mut state = self.0.lock().unwrap();
        let had_one = state.database.version > 0;
        if let Some(replacement) = state.replacement.take() {
            state.database = replacement;
        }
        had_one
    }

    /// Releases the lock.
    pub(crate) fn release(&self) {
        self.0.lock().unwrap().is_held = false;
    }

    fn commit(&self, database: Database) {
        self.0.lock().unwrap().database = database;
    }
}

impl Memory {
    /// Locks the place of a folder.
    fn hold(&self, folder: &Path) -> Result<Arc<Place>, OpenError> {
        let place = self.0.lock().unwrap().entry(folder.to_owned()).or_default().clone();
        if std::mem::replace(&mut place.0.lock().unwrap().is_held, true) {
            return Err(OpenError::Locked { folder: folder.to_owned(), process: std::process::id().to_string() });
        }
        Ok(place)
    }
}

impl EngineFactory for Memory {
    fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError> {
        Ok(Box::new(MemoryEngine::open(self.hold(start.data)?, start)?))
    }

    fn lock(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        Ok(Box::new(Held { place: self.hold(data)?, clock }))
    }

    fn look(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        self.lock(data, clock)
    }

    fn files(&self, _: &Path) -> Files {
        Files::default()
    }
}

/// The result of a mutation in its batch.
enum Outcome {
    Kept,
    /// The mutation rolls back.
    Rejected,
    Failed(StoreError),
    /// It must run again alone.
    Outgrown,
}

enum Work {
    Job(Box<dyn WriteJob>),
    Schema(Extent, Sender<Result<(), OpenError>>),
}

struct MemoryEngine {
    shared: Arc<Shared>,
    queue: Mutex<Option<SyncSender<Work>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    greatest_id: u128,
}

struct Shared {
    place: Arc<Place>,
    tables: Vec<&'static TableDef>,
    gate: Arc<Gate>,
    commits: Arc<Commits>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    reads: AtomicUsize,
}

impl MemoryEngine {
    fn open(place: Arc<Place>, start: EngineStart<'_>) -> Result<Self, OpenError> {
        let EngineStart { tables, limits, clock, gate, commits, .. } = start;
        let limits = limits.clone();
        let shared = Arc::new(Shared { place, tables, gate, commits, clock, limits, reads: AtomicUsize::new(0) });
        shared.follow(Extent::Whole).inspect_err(|_| shared.place.release())?;
        let greatest_id = shared.place.database().greatest_id();
        let (queue, waiting) = sync_channel(shared.limits.writer_queue_max);
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || shared.write(&waiting))
        };
        Ok(Self { shared, queue: Mutex::new(Some(queue)), writer: Mutex::new(Some(writer)), greatest_id })
    }

    fn queue(&self) -> Option<SyncSender<Work>> {
        self.queue.lock().unwrap().clone()
    }
}

impl Shared {
    fn follow(&self, extent: Extent) -> Result<(), OpenError> {
        let (database, difference) = schema::apply(&self.place.database(), &self.tables, extent, &self.clock)?;
        self.place.commit(database);
        self.gate.set_schema(difference);
        Ok(())
    }

    fn read(&self, read: &mut Read<'_>) -> Ran {
        let (clock, limit) = (self.clock.clone(), self.limits.query_timeout);
        let transaction = Rc::new(Transaction::reading(&self.place, &self.commits, clock, limit));
        read(transaction.clone());
        Ran { outcome: transaction.end(), elapsed: transaction.elapsed() }
    }

    /// Runs the queued mutations, one commit per batch.
    fn write(&self, waiting: &Receiver<Work>) {
        let mut next = waiting.recv().ok();
        while let Some(work) = next.take() {
            match work {
                Work::Schema(extent, done) => {
                    let _ = done.send(self.commits.change_everything(|| self.follow(extent)));
                }
                Work::Job(job) => next = self.batch(job, waiting),
            }
            next = next.or_else(|| waiting.recv().ok());
        }
    }

    /// Commits a batch that begins with `job`, completes its jobs, and returns the next work.
    fn batch(&self, job: Box<dyn WriteJob>, waiting: &Receiver<Work>) -> Option<Work> {
        let batch = Batch::new(self.commits.clone());
        let (mut ran, mut behind, mut outgrown) = (Vec::new(), None, None);
        let mut next = Some(job);
        while let Some(mut job) = next.take() {
            match self.run(&mut *job, &self.base(), &batch, Mode::Shared) {
                Outcome::Outgrown => {
                    outgrown = Some(job);
                    break;
                }
                outcome => ran.push((job, outcome)),
            }
            if ran.len() < self.limits.batch_max && !batch.is_large() {
                match waiting.try_recv().ok() {
                    Some(Work::Job(job)) => next = Some(job),
                    other => behind = other,
                }
            }
        }
        match self.commit(&batch, &self.base()) {
            Ok(()) => ran.into_iter().for_each(|(job, outcome)| finish(job, outcome)),
            // An index that the mutations do not know rejected a write of one of them.
            Err(_) => ran.into_iter().for_each(|(job, _)| self.alone(job)),
        }
        if let Some(job) = outgrown {
            self.alone(job);
        }
        behind
    }

    fn base(&self) -> Rc<Transaction> {
        Rc::new(Transaction::new(self.place.database(), self.clock.clone(), self.limits.mutation_timeout))
    }

    /// Runs a mutation in a transaction of its own, and completes it.
    fn alone(&self, mut job: Box<dyn WriteJob>) {
        let (batch, base) = (Batch::new(self.commits.clone()), self.base());
        let mut outcome = self.run(&mut *job, &base, &batch, Mode::Alone);
        if let Outcome::Kept = outcome
            && let Err(failure) = self.commit(&batch, &base)
        {
            outcome = Outcome::Failed(failure);
        }
        finish(job, outcome);
    }

    /// Commits the writes of a batch on top of those that `base` has applied.
    fn commit(&self, batch: &Batch, base: &Transaction) -> Result<(), StoreError> {
        // Its time is over with the last mutation.
        let state = Transaction::new(base.database(), self.clock.clone(), Duration::MAX);
        state.apply(&batch.writes())?;
        self.commits.commit(batch.changes(), || {
            self.place.commit(state.database());
            Ok(())
        })
    }

    /// Runs one mutation.
    fn run(&self, job: &mut dyn WriteJob, base: &Rc<Transaction>, batch: &Batch, mode: Mode) -> Outcome {
        let mutation = Rc::new(Mutation::begin(batch, base.clone(), mode));
        let said = catch_unwind(AssertUnwindSafe(|| job.run(mutation.clone())));
        let outcome = match (said, base.end(), mutation.end()) {
            (_, Ok(()), Some(End::Outgrown)) => Outcome::Outgrown,
            (Err(panic), _, _) => {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                Outcome::Failed(StoreError::Panicked(text.unwrap_or_default()))
            }
            (Ok(_), Err(failure), _) => Outcome::Failed(failure),
            (Ok(_), Ok(()), Some(end @ End::Violated { .. })) => Outcome::Failed(end.error()),
            (Ok(Ok(())), Ok(()), None) => Outcome::Kept,
            (Ok(Err(None)), Ok(()), None) => Outcome::Rejected,
            (Ok(Err(Some(failure))), Ok(()), None) => Outcome::Failed(failure),
        };
        if let Outcome::Kept = outcome {
            mutation.keep();
        } else {
            mutation.undo();
        }
        outcome
    }
}

fn finish(job: Box<dyn WriteJob>, outcome: Outcome) {
    job.finish(match outcome {
        Outcome::Kept | Outcome::Rejected => Ok(()),
        Outcome::Failed(failure) => Err(failure),
        Outcome::Outgrown => Err(End::Outgrown.error()),
    });
}

impl Engine for MemoryEngine {
    fn read_at_once(&self, _: Flow, read: &mut Read<'_>) -> Result<Option<Ran>, StoreError> {
        Ok(Some(self.shared.read(read)))
    }

    fn read_blocking(&self, _: Flow, read: &mut Read<'_>) -> Result<Ran, StoreError> {
        Ok(self.shared.read(read))
    }

    fn read_in_turn(&self, flow: Flow, mut job: Box<dyn ReadJob>) -> Result<(), StoreError> {
        self.room_to_read(flow)?;
        let shared = self.shared.clone();
        shared.reads.fetch_add(1, SeqCst);
        thread::spawn(move || {
            let ran = shared.read(&mut |reader| job.run(reader));
            shared.reads.fetch_sub(1, SeqCst);
            job.finish(Ok(ran));
        });
        Ok(())
    }

    fn write(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)> {
        let closed = || StoreError::Closed("it is shutting down".to_owned());
        let Some(queue) = self.queue() else { return Err((job, closed())) };
        match queue.try_send(Work::Job(job)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(Work::Job(job))) => Err((job, StoreError::QueueFull("writer"))),
            Err(TrySendError::Disconnected(Work::Job(job))) => Err((job, closed())),
            Err(TrySendError::Full(Work::Schema(..)) | TrySendError::Disconnected(Work::Schema(..))) => {
                unreachable!("a job was sent")
            }
        }
    }

    fn room_to_read(&self, _: Flow) -> Result<(), StoreError> {
        let limits = &self.shared.limits;
        let is_full = self.shared.reads.load(SeqCst) >= limits.readers + limits.reader_queue_max;
        if is_full { Err(StoreError::QueueFull("reader")) } else { Ok(()) }
    }

    fn room_to_write(&self, _: Flow) -> Result<(), StoreError> {
        Ok(())
    }

    fn follow_schema(&self, extent: Extent) -> Result<(), OpenError> {
        let closed = || OpenError::Engine("it is shutting down".to_owned());
        let (done, followed) = channel();
        self.queue().ok_or_else(closed)?.send(Work::Schema(extent, done)).map_err(|_| closed())?;
        followed.recv().map_err(|_| closed())?
    }

    fn name(&self) -> &'static str {
        "memory"
    }

    fn greatest_id(&self) -> u128 {
        self.greatest_id
    }

    fn health(&self) -> Result<(), String> {
        Ok(())
    }

    fn stuck(&self) -> Option<(String, Duration)> {
        None
    }

    fn stats(&self) -> Stats {
        Stats { readers: self.shared.limits.readers, ..Stats::default() }
    }

    fn own_stats(&self) -> Vec<NamedStat> {
        Vec::new()
    }

    fn backup(&self, _: &Path, _: OnProgress, _: &mut Seal<'_>) -> Result<(), StoreError> {
        Err(StoreError::Engine("a database in memory has no file".to_owned()))
    }

    fn snapshot(&self, mut progress: OnProgress) -> Result<Box<dyn OfflineDatabase>, StoreError> {
        progress(Progress { done: 1, total: 1 });
        Ok(copy(self.shared.place.database(), self.shared.clock.clone()))
    }

    fn close(&self) {
        let Some(queue) = self.queue.lock().unwrap().take() else { return };
        // Without a sender, the thread ends after the queued work.
        drop(queue);
        if let Some(writer) = self.writer.lock().unwrap().take()
            && writer.thread().id() != thread::current().id()
        {
            writer.join().unwrap();
        }
        self.shared.gate.shut();
        self.shared.place.release();
    }
}
