//! The write-ahead log: checkpoints between batches, and limits of its size.
//!
//! An open snapshot prevents the log from restarting. The limits, in order: above some pages, a checkpoint runs without
//! waiting; above four times that, it waits for readers for a few milliseconds; above `wal_bytes_interrupt`, the oldest
//! reader is interrupted; above `wal_bytes_max`, the store rejects writes.
//!
//! A single transaction larger than `wal_bytes_interrupt` (an index, an import) is no reason to interrupt readers: its
//! bytes do not count until the log restarts after the end of the older readers.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tracing::{debug, warn};

use crate::connection::{BUSY, Checkpoint, Connection, Readers};
use convoke_core::clock::Clock;

/// Longest wait of a checkpoint for readers of an older state.
const WAIT_FOR_READERS: Duration = Duration::from_millis(5);
/// Time between two attempts while a reader blocks the checkpoint.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);
/// Idle time of the writer after which a checkpoint runs anyway.
const IDLE: Duration = Duration::from_secs(1);
/// Bytes of the log per page besides the page.
const FRAME_HEADER: u64 = 24;

thread_local! {
    /// Pages in the log after the last commit of this thread. SQLite's hook is a function without state, and only the
    /// writer thread commits.
    static PAGES: Cell<u64> = const { Cell::new(0) };
    /// Commits of this thread that are not published to the page feed.
    static COMMITS: Cell<u64> = const { Cell::new(0) };
}

/// The limits of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Size in bytes for a checkpoint.
    pub checkpoint_bytes: u64,
    /// Size in bytes above which the oldest reader is interrupted.
    pub interrupt_bytes: u64,
}

/// Keeps the log small; belongs to the writer thread.
pub(crate) struct Wal {
    bounds: Bounds,
    page_bytes: u64,
    clock: Arc<dyn Clock>,
    readers: Arc<Readers>,
    /// Pages at which the next attempt is due.
    due_pages: u64,
    last_attempt: Duration,
    /// Pages in the log after the previous commit.
    last_pages: u64,
    /// Pages of single transactions above the limit.
    excused_pages: u64,
    /// True if the log has pages that are not copied back.
    dirty: bool,
}

/// Counts the commits of a connection, and the pages in the log after each of them. The connection commits on the
/// writer's thread.
pub(crate) fn count_pages(sqlite: &rusqlite::Connection) {
    sqlite.wal_hook(Some(|_, pages| {
        PAGES.set(u64::from(pages.unsigned_abs()));
        COMMITS.set(COMMITS.get() + 1);
        Ok(())
    }));
}

impl Wal {
    /// Installs the commit hook of `connection`.
    pub(crate) fn watch(
        connection: &Connection,
        bounds: Bounds,
        clock: Arc<dyn Clock>,
        readers: Arc<Readers>,
    ) -> rusqlite::Result<Self> {
        let page_bytes: i64 = connection.sqlite.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        count_pages(&connection.sqlite);
        let mut wal = Self {
            bounds,
            page_bytes: page_bytes.unsigned_abs(),
            clock,
            readers,
            due_pages: 0,
            last_attempt: Duration::ZERO,
            last_pages: 0,
            excused_pages: 0,
            dirty: true,
        };
        wal.due_pages = wal.pages_between();
        if let Some(feed) = &connection.page_feed {
            feed.begin();
            COMMITS.set(0);
        }
        Ok(wal)
    }

    /// Publishes the commits since the last call to the page feed. Called when they are on disk.
    pub(crate) fn publish(&self, connection: &Connection) {
        let commits = COMMITS.take();
        if let Some(feed) = &connection.page_feed
            && commits > 0
        {
            feed.committed(PAGES.get(), commits);
        }
    }

    fn pages_between(&self) -> u64 {
        (self.bounds.checkpoint_bytes / (self.page_bytes + FRAME_HEADER)).max(1)
    }

    fn bytes(&self, pages: u64) -> u64 {
        pages * (self.page_bytes + FRAME_HEADER)
    }

    /// Called after every commit, when the mutations are completed.
    pub(crate) fn committed(&mut self, connection: &Connection) {
        self.dirty = true;
        let pages = PAGES.get();
        connection.counters.wal_bytes.store(self.bytes(pages), Relaxed);
        self.excuse(pages);
        if pages >= self.due_pages || (self.bytes(pages) > self.bounds.interrupt_bytes && self.rested()) {
            self.tend(connection, pages);
        }
    }

    /// Records a commit after which the log has this number of pages.
    fn excuse(&mut self, pages: u64) {
        if pages < self.last_pages {
            // The log has restarted.
            (self.last_pages, self.excused_pages) = (0, 0);
        }
        let written = pages - self.last_pages;
        if self.bytes(written) > self.bounds.interrupt_bytes {
            self.excused_pages += written;
        }
        self.last_pages = pages;
    }

    /// Called when the queue was empty for a while.
    pub(crate) fn idle(&mut self, connection: &Connection) {
        if self.dirty && self.rested() {
            self.tend(connection, PAGES.get());
        }
    }

    /// Returns how long the writer may wait for work before [`Wal::idle`] is due.
    pub(crate) fn patience(&self, connection: &Connection) -> Option<Duration> {
        if connection.counters.wal_bytes.load(Relaxed) > self.bounds.interrupt_bytes {
            Some(BETWEEN_ATTEMPTS)
        } else {
            self.dirty.then_some(IDLE)
        }
    }

    fn rested(&self) -> bool {
        self.clock.monotonic().saturating_sub(self.last_attempt) >= BETWEEN_ATTEMPTS
    }

    fn tend(&mut self, connection: &Connection, pages: u64) {
        self.last_attempt = self.clock.monotonic();
        self.readers.release_snapshots();
        let mut whole = self.checkpoint(connection, Checkpoint::Passive);
        if !whole && pages > 4 * self.pages_between() {
            whole = self.wait_for_readers(connection);
        }
        if whole {
            PAGES.set(0);
            (self.last_pages, self.excused_pages) = (0, 0);
            self.dirty = false;
            self.due_pages = self.pages_between();
            connection.counters.wal_bytes.store(0, Relaxed);
            return;
        }
        self.due_pages = pages + self.pages_between();
        let counted = pages.saturating_sub(self.excused_pages);
        if self.bytes(counted) > self.bounds.interrupt_bytes && self.readers.stop_oldest() {
            connection.counters.readers_stopped.fetch_add(1, Relaxed);
            warn!("the oldest reader was told to stop: the log has {} bytes", self.bytes(pages));
        }
    }

    fn wait_for_readers(&self, connection: &Connection) -> bool {
        let patient = connection.sqlite.busy_timeout(WAIT_FOR_READERS);
        let whole = self.checkpoint(connection, Checkpoint::Restart);
        let restored = connection.sqlite.busy_timeout(BUSY);
        whole && patient.is_ok() && restored.is_ok()
    }

    /// Copies back as much as possible. Returns true if that was everything.
    fn checkpoint(&self, connection: &Connection, mode: Checkpoint) -> bool {
        match connection.checkpoint(mode) {
            Ok(is_whole) => is_whole,
            Err(error) => {
                debug!("the log was not copied back: {error}");
                false
            }
        }
    }

    /// Copies everything back and empties the log, at the end.
    pub(crate) fn finish(&self, connection: &Connection) {
        self.readers.release_snapshots();
        if !self.checkpoint(connection, Checkpoint::Truncate) {
            debug!("the log was not emptied: a reader is open");
        }
    }
}
