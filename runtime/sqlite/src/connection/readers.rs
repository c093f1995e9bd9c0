//! The readers: connections that read one snapshot each, handed out one query at a time, in the order of a
//! [`FairQueue`].
//!
//! A query may run where it is called, if a reader is free. Any other runs on a thread of the readers', of which there is
//! one for each: what waits goes on there as soon as the query before it has ended, however much the executor has to do.
//!
//! A snapshot stays open when its query is done, and serves the next one if nothing was committed in between. Before the
//! log is copied back, the readers that nobody uses let go of theirs.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::handle::Connection;
use super::interrupt::Interrupt;
use super::profile::{Common, Purpose};
use convoke_core::limits::Limits;
use convoke_core::priority::{Niceness, lower_priority};
use convoke_store::engine::Read;
use convoke_store::fair_queue::{FairQueue, Rejection, Service};
use convoke_store::{Flow, OpenError, Ran, ReadJob, StoreError};
use parking_lot::{Condvar, Mutex};

/// The readers.
pub(crate) struct Readers {
    common: Common,
    line: Arc<Line>,
    interrupts: Mutex<Vec<Arc<Interrupt>>>,
    count: usize,
    timeout: Duration,
    run: RunRead,
}

/// Runs a read on a reader. The readers know neither snapshots nor transactions.
pub(crate) type RunRead = fn(Lease, &mut Read<'_>) -> Ran;

/// A connection that reads. Boxed, since it is handed on at every turn.
type Reader = Box<Connection>;

/// A turn: the place that is served, and the connection that was free. There is none where one broke.
type Turn = (Service, Option<Reader>);

impl Readers {
    /// Opens all readers and starts their threads, which run each read by `run`.
    ///
    /// # Errors
    /// As [`Connection::open`]; the system has no thread.
    pub(crate) fn open(common: &Common, limits: &Limits, run: RunRead) -> Result<Self, OpenError> {
        let count = limits.readers.max(1);
        let line = Arc::new(Line::new(count, limits.reader_queue_max));
        let (common, interrupts) = (common.clone(), Mutex::default());
        let readers = Self { common, line, interrupts, count, timeout: limits.query_timeout, run };
        let idle = (0..count).map(|_| readers.connect()).collect::<Result<_, _>>()?;
        readers.line.state.lock().idle = idle;
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

    fn connect(&self) -> Result<Reader, OpenError> {
        let connection = Connection::open(&self.common, Purpose::Read)?;
        let mut interrupts = self.interrupts.lock();
        // One that nobody else holds was of a connection that is gone.
        interrupts.retain(|interrupt| Arc::strong_count(interrupt) > 1);
        interrupts.push(connection.interrupt.clone());
        Ok(Box::new(connection))
    }

    /// A reader for the caller's own thread, if one is free and nobody waits.
    ///
    /// # Errors
    /// [`StoreError::Closed`]; the engine's, where a reader is to be replaced.
    pub(crate) fn lease_at_once(self: &Arc<Self>, flow: Flow) -> Result<Option<Lease>, StoreError> {
        let turn = self.line.try_serve(flow)?;
        turn.map(|turn| self.clone().lease(turn, Place::Caller)).transpose()
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
        let turn = answer.recv().map_err(|_| closed())??;
        self.clone().lease(turn, Place::Caller)
    }

    fn lease(self: Arc<Self>, (service, connection): Turn, place: Place) -> Result<Lease, StoreError> {
        let began = self.common.clock.monotonic();
        let connection = match connection {
            Some(connection) => connection,
            // One broke; whoever comes next replaces it.
            None => self.connect().map_err(|error| {
                self.line.end((service, None), Duration::ZERO, place);
                StoreError::Disk(format!("a reader cannot be replaced after a failure: {error}"))
            })?,
        };
        Ok(Lease { connection: Some(connection), readers: self, service, place, began, ended: Cell::new(None) })
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
        // All of them are held until the last one is found: the first one would be handed out again.
        let mut held = Vec::with_capacity(self.count);
        while let Ok(Some((service, connection))) = self.line.try_serve(Flow::SYSTEM) {
            if let Some(connection) = &connection
                && connection.end_snapshot().is_err()
            {
                connection.set_broken();
            }
            held.push((service, connection));
        }
        held.into_iter().for_each(|turn| self.line.end(turn, Duration::ZERO, Place::Caller));
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

impl Drop for Readers {
    /// Closes the connections before anybody believes that the database is closed; the threads may end later. Whoever has a
    /// reader, or waits for one, holds this: all of them are idle.
    fn drop(&mut self) {
        self.line.close();
        let idle = std::mem::take(&mut self.line.state.lock().idle);
        drop(idle);
    }
}

/// Whoever waits for a reader. Its flow may lose its place before its turn comes, and the store may close.
pub(crate) enum Waiting {
    /// A read, for a thread of the readers'.
    Job(Arc<Readers>, Box<dyn ReadJob>),
    /// A thread, which reads itself.
    Thread(mpsc::Sender<Result<Turn, StoreError>>),
}

impl Waiting {
    /// Its turn has come.
    fn serve(self, turn: Turn) {
        match self {
            // Nobody waits for it any more.
            Waiting::Job(readers, job) if job.is_abandoned() => {
                readers.line.end(turn, Duration::ZERO, Place::Reader);
            }
            Waiting::Job(readers, mut job) => {
                let run = readers.run;
                let lease = readers.lease(turn, Place::Reader);
                let ran = lease.map(|lease| run(lease, &mut |reader| job.run(reader)));
                job.finish(ran);
            }
            Waiting::Thread(reply) => {
                // It waits for this and nothing else.
                let _ = reply.send(Ok(turn));
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
    /// The connections that nobody uses: one for each place that is free, but for those that broke.
    idle: Vec<Reader>,
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
        let queue = FairQueue::new(count, waiting_max);
        let state = State { queue, granted: VecDeque::new(), idle: Vec::new(), closed: false };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Serves `flow` on the caller's thread, if that takes nobody's turn.
    fn try_serve(&self, flow: Flow) -> Result<Option<Turn>, StoreError> {
        let state = &mut *self.state.lock();
        if state.closed {
            return Err(closed());
        }
        Ok(state.queue.try_serve(flow).map(|service| (service, state.idle.pop())))
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
    fn end(&self, (service, connection): Turn, elapsed: Duration, place: Place) {
        // What broke is closed before anybody has to wait for it.
        let whole = connection.filter(|connection| !connection.is_broken());
        let mut state = self.state.lock();
        state.idle.extend(whole);
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

/// A reader in somebody's hands. It goes back when this is dropped, and its turn is the next one's.
pub(crate) struct Lease {
    /// There until then.
    connection: Option<Reader>,
    readers: Arc<Readers>,
    service: Service,
    place: Place,
    began: Duration,
    /// When what it was for was done.
    ended: Cell<Option<Duration>>,
}

impl Lease {
    /// The connection.
    pub(crate) fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("it goes back when the lease is dropped")
    }

    /// What it is for was done at `now`.
    pub(crate) fn end_at(&self, now: Duration) {
        self.ended.set(Some(now));
    }

    /// The longest that its read may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.readers.timeout
    }

    /// When it was handed out.
    pub(crate) fn began(&self) -> Duration {
        self.began
    }

    /// How long it has been in use.
    pub(crate) fn elapsed(&self) -> Duration {
        let now = self.ended.get().unwrap_or_else(|| self.readers.common.clock.monotonic());
        now.saturating_sub(self.began)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // An order to stop that comes too late must not reach the next read.
        self.connection().interrupt.end();
        let elapsed = self.elapsed();
        self.readers.line.end((self.service, self.connection.take()), elapsed, self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn a_connection_that_broke_is_replaced_by_whoever_comes_next() {
        let folder = tempfile::tempdir().unwrap();
        let common = Common::of_test(folder.path());
        let writer = Connection::open(&common, Purpose::Write).unwrap();
        writer.sqlite.execute_batch("CREATE TABLE t (a)").unwrap();
        let limits = Limits { readers: 1, ..Limits::default() };
        let readers = Arc::new(Readers::open(&common, &limits, read::run).unwrap());
        let lease = || readers.lease_at_once(Flow::SYSTEM).map(Option::unwrap);
        let idle = || readers.line.state.lock().idle.len();
        let break_one = || lease().unwrap().connection().set_broken();

        assert_eq!(idle(), 1);
        break_one();
        assert_eq!(idle(), 0);
        let mut runs = 0;
        read::run(lease().unwrap(), &mut |_| runs += 1).outcome.unwrap();
        assert_eq!((runs, idle()), (1, 1));

        break_one();
        let (path, aside) = (&common.path, folder.path().join("aside"));
        std::fs::rename(path, &aside).unwrap();
        let error = lease().err().unwrap();
        assert!(
            matches!(&error, StoreError::Disk(reason) if reason.starts_with("a reader cannot be replaced")),
            "{error}"
        );
        assert_eq!(readers.busy(), (0, 0), "its place is free again");
        std::fs::rename(&aside, path).unwrap();
        read::run(lease().unwrap(), &mut |_| runs += 1).outcome.unwrap();
        assert_eq!((runs, idle()), (2, 1));

        let line = readers.line.clone();
        drop(readers);
        assert!(line.state.lock().idle.is_empty(), "they are closed, whoever still holds the line");
    }
}
