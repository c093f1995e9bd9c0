//! Settings of the engine.

/// The factory of SQLite engines, with its settings.
#[derive(Clone, Debug)]
pub struct Sqlite {
    /// Durability of a commit.
    pub synchronous: Synchronous,
    /// Page size of a new database in bytes: a power of two, 512 … 65,536. A commit writes whole pages: a transfer
    /// between two accounts of 100,000 writes 8 KB with 1 KiB and 25 KB with 4 KiB, while reads cost a tenth more.
    /// There is one writer and one disk, and reads use all cores.
    pub page_bytes: u32,
    /// Size of the log in bytes at which it is copied back into the database. A page that was written many times is
    /// copied once: 10 MiB instead of 32 MiB increase the written bytes by a fifth.
    pub checkpoint_bytes: u64,
    /// Number of rows at which a table is large: each new index of it gets its own transaction.
    pub large_rows: u64,
    /// Most pages of the database; none = limited by the disk. For tests of a full disk.
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

/// The durability of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// On disk before the response: acknowledged writes survive a power loss.
    Full,
    /// On disk some time later: acknowledged writes survive a crash of the process, and a power loss removes the latest
    /// of them without corruption.
    Normal,
}

impl Synchronous {
    /// Returns SQLite's number of the level.
    pub(crate) const fn level(self) -> u8 {
        match self {
            Synchronous::Full => 2,
            Synchronous::Normal => 1,
        }
    }
}
