//! The failures of the store.

use std::io;
use std::path::PathBuf;

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A row with the same values of a unique index stands there.
    #[error("a row of {table} with the same {index} exists")]
    UniqueViolation {
        /// The table written to.
        table: &'static str,
        /// The index that refused.
        index: &'static str,
    },
    /// The row to change is not there.
    #[error("no row {id} in {table}")]
    Missing {
        /// The table looked in.
        table: &'static str,
        /// The id, as a TypeID.
        id: String,
    },
    /// The transaction ran past its deadline.
    #[error("the call ran longer than {limit_ms} ms")]
    Deadline {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// The read was interrupted, so that the WAL can shrink.
    #[error("the read was interrupted")]
    Interrupted,
    /// The queue for the writer or a reader is full.
    #[error("too many calls wait for the {0}")]
    QueueFull(&'static str),
    /// As many calls of one flow wait as may while others wait too.
    #[error("too many calls of one caller wait for the {0} while others wait too")]
    ShareFull(&'static str),
    /// The transaction is gone: what it wrote is rolled back and nothing more runs in it.
    #[error("the transaction was rolled back: {0}")]
    TransactionLost(String),
    /// COMMIT failed in a way that leaves open whether the mutation is stored.
    #[error("it is unknown whether the commit took effect: {0}")]
    CommitUnknown(String),
    /// The store refuses writes until it has reopened and checked the database.
    #[error("the store refuses writes: {0}")]
    Closed(String),
    /// A stored value is not what its table says.
    #[error("{table}.{field} holds a value that does not fit: {reason}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The field.
        field: &'static str,
        /// What does not fit.
        reason: String,
    },
    /// A value that no engine stores as it is.
    #[error("{table}.{field} {reason}")]
    Unstorable {
        /// The table written to.
        table: &'static str,
        /// The field.
        field: &'static str,
        /// What it must be, as a client may read it.
        reason: &'static str,
    },
    /// The mutation's code panicked.
    #[error("panicked: {0}")]
    Panicked(String),
    /// A page's cursor was made by another query or is damaged.
    #[error("the cursor does not belong to this query")]
    BadCursor,
    /// A cursor of a page between two cursors, in this argument, was made by another query or is damaged.
    #[error("InvalidCursor: {0} does not belong to this query")]
    InvalidCursor(&'static str),
    /// A result is larger than a response may be.
    #[error("the result is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The disk failed while something was read or written.
    #[error("the disk failed: {0}")]
    Disk(String),
    /// The disk, or the file, has no room for what was to be written.
    #[error("there is no room: {0}")]
    NoRoom(String),
    /// The mutation was in conflict with others beside it until its time was over.
    #[error("others were in the way: {0}")]
    Contended(String),
    /// The database is no file that could be copied: this backs it up.
    #[error("this database is backed up by {0}")]
    BackedUpBy(&'static str),
    /// The database cannot be reached.
    #[error("the database does not answer: {0}")]
    Unreachable(String),
    /// The database accepts no writes, for this reason.
    #[error("the database accepts no writes: {0}")]
    NotWritable(&'static str),
    /// The engine failed.
    #[error("the database failed: {0}")]
    Engine(String),
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be made, read or written.
    #[error("the data folder {} cannot be used: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// Another process serves the folder.
    #[error("the data folder {} is served by another process (id {process})", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// The other's process id, if it wrote it already.
        process: String,
    },
    /// Another node serves the database and was opened with something else that all must have alike.
    #[error("{other} serves the database, and does not agree with this process about what all nodes share")]
    Disagrees {
        /// Its name.
        other: String,
    },
    /// A setting of the engine did not take.
    #[error("the database's setting {name} is {found}, not {expected}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A table's definition breaks a rule of the store.
    #[error("{file}:{line}: table {table}: {mistake}")]
    Definition {
        /// The table.
        table: &'static str,
        /// Where it stands.
        file: &'static str,
        /// The line there.
        line: u32,
        /// What is wrong with it.
        mistake: String,
    },
    /// The disk failed.
    #[error(
        "the database cannot be opened: I/O error: {0}. It is the disk that failed, and the database may be whole: see the \
         kernel's log (`dmesg`), and restore nothing before the disk is sound"
    )]
    Disk(String),
    /// There is no room.
    #[error("the database cannot be opened: there is no room: {0}. Make room and start again")]
    NoRoom(String),
    /// The engine failed.
    #[error("the database cannot be opened: {0}")]
    Engine(String),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Disk(reason) => OpenError::Disk(reason),
            StoreError::NoRoom(reason) => OpenError::NoRoom(reason),
            StoreError::Engine(reason) => OpenError::Engine(reason),
            error => OpenError::Engine(error.to_string()),
        }
    }
}
