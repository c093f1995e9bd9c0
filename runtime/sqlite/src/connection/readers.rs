//! The readers: connections that read one snapshot each, assigned to queries in the order of a [`FairQueue`].
//!
//! A query may run on the calling thread if a reader is free. Otherwise it runs on a reader thread, one per reader: a
//! queued query starts as soon as the previous one ends, however busy the executor is.
//!
//! A snapshot stays open after its query and serves the next one if nothing was committed in between. Before a
//! checkpoint, idle readers end their snapshots.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::handle::Connection;
use super::profile::Common;
use super::reader_pool::{PooledReader, ReaderPool};
use convoke_core::clock::Clock;
use convoke_core::limits::Limits;
use convoke_core::priority::{Niceness, lower_priority};
use convoke_store::engine::Read;
use convoke_store::fair_queue::{FairQueue, Rejection, Service};
use convoke_store::{Flow, OpenError, Ran, ReadJob, StoreError};
use parking_lot::{Condvar, Mutex};

pub(crate) struct Readers {
    clock: Arc<dyn Clock>,
    line: Arc<Line>,
    pool: ReaderPool,
    count: usize,
    timeout: Duration,
    run: RunRead,
}

/// Runs a read on a reader. The readers themselves have no knowledge of snapshots and transactions.
pub(crate) type RunRead = fn(Lease, &mut Read<'_>) -> Ran;

/// A turn: the place in service, and a free connection. There is none if it broke.
type Grant = (Service, Option<PooledReader>);

impl Readers {
    /// Opens all readers and starts their threads, which run each read with `run`.
    ///
    /// # Errors
    /// Like [`Connection::open`]; the system has no thread.
    pub(crate) fn open(common: &Common, limits: &Limits, run: RunRead) -> Result<Self, OpenError> {
        let count = limits.readers.max(1);
        let line = Arc::new(Line::new(count, limits.reader_queue_max));
        let pool = ReaderPool::open(common, count)?;
        let idle = (0..count).map(|_| pool.first()).collect::<Result<_, _>>()?;
        line.state.lock().idle = idle;
        let readers = Self { clock: common.clock.clone(), line, pool, count, timeout: limits.query_timeout, run };
        for number in 0..count {
            let line = readers.line.clone();
            thread::Builder::new()
                .name(format!("convoke-reader-{number}"))
                .spawn(move || {
                    lower_priority(Niceness::BelowCalls);
                    line.work();
                })
                .map_err(|error| OpenError::Engine(format!("no thread for a reader: {error}")))?;
        }
        Ok(readers)
    }

    /// Returns a reader for the caller's own thread, if one is free and no call waits.
    ///
    /// # Errors
    /// [`StoreError::Closed`].
    pub(crate) fn lease_at_once(self: &Arc<Self>, flow: Flow) -> Result<Option<Lease>, StoreError> {
        let Some((service, connection)) = self.line.try_serve(flow)? else { return Ok(None) };
        match connection.or_else(|| self.pool.try_replacement()) {
            Some(connection) => self.clone().lease((service, Some(connection)), Runner::Caller).map(Some),
            // The caller's thread must not wait for the file; a reader thread may.
            None => {
                self.line.end((service, None), Duration::ZERO, Runner::Caller);
                Ok(None)
            }
        }
    }

    /// Runs `job` on a reader thread, now or in the turn of the flow. If another flow exceeds its share of a full
    /// queue, returns the newest query of that flow, which must be rejected.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`], [`StoreError::Closed`].
    pub(crate) fn read(self: &Arc<Self>, flow: Flow, job: Box<dyn ReadJob>) -> Result<Option<Waiting>, StoreError> {
        self.line.push(flow, Waiting::Job(self.clone(), job))
    }

    /// Returns a reader for the calling thread, which waits for its turn.
    pub(crate) fn lease_blocking(self: &Arc<Self>, flow: Flow) -> Result<Lease, StoreError> {
        if let Some(lease) = self.lease_at_once(flow)? {
            return Ok(lease);
        }
        let (reply, answer) = mpsc::channel();
        if let Some(other) = self.line.push(flow, Waiting::Thread(reply))? {
            other.refuse(rejected(Rejection::Share));
        }
        let turn = answer.recv().map_err(|_| closed())??;
        self.clone().lease(turn, Runner::Caller)
    }

    fn lease(self: Arc<Self>, (service, connection): Grant, place: Runner) -> Result<Lease, StoreError> {
        let began = self.clock.monotonic();
        let connection = match connection {
            Some(connection) => connection,
            None => self.pool.replacement().map_err(|error| {
                self.line.end((service, None), Duration::ZERO, place);
                StoreError::Disk(format!("a reader cannot be replaced after a failure: {error}"))
            })?,
        };
        Ok(Lease { connection: Some(connection), readers: self, service, place, began, ended: Cell::new(None) })
    }

    /// Checks if another call of `flow` would get a reader or be queued.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    pub(crate) fn room(&self, flow: Flow) -> Result<(), StoreError> {
        let state = self.line.state.lock();
        if state.queue.is_free() { Ok(()) } else { state.queue.admits(flow).map_err(rejected) }
    }

    /// Ends the snapshots of idle readers, which would block the checkpoint and the restart of the log.
    pub(crate) fn release_snapshots(&self) {
        // All are held until the last one is found, since a returned one would be assigned again.
        let mut held = Vec::with_capacity(self.count);
        while let Ok(Some((service, connection))) = self.line.try_serve(Flow::SYSTEM) {
            if let Some(connection) = &connection
                && connection.end_snapshot().is_err()
            {
                connection.set_broken();
            }
            held.push((service, connection));
        }
        held.into_iter().for_each(|turn| self.line.end(turn, Duration::ZERO, Runner::Caller));
    }

    /// Stops the read with the oldest snapshot. Returns true if there was one.
    pub(crate) fn stop_oldest(&self) -> bool {
        self.pool.stop_oldest()
    }

    /// Returns the number of busy readers and of queued calls.
    pub(crate) fn busy(&self) -> (usize, usize) {
        let state = self.line.state.lock();
        (state.queue.served(), state.queue.len())
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Closes the readers: queued calls fail, and running reads continue.
    pub(crate) fn close(&self) {
        self.line.close();
    }
}

impl Drop for Readers {
    /// Closes the connections before the database counts as closed; the threads may end later. Busy and queued calls
    /// hold a reference, so all readers are idle here.
    fn drop(&mut self) {
        self.line.close();
        let idle = std::mem::take(&mut self.line.state.lock().idle);
        drop(idle);
    }
}

/// A call that waits for a reader. Its flow may lose its place before its turn, and the store may close.
pub(crate) enum Waiting {
    /// A read for a reader thread.
    Job(Arc<Readers>, Box<dyn ReadJob>),
    /// A thread that reads itself.
    Thread(mpsc::Sender<Result<Grant, StoreError>>),
}

impl Waiting {
    /// Serves it.
    fn serve(self, turn: Grant) {
        match self {
            // Its caller no longer waits.
            Waiting::Job(readers, job) if job.is_abandoned() => {
                readers.line.end(turn, Duration::ZERO, Runner::Reader);
            }
            Waiting::Job(readers, mut job) => {
                let run = readers.run;
                let lease = readers.lease(turn, Runner::Reader);
                let ran = lease.map(|lease| run(lease, &mut |reader| job.run(reader)));
                job.finish(ran);
            }
            Waiting::Thread(reply) => {
                // The thread waits only for this.
                let _ = reply.send(Ok(turn));
            }
        }
    }

    /// Rejects it.
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Waiting::Job(_, job) => job.finish(Err(error)),
            Waiting::Thread(reply) => {
                let _ = reply.send(Err(error));
            }
        }
    }
}

