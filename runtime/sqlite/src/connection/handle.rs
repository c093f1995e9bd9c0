//! A connection: opening, verified settings, and its cached SQL.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rustc_hash::FxHashMap;

use super::disk_reads::Reads;
use super::interrupt::Interrupt;
use super::pragmas;
use super::profile::{Common, Purpose};
use crate::cache::Newest;
use crate::counters::Counters;
use crate::failure::{self, Opening as _};
use crate::page_feed::PageFeed;
use crate::sql::StatementKey;
use convoke_store::{Commits, OpenError};

/// Interval at which a running statement checks its interrupt, in steps of SQLite's virtual machine: about 20 µs.
const STEPS_BETWEEN_ASKING: i32 = 1_000;
/// Longest wait of a statement for a lock of another program (a backup tool, a shell).
pub(crate) const BUSY: Duration = Duration::from_secs(1);
/// Most prepared statements per connection. A statement takes a few KiB.
const STATEMENTS_MAX: usize = 1_024;

/// The waiting and the effect of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checkpoint {
    /// Copies back what no snapshot needs, without waiting.
    Passive,
    /// Waits for readers, so that the log starts again.
    Restart,
    /// As `Restart`, and empties the log.
    Truncate,
}

/// A connection with its interrupt and its SQL.
pub(crate) struct Connection {
    /// The connection itself.
    pub sqlite: rusqlite::Connection,
    /// Its limits.
    pub interrupt: Arc<Interrupt>,
    /// Its counters.
    pub counters: Arc<Counters>,
    /// Records failed reads of the disk.
    pub reads: Arc<Reads>,
    /// Makes commits.
    pub commits: Arc<Commits>,
    /// The changed pages, if the database is copied.
    pub page_feed: Option<Arc<PageFeed>>,
    texts: RefCell<FxHashMap<StatementKey, Arc<str>>>,
    /// The version of the newest state, and its cached rows.
    pub newest: Arc<Newest>,
    /// The oldest state that the open snapshot may show; `None` = no snapshot is open.
    snapshot: Cell<Option<u64>>,
    /// The state of the snapshot, once it is known.
    state: Cell<Option<u64>>,
    broken: AtomicBool,
}

/// Only one process opens the database, so locks and the WAL index are in process memory and need no system calls. This
/// saves four calls per snapshot. Another process finds the file locked.
pub(crate) const VFS: &str = "unix-excl";

impl Connection {
    /// Opens a connection and verifies its settings.
    ///
    /// # Errors
    /// Errors of the engine; [`OpenError::Setting`]: a setting had no effect.
    pub(crate) fn open(common: &Common, purpose: Purpose) -> Result<Self, OpenError> {
        let sqlite = rusqlite::Connection::open_with_flags_and_vfs(&common.path, purpose.flags(), VFS).opening()?;
        Self::settle(sqlite, common, purpose)
    }

    /// Reads the database with a new connection, whose cache is empty.
    ///
    /// # Errors
    /// Reason why it cannot be read.
    pub(crate) fn probe(common: &Common) -> Result<(), String> {
        let connection = Self::open(common, Purpose::Read).map_err(|error| match error {
            OpenError::Disk(reason) => reason,
            error => error.to_string(),
        })?;
        let read = connection.sqlite.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        read.map_err(|error| failure::of_engine(&error).to_string())
    }

