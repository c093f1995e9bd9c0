//! The use of a connection, and what all connections to one database have in common.

use std::path::Path;
use std::sync::Arc;

use rusqlite::OpenFlags;

use super::disk_reads::Reads;
use crate::cache::{Newest, page_cache};
use crate::counters::Counters;
use crate::settings::Synchronous;
use convoke_core::clock::Clock;
use convoke_store::Commits;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The one that writes.
    Write,
    /// One of those that read; the engine refuses writes on it.
    Read,
    /// The only one of a file that is thrown away if it does not become whole: nothing is kept for a way back.
    Build,
}

impl Purpose {
    /// How SQLite opens the file for it.
    pub(crate) fn flags(self) -> OpenFlags {
        let access = match self {
            Purpose::Write | Purpose::Build => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Purpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        access | OpenFlags::SQLITE_OPEN_NO_MUTEX
    }
}

/// What every connection to a database has in common.
#[derive(Clone)]
pub(crate) struct Common {
    /// The database file.
    pub path: Arc<Path>,
    /// When a commit is on disk.
    pub synchronous: Synchronous,
    /// The size of a page in a new database, in bytes.
    pub page_bytes: u32,
    /// The page caches of its connections.
    pub cache: page_cache::Kib,
    /// What the writer's rows may take, in bytes.
    pub row_bytes: u64,
    /// The pages of a database of bounded size; none = as large as the disk.
    pub pages_max: Option<u32>,
    /// The WAL's file is cut to this size when it starts anew, in bytes.
    pub wal_bytes_kept: u64,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where the connection counts.
    pub counters: Arc<Counters>,
    /// Which state of the database is the newest.
    pub newest: Arc<Newest>,
    /// Where its commits are made.
    pub commits: Arc<Commits>,
    /// Where a read that the disk failed is told.
    pub reads: Arc<Reads>,
}

#[cfg(test)]
impl Common {
    /// Of an empty database in a folder.
    pub(crate) fn of_test(folder: &Path) -> Self {
        let clock = Arc::new(convoke_core::clock::SystemClock::new());
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join("convoke.db");
        convoke_store::private_file(&path).unwrap();
        Self {
            path: path.into(),
            synchronous: Synchronous::Full,
            page_bytes: 1_024,
            cache: page_cache::OF_FILE,
            row_bytes: 0,
            pages_max: None,
            wal_bytes_kept: 1 << 20,
            clock: clock.clone(),
            counters: Arc::default(),
            newest: Arc::default(),
            commits: Arc::new(Commits::new(clock, &[])),
            reads: Arc::default(),
        }
    }
}
