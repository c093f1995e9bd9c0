//! The readers: connections that read one snapshot each, handed out one query at a time, in the order of a
//! [`FairQueue`].
//!
//! A query may run where it is called, if a reader is free. Any other runs on a thread of the readers', of which there is
//! one for each: what waits goes on there as soon as the query before it has ended, however much the executor has to do.
//!
//! A snapshot stays open when its query is done, and serves the next one if nothing was committed in between. Before the
//! log is copied back, the readers that nobody uses let go of theirs.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::connection::{Common, Connection, Purpose, VFS};
use super::failure::{self, Opening as _};
use super::interrupt::Interrupt;
use super::transaction::{Source, SqliteTransaction};
use convoke_core::clock::Clock;
use convoke_core::limits::Limits;
use convoke_core::priority::{Behind, stand_back};
use convoke_store::engine::Read;
use convoke_store::fair_queue::{FairQueue, Rejection, Service};
use convoke_store::{Flow, OpenError, Ran, ReadJob, StoreError};
use parking_lot::{Condvar, Mutex};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use r2d2::ManageConnection;
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::OpenFlags;

/// What stays as it is in the path of a URI.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The pool of readers.
pub(crate) struct Readers {
    pool: r2d2::Pool<Manager>,
    line: Arc<Line>,
    interrupts: Arc<Mutex<Vec<Arc<Interrupt>>>>,
    count: usize,
    timeout: Duration,
    clock: Arc<dyn Clock>,
}

impl Readers {
    /// Opens all readers and starts their threads.
    ///
    /// # Errors
    /// As [`Connection::open`]; the system has no thread.
    pub(crate) fn open(common: &Common, limits: &Limits) -> Result<Self, OpenError> {
        let count = limits.readers.max(1);
        let interrupts = Arc::default();
        let manager = Manager::new(common.clone(), Arc::clone(&interrupts));
        // The pool reports a failed connection as a text, after a while: one is tried before, for its own error.
        drop(manager.connect()?);
        let size = u32::try_from(count).unwrap_or(u32::MAX);
        let pool = r2d2::Pool::builder()
            .max_size(size)
            .min_idle(Some(size))
            .test_on_check_out(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .build(manager)
            .map_err(|error| OpenError::Engine(error.to_string()))?;
        let line = Arc::new(Line::new(count, limits.reader_queue_max));
        let readers =
            Self { pool, line, interrupts, count, timeout: limits.query_timeout, clock: common.clock.clone() };
        for number in 0..count {
            let line = readers.line.clone();
            thread::Builder::new()
                .name(format!("convoke-reader-{number}"))
                .spawn(move || {
                    stand_back(Behind::Calls);
                    line.work();
                })
                .map_err(|error| OpenError::Engine(format!("no thread for a reader: {error}")))?;
        }
        Ok(readers)
    }

    /// A reader for the caller's own thread, if one is free and nobody waits.
    ///
    /// # Errors
    /// [`StoreError::Closed`]; the engine's, while a reader is being replaced.
    pub(crate) fn lease_at_once(self: &Arc<Self>, flow: Flow) -> Result<Option<Lease>, StoreError> {
        let service = self.line.try_serve(flow)?;
        service.map(|service| self.clone().lease(service, Place::Caller)).transpose()
    }

    /// Has a thread of the readers' run `job`, now or when it is the flow's turn. Another one may have to go for it,
    /// whose flow has more than its share of the places: that one is to be refused.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`], [`StoreError::Closed`].
    pub(crate) fn read(self: &Arc<Self>, flow: Flow, job: Box<dyn ReadJob>) -> Result<Option<Waiting>, StoreError> {
        self.line.push(flow, Waiting::Job(self.clone(), job))
    }

    /// A reader for the thread that calls, which waits for its turn.
    ///
    /// # Errors
    /// As [`Readers::read`].
    pub(crate) fn lease_blocking(self: &Arc<Self>, flow: Flow) -> Result<Lease, StoreError> {
        if let Some(lease) = self.lease_at_once(flow)? {
            return Ok(lease);
        }
        let (reply, answer) = mpsc::channel();
        if let Some(other) = self.line.push(flow, Waiting::Thread(reply))? {
            other.refuse(rejected(Rejection::Share));
        }
        let service = answer.recv().map_err(|_| closed())??;
        self.clone().lease(service, Place::Caller)
    }

    fn lease(self: Arc<Self>, service: Service, place: Place) -> Result<Lease, StoreError> {
        let turn = Turn { began: self.clock.monotonic(), readers: self, service, place };
        // Who is served finds a connection, unless one broke and is being replaced.
        let connection = turn
            .readers
            .pool
            .try_get()
            .ok_or_else(|| StoreError::Disk("a reader is being replaced after a failure".to_owned()))?;
        Ok(Lease { connection, turn })
    }

    /// Whether one more call of `flow` would get a reader or a place to wait.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    pub(crate) fn room(&self, flow: Flow) -> Result<(), StoreError> {
        let state = self.line.state.lock();
        if state.queue.is_free() { Ok(()) } else { state.queue.admits(flow).map_err(rejected) }
    }

