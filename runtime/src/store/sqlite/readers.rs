//! The readers: connections that read one snapshot each, handed out one query at a time.
//!
//! A snapshot stays open when its query is done, and serves the next one if nothing was committed in between. Before the
//! log is copied back, the readers that nobody uses let go of theirs.
//!
//! The pool never waits: a semaphore of our own does, so that waiting is bounded and costs no thread.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::connection::{Common, Connection, Purpose};
use super::guard::Guard;
use super::transaction::{Source, SqliteTransaction};
use crate::limits::Limits;
use crate::store::error::StoreError;
use crate::store::handle::OpenError;
use crate::store::transaction::Transaction;

/// The pool of readers.
pub struct Readers {
    pool: r2d2::Pool<Manager>,
    permits: Arc<Semaphore>,
    guards: Arc<Mutex<Vec<Arc<Guard>>>>,
    waiting: AtomicUsize,
    waiting_max: usize,
    count: usize,
    timeout: Duration,
}

impl Readers {
    /// Opens all readers.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open(common: &Common, limits: &Limits) -> Result<Self, OpenError> {
        let count = limits.readers.max(1);
        let guards = Arc::default();
        let manager = Manager::new(common.clone(), Arc::clone(&guards));
        // The pool reports a failed connection as a text, after a while: one is tried before, for its own error.
        drop(r2d2::ManageConnection::connect(&manager)?);
        let size = u32::try_from(count).unwrap_or(u32::MAX);
        let pool = r2d2::Pool::builder()
            .max_size(size)
            .min_idle(Some(size))
            .test_on_check_out(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .build(manager)
            .map_err(|error| OpenError::Engine(error.to_string()))?;
        Ok(Self {
            pool,
            permits: Arc::new(Semaphore::new(count)),
            guards,
            waiting: AtomicUsize::new(0),
            waiting_max: limits.reader_queue_max,
            count,
            timeout: limits.query_timeout,
        })
    }

    /// A reader, at once or when one is free.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`] if more wait than may.
    pub async fn lease(&self) -> Result<Lease, StoreError> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(TryAcquireError::Closed) => return Err(closed()),
            Err(TryAcquireError::NoPermits) => {
                let _place = Place::take(&self.waiting, self.waiting_max)?;
                Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?
            }
        };
        // With a permit there is a connection, unless one broke and is being replaced.
        let connection = self
            .pool
            .try_get()
            .ok_or_else(|| StoreError::Engine("a reader is being replaced after a failure".to_owned()))?;
        Ok(Lease { connection, timeout: self.timeout, _permit: permit })
    }

    /// Ends the snapshots that nobody uses: they would keep the log from being copied back, and from starting anew.
    pub fn let_go(&self) {
        // All of them are held until the last one is found: the pool would hand out the first one again.
        let mut held = Vec::with_capacity(self.count);
        while let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned()
            && let Some(connection) = self.pool.try_get()
        {
            if connection.end_snapshot().is_err() {
                connection.set_broken();
            }
            held.push((connection, permit));
        }
    }

    /// Tells the reader whose snapshot is the oldest to stop; says whether one was at work.
    pub fn stop_oldest(&self) -> bool {
        let guards = self.guards.lock();
        let oldest = guards
            .iter()
            .filter(|guard| !guard.ordered())
            .filter_map(|guard| guard.open_since().map(|since| (since, guard)))
            .min_by_key(|(since, _)| *since);
        oldest.inspect(|(since, guard)| guard.stop(*since)).is_some()
    }

    /// How many readers are at work, and how many calls wait for one.
    pub fn busy(&self) -> (usize, usize) {
        (self.count.saturating_sub(self.permits.available_permits()), self.waiting.load(Relaxed))
    }

    /// How many readers there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Hands out no reader any more.
    pub fn close(&self) {
        self.permits.close();
    }
}

fn closed() -> StoreError {
    StoreError::Closed("it is shutting down".to_owned())
}

/// A place in the line for a reader; given back when the waiting ends, also by a caller that went away.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, max: usize) -> Result<Self, StoreError> {
        let place = Self(waiting);
        if waiting.fetch_add(1, Relaxed) < max { Ok(place) } else { Err(StoreError::QueueFull("reader")) }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A reader in somebody's hands. It goes back when this is dropped.
pub struct Lease {
    connection: r2d2::PooledConnection<Manager>,
    timeout: Duration,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Runs `read` in one snapshot.
    ///
    /// # Errors
    /// The engine's, if the snapshot cannot be opened; what happens within is the function's to report.
    pub fn run<R>(self, read: impl FnOnce(Rc<dyn Transaction>) -> R) -> Result<R, StoreError> {
        let timeout = self.timeout;
        self.connection.guard.begin(timeout);
        self.connection.open_snapshot().map_err(|error| {
            self.connection.set_broken();
            StoreError::Engine(error.to_string())
        })?;
        let transaction = Rc::new(SqliteTransaction::new(Source::Reader(self), timeout));
        let result = read(transaction.clone());
        transaction.finish();
        let died = transaction.died();
        transaction.close();
        match died {
            Some(late @ StoreError::Deadline { .. }) => Err(late),
            // The function knows: what it asked for next failed.
            Some(_) | None => Ok(result),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // An order to stop that comes too late must not reach whoever reads next.
        self.connection.guard.end();
    }
}

/// Opens readers for the pool.
pub struct Manager {
    common: Common,
    guards: Arc<Mutex<Vec<Arc<Guard>>>>,
}

impl Manager {
    fn new(common: Common, guards: Arc<Mutex<Vec<Arc<Guard>>>>) -> Self {
        Self { common, guards }
    }
}

impl r2d2::ManageConnection for Manager {
    // Boxed, since the pool moves it at every turn.
    type Connection = Box<Connection>;
    type Error = OpenError;

    fn connect(&self) -> Result<Box<Connection>, OpenError> {
        let connection = Connection::open(&self.common, Purpose::Read)?;
        let mut guards = self.guards.lock();
        // A guard that nobody else holds was of a connection that is gone.
        guards.retain(|guard| Arc::strong_count(guard) > 1);
        guards.push(connection.guard.clone());
        Ok(Box::new(connection))
    }

    fn is_valid(&self, _: &mut Box<Connection>) -> Result<(), OpenError> {
        Ok(())
    }

    fn has_broken(&self, connection: &mut Box<Connection>) -> bool {
        connection.is_broken()
    }
}
