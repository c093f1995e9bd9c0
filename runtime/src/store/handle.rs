//! The store as the runtime holds it: opened once, read and written from any thread, closed at the end.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::engine::{Access, WriteJob};
use super::error::StoreError;
use super::figures::{Figures, Snapshot};
use super::pace::FunctionPace;
use super::shared::{Current, Gate, Shared};
use super::sqlite::backup::{self, BackupJob};
use super::sqlite::connection::{Common, Connection, Purpose};
use super::sqlite::file::DatabaseFile;
use super::sqlite::folder::Folder;
use super::sqlite::queue::{Queue, Refusal};
use super::sqlite::readers::Readers;
use super::sqlite::schema::{self, Extent};
use super::sqlite::wal::Bounds;
use super::sqlite::watchdog;
use super::sqlite::writer::Writer;
use super::table::TableDef;
use super::transaction::Transaction;
use crate::clock::Clock;
use crate::limits::Limits;

pub use super::sqlite::backup::Progress;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The data folder; made where it is missing.
    pub folder: PathBuf,
    /// When a commit is on disk.
    pub synchronous: Synchronous,
    /// What happens when a mutation does not return.
    pub stuck: Stuck,
    /// The size of a page in a new database, in bytes: a power of two, 512 … 65,536. A commit writes whole pages: with
    /// 1 KiB a transfer between two accounts of 100,000 writes 8 KB and with 4 KiB 25 KB, for reads that cost a tenth
    /// more. There is one writer and one disk, and reads have all cores.
    pub page_bytes: u32,
    /// The page cache of each connection, in KiB.
    pub cache_kib: u32,
    /// Bytes of the log after which it is copied back into the database. A page that was written many times is copied
    /// once: 10 MiB instead of 32 MiB make a fifth more bytes written.
    pub checkpoint_bytes: u64,
    /// Pages that the database may have; none = as many as the disk holds.
    pub pages_max: Option<u32>,
}

impl StoreOptions {
    /// The defaults, in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            synchronous: Synchronous::Full,
            stuck: Stuck::Report,
            page_bytes: 1_024,
            cache_kib: 8 * 1_024,
            checkpoint_bytes: 32 * 1_024 * 1_024,
            pages_max: None,
        }
    }
}

/// When a commit is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// Before it is answered: what is acknowledged survives a loss of power.
    Full,
    /// Some time later: what is acknowledged survives a crash of the process, and a loss of power takes the last part
    /// of it (nothing is torn).
    Normal,
}

impl Synchronous {
    /// SQLite's number for it.
    pub(super) const fn level(self) -> u8 {
        match self {
            Synchronous::Full => 2,
            Synchronous::Normal => 1,
        }
    }
}

/// What happens when a mutation runs ten times as long as it may. It stops everybody, and cannot be stopped itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// It stands in the log, and in [`Store::ready`].
    Report,
    /// The process ends, for its supervisor to start it again: nothing acknowledged is lost.
    EndProcess,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be made, read or written.
    #[error("the data folder {} cannot be used: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the file system says.
        source: std::io::Error,
    },
    /// Another process serves the folder.
    #[error("the data folder {} is served by another process (id {process})", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// The other's process id, if it wrote it already.
        process: String,
    },
    /// A setting of the engine did not take.
    #[error("the database's setting {name} is {found}, not {expected}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A table's definition breaks a rule of the store.
    #[error("{file}:{line}: table {table}: {mistake}")]
    Definition {
        /// The table.
        table: &'static str,
        /// Where it stands.
        file: &'static str,
        /// The line there.
        line: u32,
        /// What is wrong with it.
        mistake: String,
    },
    /// The engine failed.
    #[error("the database cannot be opened: {0}")]
    Engine(String),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        OpenError::Engine(error.to_string())
    }
}

/// Whether the store serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Reads and writes.
    Open,
    /// Not all of them, or none.
    Closed {
        /// Why, in plain words.
        reason: String,
    },
}

/// The database of a runtime. Clones are the same store; it closes with the last of them.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    common: Common,
    tables: Vec<&'static TableDef>,
    clock: Arc<dyn Clock>,
    wal_bytes_max: u64,
    greatest_id: u128,
    mutation_timeout: Duration,
    threads: Mutex<Vec<JoinHandle<()>>>,
    watchdog: watchdog::Switch,
    snapshots: std::sync::atomic::AtomicU64,
    // Last: the folder is given up when everything in it is closed.
    folder: Folder,
}