/// The queue for the readers, and the threads that process it.
struct Line {
    state: Mutex<LineState>,
    wake: Condvar,
}

struct LineState {
    queue: FairQueue<Waiting>,
    /// Granted calls, for the next thread.
    granted: VecDeque<(Service, Waiting)>,
    /// Idle connections: one per free place, except for broken ones.
    idle: Vec<PooledReader>,
    closed: bool,
}

/// The thread that uses a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    /// The calling thread.
    Caller,
    /// A reader thread, which takes the next call itself.
    Reader,
}

impl Line {
    fn new(count: usize, waiting_max: usize) -> Self {
        let queue = FairQueue::new(count, waiting_max);
        let state = LineState { queue, granted: VecDeque::new(), idle: Vec::new(), closed: false };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Serves `flow` on the calling thread if no other flow has to wait for it.
    fn try_serve(&self, flow: Flow) -> Result<Option<Grant>, StoreError> {
        let state = &mut *self.state.lock();
        if state.closed {
            return Err(closed());
        }
        Ok(state.queue.try_serve(flow).map(|service| (service, state.idle.pop())))
    }

    /// Serves `waiting` on a reader thread, now or in the turn of the flow.
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

    /// Returns a reader.
    fn end(&self, (service, connection): Grant, elapsed: Duration, place: Runner) {
        // A broken connection goes back to the pool, which closes it and opens another one.
        let whole = connection.filter(|connection| !connection.is_broken());
        let mut state = self.state.lock();
        state.idle.extend(whole);
        state.queue.end(service, elapsed);
        while let Some(next) = state.queue.pop() {
            state.granted.push_back(next);
        }
        if place == Runner::Caller && !state.granted.is_empty() {
            self.wake.notify_one();
        }
    }

    /// Processes granted calls until the readers are closed.
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some((service, waiting)) = state.granted.pop_front() {
                let turn = (service, state.idle.pop());
                drop(state);
                if catch_unwind(AssertUnwindSafe(|| waiting.serve(turn))).is_err() {
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

/// A reader in use. Dropping it returns the reader to the next call.
pub(crate) struct Lease {
    /// Present until the drop.
    connection: Option<PooledReader>,
    readers: Arc<Readers>,
    service: Service,
    place: Runner,
    began: Duration,
    /// Time when its work ended.
    ended: Cell<Option<Duration>>,
}

impl Lease {
    pub(crate) fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("it goes back when the lease is dropped")
    }

    /// Records that its work ended at `now`.
    pub(crate) fn end_at(&self, now: Duration) {
        self.ended.set(Some(now));
    }

    /// Returns the time limit of its read.
    pub(crate) fn timeout(&self) -> Duration {
        self.readers.timeout
    }

    /// Returns the time when it was assigned.
    pub(crate) fn began(&self) -> Duration {
        self.began
    }

    /// Returns how long it has been in use.
    pub(crate) fn elapsed(&self) -> Duration {
        let now = self.ended.get().unwrap_or_else(|| self.readers.clock.monotonic());
        now.saturating_sub(self.began)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A late order to stop must not affect the next read.
        self.connection().interrupt.end();
        let elapsed = self.elapsed();
        self.readers.line.end((self.service, self.connection.take()), elapsed, self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::Purpose;
    use super::*;
    use crate::read;

    #[test]
    fn broken_connection_is_replaced_by_the_pool() {
        let folder = tempfile::tempdir().unwrap();
        let common = Common::of_test(&folder.path().join("a folder?&#%"));
        let writer = Connection::open(&common, Purpose::Write).unwrap();
        writer.sqlite.execute_batch("CREATE TABLE t (a)").unwrap();
        let limits = Limits { readers: 1, ..Limits::default() };
        let readers = Arc::new(Readers::open(&common, &limits, read::run).unwrap());
        let lease = || readers.lease_at_once(Flow::SYSTEM).unwrap().unwrap();
        let idle = || readers.line.state.lock().idle.len();
        let mut runs = 0;
        let mut read = || {
            read::run(readers.lease_blocking(Flow::SYSTEM).unwrap(), &mut |_| runs += 1).outcome.unwrap();
            runs
        };

        assert_eq!(idle(), 1);
        lease().connection().set_broken();
        assert_eq!(idle(), 0);
        assert_eq!((read(), idle()), (1, 1));

        let (path, aside) = (&common.path, folder.path().join("aside"));
        let broken = lease();
        broken.connection().set_broken();
        std::fs::rename(path, &aside).unwrap();
        drop(broken);
        assert!(readers.lease_at_once(Flow::SYSTEM).unwrap().is_none(), "the caller's thread does not wait");
        let error = readers.lease_blocking(Flow::SYSTEM).err().unwrap();
        assert!(
            matches!(&error, StoreError::Disk(reason) if reason.starts_with("a reader cannot be replaced")),
            "{error}"
        );
        assert_eq!(readers.busy(), (0, 0), "its place is free again");
        std::fs::rename(&aside, path).unwrap();
        assert_eq!((read(), idle()), (2, 1));

        let line = readers.line.clone();
        let interrupt = Arc::downgrade(&lease().connection().interrupt);
        drop(readers);
        assert!(line.state.lock().idle.is_empty(), "they are closed, even while a thread holds the line");
        assert!(interrupt.upgrade().is_none(), "no connection is open");
    }
}
