//! The pool of the readers' connections. Its threads open them, and replace a broken one.
//!
//! A reader holds its connection as long as it works, so that a read neither takes the pool's lock nor checks the
//! connection. It goes back to the pool when it is broken or when the database is closed.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use r2d2::{ManageConnection, NopErrorHandler, Pool, PooledConnection};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::OpenFlags;

use super::handle::{Connection, VFS};
use super::interrupt::Interrupt;
use super::profile::{Common, Purpose};
use crate::failure::Opening as _;
use convoke_store::OpenError;

/// Timeout of the first connection of a reader.
const FIRST_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of a wait for a new connection. The pool retries twice in it.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of looks for the end of the pool's threads.
const CLOSING_INTERVAL: Duration = Duration::from_millis(1);

/// A connection that reads. It is boxed since it moves at every turn.
pub(crate) type PooledReader = Box<PooledConnection<Manager>>;

pub(super) struct ReaderPool {
    pool: Pool<Manager>,
    // After the pool: its drop waits for the connections' end.
    opened: Opened,
}

impl ReaderPool {
    /// Begins to open `count` connections.
    pub(super) fn open(common: &Common, count: usize) -> Result<Self, OpenError> {
        let path = percent_encode(common.path.as_os_str().as_encoded_bytes(), NON_ALPHANUMERIC);
        let file = SqliteConnectionManager::file(format!("file:{path}?vfs={VFS}"))
            .with_flags(Purpose::Read.flags() | OpenFlags::SQLITE_OPEN_URI);
        let opened = Opened::default();
        let manager = Manager { file, common: common.clone(), interrupts: opened.0.clone() };
        // The pool reports no failure before a timeout, and as a text.
        drop(manager.connect()?);
        let pool = Pool::builder()
            .max_size(u32::try_from(count).unwrap_or(u32::MAX))
            .test_on_check_out(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connection_timeout(REPLACEMENT_TIMEOUT)
            .error_handler(Box::new(NopErrorHandler))
            .build_unchecked(manager);
        Ok(Self { pool, opened })
    }

    /// Returns the first connection of a reader.
    ///
    /// # Errors
    /// Why none can be opened.
    pub(super) fn first(&self) -> Result<PooledReader, OpenError> {
        let error = |error| OpenError::Engine(format!("a reader cannot be opened: {error}"));
        self.pool.get_timeout(FIRST_TIMEOUT).map(Box::new).map_err(error)
    }

    /// Returns a connection in place of a broken one, if the pool has opened it.
    pub(super) fn try_replacement(&self) -> Option<PooledReader> {
        self.pool.try_get().map(Box::new)
    }

    /// Waits for a connection in place of a broken one.
    ///
    /// # Errors
    /// Why none can be opened.
    pub(super) fn replacement(&self) -> Result<PooledReader, r2d2::Error> {
        self.pool.get_timeout(REPLACEMENT_TIMEOUT).map(Box::new)
    }

    /// Stops the read with the oldest snapshot. Returns false if no reader has one.
    pub(super) fn stop_oldest(&self) -> bool {
        let interrupts = self.opened.0.lock();
        let oldest = interrupts
            .iter()
            .filter(|interrupt| !interrupt.ordered())
            .filter_map(|interrupt| interrupt.open_since().map(|since| (since, interrupt)))
            .min_by_key(|(since, _)| *since);
        oldest.inspect(|(since, interrupt)| interrupt.stop(*since)).is_some()
    }
}

/// Opens connections that read.
pub(crate) struct Manager {
    file: SqliteConnectionManager,
    common: Common,
    interrupts: Arc<Mutex<Vec<Arc<Interrupt>>>>,
}

impl ManageConnection for Manager {
    type Connection = Connection;
    type Error = OpenError;

    fn connect(&self) -> Result<Connection, OpenError> {
        let connection = Connection::settle(self.file.connect().opening()?, &self.common, Purpose::Read)?;
        let mut interrupts = self.interrupts.lock();
        interrupts.retain(|interrupt| !is_of_closed(interrupt));
        interrupts.push(connection.interrupt.clone());
        Ok(connection)
    }

    fn is_valid(&self, _: &mut Connection) -> Result<(), OpenError> {
        Ok(())
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.is_broken()
    }
}

/// The interrupts of the open connections, shared with the [`Manager`].
#[derive(Default)]
struct Opened(Arc<Mutex<Vec<Arc<Interrupt>>>>);

impl Drop for Opened {
    /// Waits until no connection is open: a thread of the pool may just have opened one, and the file may be replaced
    /// next.
    fn drop(&mut self) {
        while Arc::strong_count(&self.0) > 1 || !self.0.lock().iter().all(is_of_closed) {
            thread::sleep(CLOSING_INTERVAL);
        }
    }
}

/// Returns true if the connection of an interrupt is closed: each connection holds its own.
fn is_of_closed(interrupt: &Arc<Interrupt>) -> bool {
    Arc::strong_count(interrupt) == 1
}
