//! The purpose of a connection, and the shared settings of all connections to a database.

use std::path::Path;
use std::sync::Arc;

use rusqlite::OpenFlags;

use super::disk_reads::Reads;
use crate::cache::{Newest, page_cache};
use crate::counters::Counters;
use crate::page_feed::PageFeed;
use crate::settings::Synchronous;
use convoke_core::clock::Clock;
use convoke_store::Commits;

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The writer.
    Write,
    /// A reader; the engine rejects writes on it.
    Read,
    /// The only connection to a file that is discarded unless it is completed: it needs no rollback journal.
    Build,
}

impl Purpose {
    /// Returns the flags for opening the file.
    pub(crate) fn flags(self) -> OpenFlags {
        let access = match self {
            Purpose::Write | Purpose::Build => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Purpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        access | OpenFlags::SQLITE_OPEN_NO_MUTEX
    }
}

/// Shared settings of all connections to a database.
#[derive(Clone)]
pub(crate) struct Common {
    /// The database file.
    pub path: Arc<Path>,
    /// Durability of a commit.
    pub synchronous: Synchronous,
    /// Page size of a new database, in bytes.
    pub page_bytes: u32,
    /// The page caches of its connections.
    pub cache: page_cache::Kib,
    /// Most pages of a database; none = limited by the disk.
    pub pages_max: Option<u32>,
    /// Size to which the WAL file is truncated when it starts again, in bytes.
    pub wal_bytes_kept: u64,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Its counters.
    pub counters: Arc<Counters>,
    /// The version of the newest state.
    pub newest: Arc<Newest>,
    /// Makes commits.
    pub commits: Arc<Commits>,
    /// Records failed reads of the disk.
    pub reads: Arc<Reads>,
    /// The changed pages, if the database is copied.
    pub page_feed: Option<Arc<PageFeed>>,
}

#[cfg(test)]
impl Common {
    /// Settings of an empty database in a folder.
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
            pages_max: None,
            wal_bytes_kept: 1 << 20,
            clock: clock.clone(),
            counters: Arc::default(),
            newest: Arc::default(),
            commits: Arc::new(Commits::new(clock, &[])),
            reads: Arc::default(),
            page_feed: None,
        }
    }
}
