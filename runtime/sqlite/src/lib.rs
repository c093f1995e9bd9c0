//! The engine on SQLite: one writer thread, a pool of readers, one file.
//!
//! The only crate that names SQLite; outside of it there is [`Sqlite`], which makes engines. In reading order: the data
//! folder and its lock, a connection and what bounds it, the SQL of a plan, rows, a transaction, and then who runs them.

mod backup;
mod connection;
mod counters;
mod data_dir;
mod database_builder;
mod database_file;
mod disk_watch;
mod engine;
mod failure;
mod installation;
mod interrupt;
mod known_rows;
mod newest;
mod packed_row;
mod page_cache;
mod queue;
mod readers;
mod row;
mod row_memory;
mod schema;
mod shared;
mod sql;
mod statement_key;
mod swap;
mod transaction;
mod wal;
mod watchdog;
mod writer;

use std::path::Path;
use std::sync::Arc;

use convoke_core::clock::Clock;
use convoke_store::{Engine, EngineFactory, EngineStart, Files, Installation, OpenError};

use data_dir::{DATABASE, DataDir, SCRATCH};
use engine::SqliteEngine;
use installation::DataDirInstallation;

/// Makes engines on SQLite, with these settings.
#[derive(Clone, Debug)]
pub struct Sqlite {
    /// When a commit is on disk.
    pub synchronous: Synchronous,
    /// The size of a page in a new database, in bytes: a power of two, 512 … 65,536. A commit writes whole pages: with
    /// 1 KiB a transfer between two accounts of 100,000 writes 8 KB and with 4 KiB 25 KB, for reads that cost a tenth
    /// more. There is one writer and one disk, and reads have all cores.
    pub page_bytes: u32,
    /// Bytes of the log after which it is copied back into the database. A page that was written many times is copied
    /// once: 10 MiB instead of 32 MiB make a fifth more bytes written.
    pub checkpoint_bytes: u64,
    /// Rows from which a table is large: each new index of it is made in a transaction of its own.
    pub large_rows: u64,
    /// Pages that the database may have; none = as many as the disk holds. For tests of a full disk.
    pub pages_max: Option<u32>,
}

impl Default for Sqlite {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Full,
            page_bytes: 1_024,
            checkpoint_bytes: 32 * 1_024 * 1_024,
            large_rows: 50_000,
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
    const fn level(self) -> u8 {
        match self {
            Synchronous::Full => 2,
            Synchronous::Normal => 1,
        }
    }
}

impl EngineFactory for Sqlite {
    fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError> {
        Ok(Box::new(SqliteEngine::open(self, start)?))
    }

    fn lock(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        Ok(Box::new(DataDirInstallation::lock(data, clock)?))
    }

    fn look(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        Ok(Box::new(DataDirInstallation::look(data, clock)?))
    }

    fn files(&self, data: &Path) -> Files {
        let database = data.join(DATABASE);
        let log = swap::log_of(&database);
        let mut former: Vec<_> = std::fs::read_dir(data)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&former_name("")))
            .map(|entry| entry.path())
            .collect();
        former.sort_unstable();
        Files {
            database: vec![database, log.clone()],
            log: Some(log),
            others: vec![DataDir::lock_file(data)],
            scratch: Some(data.join(SCRATCH)),
            former,
            is_half_replaced: swap::is_half_done(data),
        }
    }
}

/// What a database is called that was replaced at the time of this stamp.
fn former_name(stamp: &str) -> String {
    format!("{DATABASE}.before-{stamp}")
}
