//! The file `copy.json` in the data folder: the position up to which the database is copied.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::log::Position;
use convoke_store::private_file;

/// The state of a feed between two processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The note of the consumer.
    pub note: String,
    /// The confirmed position in the log.
    pub log: Position,
    /// The database file at the end of a process that had copied everything.
    pub closed: Option<FileMark>,
}

/// Detects whether a file was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileMark {
    file: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl FileMark {
    /// Returns the mark of a file as it is now; `None`: it cannot be read.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let mark =
            |file: Metadata| Self { file: file.ino(), bytes: file.size(), modified: (file.mtime(), file.mtime_nsec()) };
        fs::metadata(path).ok().map(mark)
    }
}

impl State {
    /// Reads the file; `None`: it does not exist or is not readable, so that a snapshot is needed.
    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Writes the file. It is not flushed: after a power loss, an older state leads to a new snapshot.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        use io::Write as _;
        let partial = path.with_extension("json.partial");
        let mut file = private_file(&partial)?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(&partial, path)
    }
}