impl Store {
    /// Opens the database of a folder, applies what the tables add to it, and starts the writer.
    ///
    /// A schema that differs in more than additions is no error here: the store is [`State::Closed`] then, and serves
    /// [`Access::Admin`] only.
    ///
    /// # Errors
    /// [`OpenError`]: the folder is locked or unusable, a table's definition is wrong, the engine fails.
    pub fn open(
        options: StoreOptions,
        limits: &Limits,
        clock: Arc<dyn Clock>,
        mut tables: Vec<&'static TableDef>,
    ) -> Result<Self, OpenError> {
        schema::check(&tables)?;
        tables.sort_unstable_by_key(|table| table.name);
        let folder = Folder::open(&options.folder)?;
        let shared = Arc::new(shared(limits));
        let common = Common {
            path: folder.database().into(),
            synchronous: options.synchronous,
            page_bytes: options.page_bytes,
            cache_kib: options.cache_kib,
            pages_max: options.pages_max,
            wal_bytes_kept: options.checkpoint_bytes,
            clock: clock.clone(),
            figures: shared.figures.clone(),
            newest: Arc::default(),
        };
        let connection = Connection::open(&common, Purpose::Write)?;
        shared.gate.set_schema(schema::apply(&connection, &tables, Extent::Whole, clock.now())?);
        let greatest_id = schema::greatest_id(&connection)?;
        let readers = Arc::new(Readers::open(&common, limits)?);
        let bounds = Bounds { checkpoint_bytes: options.checkpoint_bytes, interrupt_bytes: limits.wal_bytes_interrupt };
        let writer = start_writer(shared.clone(), common.clone(), bounds, readers.clone(), connection)?;
        let (watchdog, watching) =
            watchdog::start(shared.clone(), clock.clone(), limits.mutation_timeout, options.stuck);
        Ok(Self {
            inner: Arc::new(Inner {
                shared,
                readers,
                common,
                tables,
                clock,
                wal_bytes_max: limits.wal_bytes_max,
                greatest_id,
                mutation_timeout: limits.mutation_timeout,
                threads: Mutex::new(vec![writer, watching]),
                watchdog,
                snapshots: std::sync::atomic::AtomicU64::new(0),
                folder,
            }),
        })
    }

    /// The difference between the schema in code and the database that keeps the store closed, in plain words.
    pub fn difference(&self) -> Option<String> {
        self.inner.shared.gate.difference()
    }

    /// Compares the schema once more, when a migration has run: what fits now is applied, and the store opens. Blocks
    /// until the writer has done it, between two batches.
    ///
    /// # Errors
    /// The engine's.
    pub fn apply_schema(&self) -> Result<State, OpenError> {
        self.follow_schema(Extent::Whole)
    }

    /// Has the database follow the schema in what it can, so that a migration finds the fields that the code has; the
    /// store stays closed for the rest. From then on the former code does not serve it any more.
    ///
    /// # Errors
    /// The engine's.
    pub fn apply_schema_in_part(&self) -> Result<State, OpenError> {
        self.follow_schema(Extent::Part)
    }

    fn follow_schema(&self, extent: Extent) -> Result<State, OpenError> {
        let inner = &self.inner;
        let (shared, newest) = (inner.shared.clone(), inner.common.newest.clone());
        let (tables, clock) = (inner.tables.clone(), inner.clock.clone());
        let (done, applied) = mpsc::channel();
        // On the writer's own connection: a second one that writes would make mutations fail meanwhile.
        let work = Box::new(move |connection: &Connection| {
            let difference = newest.change(|| schema::apply(connection, &tables, extent, clock.now()));
            // Whoever asked may be gone; the state is everybody's.
            let _ = done.send(difference.map(|difference| shared.gate.set_schema(difference)));
        });
        let closed = || OpenError::Engine("it is shutting down".to_owned());
        if !inner.shared.queue.push_upkeep(work) {
            return Err(closed());
        }
        applied.recv().map_err(|_| closed())??;
        Ok(self.state())
    }

    /// The greatest id of any row when the store was opened: new ids must exceed it.
    pub fn greatest_id(&self) -> u128 {
        self.inner.greatest_id
    }

