//! The names of files in the data folder.

use std::path::{Path, PathBuf};

/// The database file within the folder.
pub(crate) const DATABASE: &str = "convoke.db";
/// The folder of what is being made: files that only the holder of the lock has a use for.
pub(crate) const SCRATCH: &str = "tmp";

/// What a database is called that was replaced at the time of this stamp.
pub(crate) fn former_name(stamp: &str) -> String {
    format!("{DATABASE}.before-{stamp}")
}

/// The log of a database.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}
