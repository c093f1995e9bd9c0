//! The errors of the store.

use std::io;
use std::path::PathBuf;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A row with the same keys of a unique index exists.
    #[error("a row of {table} with the same {index} exists")]
    UniqueViolation {
        /// Table of the write.
        table: &'static str,
        /// The unique index.
        index: &'static str,
    },
    /// The row to change does not exist.
    #[error("no row {id} in {table}")]
    Missing {
        /// Table of the row.
        table: &'static str,
        /// Its id, as a TypeID.
        id: String,
    },
    /// The transaction exceeded its time limit.
    #[error("the call ran longer than {limit_ms} ms")]
    Deadline {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// The read was interrupted so that the WAL can be truncated.
    #[error("the read was interrupted")]
    Interrupted,
    /// The queue for the writer or a reader is full.
    #[error("too many calls wait for the {0}")]
    QueueFull(&'static str),
    /// One caller has as many queued calls as allowed while others wait too.
    #[error("too many calls of one caller wait for the {0} while others wait too")]
    ShareFull(&'static str),
    /// The transaction is lost: its writes are rolled back, and it accepts no further statements.
    #[error("the transaction was rolled back: {0}")]
    TransactionLost(String),
    /// COMMIT failed, and it is unknown if the mutation is stored.
    #[error("it is unknown whether the commit took effect: {0}")]
    CommitUnknown(String),
    /// The store rejects writes until it has reopened and checked the database.
    #[error("the store refuses writes: {0}")]
    Closed(String),
    /// A stored value does not fit its table.
    #[error("{table}.{field} holds a value that does not fit: {reason}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The field.
        field: &'static str,
        /// Reason of the misfit.
        reason: String,
    },
    /// A value that no engine can store unchanged.
    #[error("{table}.{field} {reason}")]
    Unstorable {
        /// Table of the write.
        table: &'static str,
        /// The field.
        field: &'static str,
        /// The rule, in words for clients.
        reason: &'static str,
    },
    /// The content of a file does not exist, or was removed.
    #[error("{table}.{field} refers to a file that does not exist")]
    NoFile {
        /// Table of the write.
        table: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The rule of the field does not accept the content of a file.
    #[error("{table}.{field}: {reason}")]
    UnfitFile {
        /// Table of the write.
        table: &'static str,
        /// The field.
        field: &'static str,
        /// The violated rule, in words for clients.
        reason: String,
    },
    /// The mutation's code panicked.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The cursor of a page is damaged or belongs to another query.
    #[error("the cursor does not belong to this query")]
    BadCursor,
    /// A cursor of a page between two cursors, in this argument, is damaged or belongs to another query.
    #[error("InvalidCursor: {0} does not belong to this query")]
    InvalidCursor(&'static str),
    /// A result exceeds the size limit of a response.
    #[error("the result is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The disk failed during a read or a write.
    #[error("the disk failed: {0}")]
    Disk(String),
    /// The disk or the file has no space for the write.
    #[error("there is no room: {0}")]
    NoRoom(String),
    /// The mutation conflicted with concurrent mutations until its time limit.
    #[error("others were in the way: {0}")]
    Contended(String),
    /// The database is not a file that could be copied. This tool backs it up.
    #[error("this database is backed up by {0}")]
    BackedUpBy(&'static str),
    /// The database cannot be reached.
    #[error("the database does not answer: {0}")]
    Unreachable(String),
    /// The database rejects writes, for this reason.
    #[error("the database accepts no writes: {0}")]
    NotWritable(&'static str),
    /// The engine failed.
    #[error("the database failed: {0}")]
    Engine(String),
}

/// An error of opening a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be created, read or written.
    #[error("the data folder {} cannot be used: {source}; check its owner and permissions, or name another folder with --data", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Error of the file system.
        source: io::Error,
    },
    /// Another process uses the folder.
    #[error("the data folder {} is served by another process (id {process})", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Process id of the other process, if it is known.
        process: String,
    },
    /// Another node was opened with a different value of a setting that all nodes must share.
    #[error("{other} serves the database, and does not agree with this process about what all nodes share")]
    Disagrees {
        /// Name of the other node.
        other: String,
    },
    /// A setting of the engine had no effect.
    #[error("the database's setting {name} is {found}, not {expected}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Requested value.
        expected: String,
        /// Actual value.
        found: String,
    },
    /// A table definition breaks a rule of the store.
    #[error("{file}:{line}: table {table}: {mistake}")]
    Definition {
        /// The table.
        table: &'static str,
        /// Source file of the table.
        file: &'static str,
        /// Line of the table.
        line: u32,
        /// The mistake.
        mistake: String,
    },
    /// I/O error.
    #[error(
        "the database cannot be opened: I/O error: {0}. It is the disk that failed, and the database may be whole: see the \
         kernel's log (`dmesg`), and restore nothing before the disk is sound"
    )]
    Disk(String),
    /// The disk is full.
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