    /// Runs `read` in one snapshot, which ends when it returns. A function that was quick lately runs right here; any
    /// other on a thread for such work. A panic of the function goes on in the caller.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`] if more wait for a reader than may; [`StoreError::Closed`].
    pub async fn read<R, F>(&self, access: Access, pace: &FunctionPace, read: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(Rc<dyn Transaction>) -> R + Send + 'static,
    {
        self.may_read(access)?;
        let lease = self.inner.readers.lease().await?;
        let timed = |clock: &dyn Clock| {
            let started = clock.monotonic();
            let result = lease.run(read);
            (result, clock.monotonic().saturating_sub(started))
        };
        let (result, took) = if pace.is_quick() {
            timed(&*self.inner.clock)
        } else {
            let clock = self.inner.clock.clone();
            let there = tokio::task::spawn_blocking(move || timed(&*clock));
            there.await.map_err(|failure| match failure.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => StoreError::Closed("it is shutting down".to_owned()),
            })?
        };
        pace.record(took);
        result
    }

    /// As [`Store::read`], on the thread that calls, which waits for a reader if none is free: for tools and tests.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_blocking<R>(
        &self,
        access: Access,
        read: impl FnOnce(Rc<dyn Transaction>) -> R,
    ) -> Result<R, StoreError> {
        self.may_read(access)?;
        wait(self.inner.readers.lease())?.run(read)
    }

    fn may_read(&self, access: Access) -> Result<(), StoreError> {
        self.inner.shared.gate.refuses_read(access).map_or(Ok(()), |reason| Err(StoreError::Closed(reason)))
    }

    /// Lines a mutation up for the writer, which answers it through [`WriteJob::finish`] on its own thread.
    ///
    /// # Errors
    /// Gives the job back, with [`StoreError::QueueFull`] or [`StoreError::Closed`].
    pub fn write(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)> {
        let shared = &self.inner.shared;
        if let Some(reason) = shared.gate.refuses_write(job.access()) {
            return Err((job, StoreError::Closed(reason)));
        }
        if self.wal_bytes() > self.inner.wal_bytes_max {
            return Err((job, StoreError::QueueFull("writer")));
        }
        shared.queue.push(job).map_err(|(job, refusal)| {
            let error = match refusal {
                Refusal::Full => StoreError::QueueFull("writer"),
                Refusal::Closed => StoreError::Closed("it is shutting down".to_owned()),
            };
            (job, error)
        })
    }

    /// Whether the store serves everybody.
    pub fn state(&self) -> State {
        self.inner.shared.gate.closed().map_or(State::Open, |reason| State::Closed { reason })
    }

    /// Whether calls can be expected to be served, for `/readyz`: the store is open and no mutation is stuck.
    ///
    /// # Errors
    /// The reason why not, in plain words.
    pub fn ready(&self) -> Result<(), String> {
        if let State::Closed { reason } = self.state() {
            return Err(reason);
        }
        let wal_bytes = self.wal_bytes();
        if wal_bytes > self.inner.wal_bytes_max {
            return Err(format!("writes wait until the log can be copied back: it has {wal_bytes} bytes"));
        }
        match self.stuck() {
            Some((name, since)) => Err(format!("the mutation {name} has been running for {} ms", since.as_millis())),
            None => Ok(()),
        }
    }

    fn wal_bytes(&self) -> u64 {
        self.inner.shared.figures.wal_bytes.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The mutation that does not return and so holds up all others, if there is one, and how long it has been running.
    pub fn stuck(&self) -> Option<(String, Duration)> {
        let running = self.inner.shared.current.running(self.inner.clock.monotonic());
        running.filter(|(_, since)| *since > watchdog::PATIENCE * self.inner.mutation_timeout)
    }

    /// What the store counts about itself.
    pub fn figures(&self) -> Snapshot {
        let (readers_busy, reader_queue) = self.inner.readers.busy();
        let running = self.inner.shared.current.running(self.inner.clock.monotonic());
        Snapshot {
            writer_queue: self.inner.shared.queue.len(),
            reader_queue,
            readers_busy,
            readers: self.inner.readers.count(),
            mutation_running: running.map_or(Duration::ZERO, |(_, since)| since),
            ..self.inner.shared.figures.snapshot()
        }
    }

    /// Copies the database into a file of its own, while it is in use; blocks until the copy is whole, checked, and
    /// has its name. `progress` is told on the writer's thread and must be quick. A copy that fails leaves no file.
    ///
    /// # Errors
    /// [`StoreError::Engine`] if the file cannot be written or the check finds something; [`StoreError::Closed`].
    pub fn backup(&self, to: &Path, progress: impl FnMut(Progress) + Send + 'static) -> Result<(), StoreError> {
        let made = self.copy_to(to, progress).and_then(|copy| backup::complete(copy, to));
        if made.is_err() {
            // The error that is reported is the first one.
            let _ = std::fs::remove_file(backup::partial(to));
        }
        made
    }

    /// A copy of the database as of one commit, for reading at leisure: no snapshot is held, and nothing is left when
    /// it is dropped. Blocks until the copy is made, and takes as much of the disk as the database.
    ///
    /// # Errors
    /// As [`Store::backup`].
    pub fn snapshot(&self, progress: impl FnMut(Progress) + Send + 'static) -> Result<DatabaseFile, StoreError> {
        let failed = |error: std::io::Error| StoreError::Engine(format!("no place for a copy: {error}"));
        let name = format!("snapshot-{}", self.inner.snapshots.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let path = self.inner.folder.scratch(&name).map_err(failed)?;
        let partial = backup::partial(&path);
        let opened = self
            .copy_to(&path, progress)
            .and_then(backup::settle)
            .and_then(|()| DatabaseFile::open(&partial, self.inner.clock.clone()).map_err(StoreError::from));
        // The open file lives on without its name, and falls with its last user, however that one ends.
        let _ = std::fs::remove_file(partial);
        opened
    }

    fn copy_to(
        &self,
        to: &Path,
        progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<rusqlite::Connection, StoreError> {
        let (done, copied) = mpsc::channel();
        let job = BackupJob { to: backup::destination(to)?, progress: Box::new(progress), done };
        let closed = || StoreError::Closed("it is shutting down".to_owned());
        if !self.inner.shared.queue.push_backup(job) {
            return Err(closed());
        }
        copied.recv().map_err(|_| closed())?
    }

    /// The tables it was opened with, by name.
    pub fn tables(&self) -> &[&'static TableDef] {
        &self.inner.tables
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        self.inner.folder.path()
    }

    /// A place for a file that is being made, on the same file system as the database; what is left there is removed
    /// at the next start.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn scratch(&self, name: &str) -> std::io::Result<PathBuf> {
        self.inner.folder.scratch(name)
    }

    /// Takes no more work, answers what waits, copies the log back and ends the threads; blocks until then. Reads that
    /// have begun go on.
    pub fn close(&self) {
        self.inner.close();
    }
}

impl Inner {
    fn close(&self) {
        self.shared.queue.close();
        self.watchdog.off();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // The last handle may fall in an answer, that is on the writer's own thread: it ends right after.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
        self.shared.gate.shut();
        self.readers.close();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

fn shared(limits: &Limits) -> Shared {
    Shared {
        gate: Gate::default(),
        queue: Queue::new(limits.writer_queue_max),
        current: Current::default(),
        figures: Arc::new(Figures::default()),
        batch_max: limits.batch_max.max(1),
        batch_age_max: limits.batch_age_max,
        mutation_timeout: limits.mutation_timeout,
    }
}

/// Starts the writer's thread and waits until it has taken over the connection.
fn start_writer(
    shared: Arc<Shared>,
    common: Common,
    bounds: Bounds,
    readers: Arc<Readers>,
    connection: Connection,
) -> Result<JoinHandle<()>, OpenError> {
    let (started, has_started) = mpsc::channel();
    let thread = thread::Builder::new()
        .name("convoke-writer".to_owned())
        .spawn(move || match Writer::new(shared, common, bounds, readers, connection) {
            Ok(writer) => {
                let _ = started.send(Ok(()));
                writer.run();
            }
            Err(error) => {
                let _ = started.send(Err(error));
            }
        })
        .map_err(|error| OpenError::Engine(format!("no thread for the writer: {error}")))?;
    has_started.recv().map_err(|error| OpenError::Engine(error.to_string()))??;
    Ok(thread)
}

/// Waits for a future on a thread that has nothing else to do.
fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => thread::park(),
        }
    }
}
