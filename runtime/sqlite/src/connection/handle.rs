//! A connection: how it is opened, what it is asserted to be, and the SQL it knows already.

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
use crate::cache::{KnownRow, Newest};
use crate::counters::Counters;
use crate::failure::{self, Opening as _};
use crate::sql::{SqliteRow, StatementKey};
use convoke_store::{Commits, OpenError, Plan, TableDef};

/// How often a running statement asks its interrupt, in steps of SQLite's machine: about every 20 µs.
const STEPS_BETWEEN_ASKING: i32 = 1_000;
/// How long a statement waits for a lock of another program (a backup tool, a shell).
pub(crate) const BUSY: Duration = Duration::from_secs(1);
/// Statements kept prepared by a connection. A statement takes a few KiB.
const STATEMENTS_MAX: usize = 1_024;

/// A connection with its interrupt and its SQL.
pub(crate) struct Connection {
    /// The connection itself.
    pub sqlite: rusqlite::Connection,
    /// What bounds it.
    pub interrupt: Arc<Interrupt>,
    /// Where it counts.
    pub counters: Arc<Counters>,
    /// Where a read that the disk failed is told.
    pub reads: Arc<Reads>,
    /// Where commits are made.
    pub commits: Arc<Commits>,
    texts: RefCell<FxHashMap<StatementKey, Arc<str>>>,
    newest: Arc<Newest>,
    /// The state that the open snapshot shows at least; `None` = no snapshot is open.
    snapshot: Cell<Option<u64>>,
    /// The state that it shows, once that is known.
    state: Cell<Option<u64>>,
    broken: AtomicBool,
}

/// One process owns the database, so its locks and its index of the log need no system calls: they live in the memory
/// that the connections of this process share. Each snapshot saves four of them. Another process finds the file locked.
pub(crate) const VFS: &str = "unix-excl";

impl Connection {
    /// Opens a connection and asserts its settings.
    ///
    /// # Errors
    /// The engine's, or [`OpenError::Setting`] if a setting did not take.
    pub(crate) fn open(common: &Common, purpose: Purpose) -> Result<Self, OpenError> {
        let sqlite = rusqlite::Connection::open_with_flags_and_vfs(&common.path, purpose.flags(), VFS).opening()?;
        Self::settle(sqlite, common, purpose)
    }

    /// Reads the database with a connection of its own, whose cache holds nothing of it yet.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn probe(common: &Common) -> Result<(), String> {
        let connection = Self::open(common, Purpose::Read).map_err(|error| match error {
            OpenError::Disk(reason) => reason,
            error => error.to_string(),
        })?;
        let read = connection.sqlite.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        read.map_err(|error| failure::of_engine(&error).to_string())
    }

    /// Applies and asserts the settings of an open connection.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub(crate) fn settle(sqlite: rusqlite::Connection, common: &Common, purpose: Purpose) -> Result<Self, OpenError> {
        sqlite.busy_timeout(BUSY).opening()?;
        sqlite.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        pragmas::set(&sqlite, common, purpose)?;
        // Without it SQLite plans a statement anew whenever a value of its LIMIT is bound: 5 µs of parsing a query.
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
            texts: RefCell::default(),
            newest: common.newest.clone(),
            snapshot: Cell::new(None),
            state: Cell::new(None),
            broken: AtomicBool::new(false),
        })
    }

    /// The SQL of a key; `write` makes it the first time.
    pub(crate) fn text(&self, key: StatementKey, write: impl FnOnce() -> String) -> Arc<str> {
        if let Some(text) = self.texts.borrow().get(&key) {
            return text.clone();
        }
        let text: Arc<str> = write().into();
        self.counters.texts.fetch_add(1, Relaxed);
        self.texts.borrow_mut().insert(key, text.clone());
        text
    }

    /// Runs a statement without parameters or rows, such as `BEGIN`.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn run(&self, sql: &'static str) -> rusqlite::Result<()> {
        self.sqlite.prepare_cached(sql)?.raw_execute().map(|_| ())
    }

    /// Opens a snapshot of the newest state, or goes on with one that still shows it: opening and ending one costs more
    /// than most reads.
    ///
    /// # Errors
    /// The engine's.
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

    /// As [`Connection::open_snapshot`], and takes it right now: SQLite takes one at the first read only.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn fix_snapshot(&self) -> rusqlite::Result<()> {
        self.open_snapshot()?;
        self.sqlite.prepare_cached("SELECT 1 FROM sqlite_schema LIMIT 1")?.exists([]).map(drop)
    }

    /// Ends the open snapshot, if there is one.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn end_snapshot(&self) -> rusqlite::Result<()> {
        self.forget_snapshot();
        if self.in_transaction() { self.run("COMMIT") } else { Ok(()) }
    }

    fn forget_snapshot(&self) {
        self.snapshot.set(None);
        self.state.set(None);
    }

    /// Something was read, so that SQLite has taken the snapshot. If nothing was committed since it was opened, the state
    /// that it shows is known.
    pub(crate) fn has_read(&self) {
        if self.state.get().is_none()
            && let Some(opened) = self.snapshot.get()
            && opened.is_multiple_of(2)
            && opened == self.newest.number()
        {
            self.state.set(Some(opened));
        }
    }

    /// A row as the snapshot shows it, if it is kept.
    pub(crate) fn kept_row(&self, table: &'static TableDef, id: u128) -> Option<KnownRow> {
        self.newest.get(self.state.get()?, table, id)
    }

    /// The only row of a plan that asks for all keys of a unique index, if it is kept.
    pub(crate) fn kept_only_row(&self, plan: &Plan) -> Option<KnownRow> {
        self.newest.only(self.state.get()?, plan)
    }

    /// Keeps a row that was read in the snapshot.
    pub(crate) fn keep_row(&self, row: &SqliteRow<'_>) {
        if let Some(state) = self.state.get() {
            self.newest.keep(state, row);
        }
    }

    /// Rolls the open transaction back, if there is one. After a failed read SQLite commits none any more, not even
    /// where nothing was written.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn give_up(&self) -> rusqlite::Result<()> {
        self.forget_snapshot();
        if self.in_transaction() { self.interrupt.uninterrupted(|| self.run("ROLLBACK")) } else { Ok(()) }
    }

    /// Whether a transaction is open.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.sqlite.is_autocommit()
    }

    /// Marks the connection as one not to be used again.
    pub(crate) fn set_broken(&self) {
        self.broken.store(true, Relaxed);
    }

    /// Whether it was marked so.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn a_statement_is_planned_once_whatever_limit_is_bound() {
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