    /// Applies and verifies the settings of an open connection.
    pub(crate) fn settle(sqlite: rusqlite::Connection, common: &Common, purpose: Purpose) -> Result<Self, OpenError> {
        sqlite.busy_timeout(BUSY).opening()?;
        sqlite.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        pragmas::set(&sqlite, common, purpose)?;
        // Without it, SQLite plans a statement again for each new value of its LIMIT, which takes 5 µs.
        if !sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).opening()? {
            let (name, expected, found) = ("enable_qpsg", "1".to_owned(), "0".to_owned());
            return Err(OpenError::Setting { name, expected, found });
        }
        let interrupt = Arc::new(Interrupt::new(common.clock.clone()));
        let asked = interrupt.clone();
        sqlite.progress_handler(STEPS_BETWEEN_ASKING, Some(move || asked.interrupts())).opening()?;
        Ok(Self {
            sqlite,
            interrupt,
            counters: common.counters.clone(),
            reads: common.reads.clone(),
            commits: common.commits.clone(),
            page_feed: common.page_feed.clone(),
            texts: RefCell::default(),
            newest: common.newest.clone(),
            snapshot: Cell::new(None),
            state: Cell::new(None),
            broken: AtomicBool::new(false),
        })
    }

    /// Returns the SQL of a key; `write` creates it the first time.
    pub(crate) fn text(&self, key: StatementKey, write: impl FnOnce() -> String) -> Arc<str> {
        if let Some(text) = self.texts.borrow().get(&key) {
            return text.clone();
        }
        let text: Arc<str> = write().into();
        self.counters.texts.fetch_add(1, Relaxed);
        self.texts.borrow_mut().insert(key, text.clone());
        text
    }

    /// Runs a statement without parameters and rows, such as `BEGIN`.
    pub(crate) fn run(&self, sql: &'static str) -> rusqlite::Result<()> {
        self.sqlite.prepare_cached(sql)?.raw_execute().map(|_| ())
    }

    /// Copies the log back into the database. Returns true if that was everything. All checkpoints of a served database
    /// use this function: its log may be written over afterwards.
    pub(crate) fn checkpoint(&self, mode: Checkpoint) -> rusqlite::Result<bool> {
        if let Some(feed) = &self.page_feed {
            feed.before_checkpoint();
        }
        self.counters.checkpoints.fetch_add(1, Relaxed);
        let mut statement = self.sqlite.prepare_cached(match mode {
            Checkpoint::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
            Checkpoint::Restart => "PRAGMA wal_checkpoint(RESTART)",
            Checkpoint::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
        })?;
        let (busy, in_log, copied): (i64, i64, i64) =
            statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(busy == 0 && in_log == copied)
    }

    /// Opens a snapshot of the newest state, or keeps one that still shows it: opening and ending a snapshot costs more
    /// than most reads.
    pub(crate) fn open_snapshot(&self) -> rusqlite::Result<()> {
        let newest = self.newest.number();
        if self.snapshot.get() == Some(newest) && newest.is_multiple_of(2) && self.in_transaction() {
            return Ok(());
        }
        self.end_snapshot()?;
        self.run("BEGIN")?;
        self.snapshot.set(Some(newest));
        Ok(())
    }

    /// Like [`Connection::open_snapshot`], and takes the snapshot now: SQLite takes it only at the first read.
    pub(crate) fn fix_snapshot(&self) -> rusqlite::Result<()> {
        self.open_snapshot()?;
        self.sqlite.prepare_cached("SELECT 1 FROM sqlite_schema LIMIT 1")?.exists([]).map(drop)
    }

    /// Ends the open snapshot, if there is one.
    pub(crate) fn end_snapshot(&self) -> rusqlite::Result<()> {
        self.forget_snapshot();
        if self.in_transaction() { self.run("COMMIT") } else { Ok(()) }
    }

    fn forget_snapshot(&self) {
        self.snapshot.set(None);
        self.state.set(None);
    }

    /// Records the first read, at which SQLite takes the snapshot. If nothing was committed since the snapshot was
    /// opened, its state is known.
    pub(crate) fn has_read(&self) {
        if self.state.get().is_none()
            && let Some(opened) = self.snapshot.get()
            && opened.is_multiple_of(2)
            && opened == self.newest.number()
        {
            self.state.set(Some(opened));
        }
    }

    /// Returns the state of the snapshot, once it is known.
    pub(crate) fn state(&self) -> Option<u64> {
        self.state.get()
    }

    /// Rolls back the open transaction, if there is one. After a failed read SQLite cannot commit it, not even without
    /// writes.
    pub(crate) fn give_up(&self) -> rusqlite::Result<()> {
        self.forget_snapshot();
        if self.in_transaction() { self.interrupt.uninterrupted(|| self.run("ROLLBACK")) } else { Ok(()) }
    }

    /// Returns true if a transaction is open.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.sqlite.is_autocommit()
    }

    /// Marks the connection as broken.
    pub(crate) fn set_broken(&self) {
        self.broken.store(true, Relaxed);
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn statement_is_planned_once_for_any_limit() {
        let folder = tempfile::tempdir().unwrap();
        let common = Common::of_test(folder.path());
        let connection = Connection::open(&common, Purpose::Write).unwrap();
        connection.sqlite.execute_batch("CREATE TABLE t (a); CREATE INDEX i ON t (a)").unwrap();
        let mut statement =
            connection.sqlite.prepare("SELECT a FROM t INDEXED BY i WHERE a > ?1 ORDER BY a LIMIT ?2").unwrap();
        for limit in 0..5 {
            assert!(!statement.exists([limit, limit]).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
