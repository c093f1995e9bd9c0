//! The settings of the engine.

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
    pub(crate) const fn level(self) -> u8 {
        match self {
            Synchronous::Full => 2,
            Synchronous::Normal => 1,
        }
    }
}