    /// Ends the snapshots that nobody uses: they would keep the log from being copied back, and from starting anew.
    pub(crate) fn release_snapshots(&self) {
        // All of them are held until the last one is found: the pool would hand out the first one again.
        let mut held = Vec::with_capacity(self.count);
        while let Ok(Some(service)) = self.line.try_serve(Flow::SYSTEM) {
            let Some(connection) = self.pool.try_get() else {
                self.line.end(service, Duration::ZERO, Place::Caller);
                break;
            };
            if connection.end_snapshot().is_err() {
                connection.set_broken();
            }
            held.push((connection, service));
        }
        for (connection, service) in held {
            drop(connection);
            self.line.end(service, Duration::ZERO, Place::Caller);
        }
    }

    /// Tells the reader whose snapshot is the oldest to stop; says whether one was at work.
    pub(crate) fn stop_oldest(&self) -> bool {
        let interrupts = self.interrupts.lock();
        let oldest = interrupts
            .iter()
            .filter(|interrupt| !interrupt.ordered())
            .filter_map(|interrupt| interrupt.open_since().map(|since| (since, interrupt)))
            .min_by_key(|(since, _)| *since);
        oldest.inspect(|(since, interrupt)| interrupt.stop(*since)).is_some()
    }

    /// How many readers are at work, and how many calls wait for one.
    pub(crate) fn busy(&self) -> (usize, usize) {
        let state = self.line.state.lock();
        (state.queue.served(), state.queue.len())
    }

    /// How many readers there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Hands out no reader any more; what waits is told so. Reads that have begun go on.
    pub(crate) fn close(&self) {
        self.line.close();
    }
}

/// Whoever waits for a reader. Its flow may lose its place before its turn comes, and the store may close.
pub(crate) enum Waiting {
    /// A read, for a thread of the readers'.
    Job(Arc<Readers>, Box<dyn ReadJob>),
    /// A thread, which reads itself.
    Thread(mpsc::Sender<Result<Service, StoreError>>),
}

impl Waiting {
    /// Its turn has come.
    fn serve(self, service: Service) {
        match self {
            // Nobody waits for it any more.
            Waiting::Job(readers, job) if job.is_abandoned() => {
                readers.line.end(service, Duration::ZERO, Place::Reader);
            }
            Waiting::Job(readers, mut job) => {
                let lease = readers.lease(service, Place::Reader);
                let ran = lease.map(|lease| lease.run(&mut |reader| job.run(reader)));
                job.finish(ran);
            }
            Waiting::Thread(reply) => {
                // It waits for this and nothing else.
                let _ = reply.send(Ok(service));
            }
        }
    }

    /// Its turn will not come.
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Waiting::Job(_, job) => job.finish(Err(error)),
            Waiting::Thread(reply) => {
                let _ = reply.send(Err(error));
            }
        }
    }
}

/// The queue for the readers, and the threads that work it off.
struct Line {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    queue: FairQueue<Waiting>,
    /// Whose turn it is, for the next thread.
    granted: VecDeque<(Service, Waiting)>,
    closed: bool,
}

/// Where a reader is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On the thread that called.
    Caller,
    /// On a thread of the readers', which looks for what is next by itself.
    Reader,
}

impl Line {
    fn new(count: usize, waiting_max: usize) -> Self {
        let state = State { queue: FairQueue::new(count, waiting_max), granted: VecDeque::new(), closed: false };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Serves `flow` on the caller's thread, if that takes nobody's turn.
    fn try_serve(&self, flow: Flow) -> Result<Option<Service>, StoreError> {
        let mut state = self.state.lock();
        if state.closed { Err(closed()) } else { Ok(state.queue.try_serve(flow)) }
    }

    /// Has a thread of the readers' serve `waiting`, now or when it is the flow's turn.
    fn push(&self, flow: Flow, waiting: Waiting) -> Result<Option<Waiting>, StoreError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(closed());
        }
        if let Some(service) = state.queue.try_serve(flow) {
            state.granted.push_back((service, waiting));
            self.wake.notify_one();
            return Ok(None);
        }
        state.queue.push(flow, waiting).map_err(|(_, rejection)| rejected(rejection))
    }

    /// A reader is free again.
    fn end(&self, service: Service, elapsed: Duration, place: Place) {
        let mut state = self.state.lock();
        state.queue.end(service, elapsed);
        while let Some(next) = state.queue.pop() {
            state.granted.push_back(next);
        }
        if place == Place::Caller && !state.granted.is_empty() {
            self.wake.notify_one();
        }
    }

    /// Does what is granted until the readers are closed.
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some((service, waiting)) = state.granted.pop_front() {
                drop(state);
                if catch_unwind(AssertUnwindSafe(|| waiting.serve(service))).is_err() {
                    tracing::error!("the answer of a query panicked");
                }
                state = self.state.lock();
            } else if state.closed {
                return;
            } else {
                self.wake.wait(&mut state);
            }
        }
    }

    fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let waiting = state.queue.clear();
        self.wake.notify_all();
        drop(state);
        for one in waiting {
            one.refuse(closed());
        }
    }
}

fn closed() -> StoreError {
    StoreError::Closed("it is shutting down".to_owned())
}

fn rejected(rejection: Rejection) -> StoreError {
    match rejection {
        Rejection::Full => StoreError::QueueFull("reader"),
        Rejection::Share => StoreError::ShareFull("reader"),
    }
}

/// A reader in somebody's hands. It goes back when this is dropped.
pub(crate) struct Lease {
    connection: r2d2::PooledConnection<Manager>,
    // Last: who is served next finds the connection in the pool.
    turn: Turn,
}

impl Lease {
    /// The connection.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// How long it has been held.
    pub(crate) fn elapsed(&self) -> Duration {
        self.turn.readers.clock.monotonic().saturating_sub(self.turn.began)
    }

    /// Runs `read` in one snapshot. It does not run if none can be opened; what happens within is the function's to
    /// report.
    pub(crate) fn run(self, read: &mut Read<'_>) -> Ran {
        let timeout = self.turn.readers.timeout;
        self.connection.interrupt.begin_at(self.turn.began, timeout);
        if let Err(error) = self.connection.open_snapshot() {
            let failure = failure::of_engine(&error);
            match &failure {
                StoreError::Disk(reason) => self.connection.reads.failed(reason, self.connection.interrupt.now()),
                _ => self.connection.set_broken(),
            }
            return Ran { outcome: Err(failure), elapsed: self.elapsed() };
        }
        let transaction = Rc::new(SqliteTransaction::new(Source::Reader(self), timeout));
        read(transaction.clone());
        transaction.finish();
        let died = transaction.died();
        if transaction.is_lost() {
            transaction.give_up();
        }
        transaction.close();
        let outcome = match died {
            // Whatever the function made of it: what it returns may rest on rows that it did not get.
            Some(failure @ (StoreError::Deadline { .. } | StoreError::Disk(_))) => Err(failure),
            // The function knows: what it asked for next failed.
            Some(_) | None => Ok(()),
        };
        Ran { outcome, elapsed: transaction.elapsed() }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // An order to stop that comes too late must not reach the next read.
        self.connection.interrupt.end();
    }
}

/// The turn of the call that holds a reader; its end is the next one's.
struct Turn {
    readers: Arc<Readers>,
    service: Service,
    place: Place,
    began: Duration,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let elapsed = self.readers.clock.monotonic().saturating_sub(self.began);
        self.readers.line.end(self.service, elapsed, self.place);
    }
}

/// Opens readers for the pool.
pub(crate) struct Manager {
    files: SqliteConnectionManager,
    common: Common,
    interrupts: Arc<Mutex<Vec<Arc<Interrupt>>>>,
}

impl Manager {
    fn new(common: Common, interrupts: Arc<Mutex<Vec<Arc<Interrupt>>>>) -> Self {
        // It takes no VFS but in the file's name, which is a URI then.
        let path = percent_encode(common.path.as_os_str().as_encoded_bytes(), PATH);
        let flags = Purpose::Read.flags() | OpenFlags::SQLITE_OPEN_URI;
        let files = SqliteConnectionManager::file(format!("file:{path}?vfs={VFS}")).with_flags(flags);
        Self { files, common, interrupts }
    }
}

impl ManageConnection for Manager {
    // Boxed, since the pool moves it at every turn.
    type Connection = Box<Connection>;
    type Error = OpenError;

    fn connect(&self) -> Result<Box<Connection>, OpenError> {
        let connection = Connection::settle(self.files.connect().opening()?, &self.common, Purpose::Read)?;
        let mut interrupts = self.interrupts.lock();
        // One that nobody else holds was of a connection that is gone.
        interrupts.retain(|interrupt| Arc::strong_count(interrupt) > 1);
        interrupts.push(connection.interrupt.clone());
        Ok(Box::new(connection))
    }

    fn is_valid(&self, _: &mut Box<Connection>) -> Result<(), OpenError> {
        Ok(())
    }

    fn has_broken(&self, connection: &mut Box<Connection>) -> bool {
        connection.is_broken()
    }
}
