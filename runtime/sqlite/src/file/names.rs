//! The names of files in the data folder.

use std::path::{Path, PathBuf};

/// Name of the database file.
pub(crate) const DATABASE: &str = "convoke.db";
/// Folder of temporary files, which only the holder of the lock uses.
pub(crate) const SCRATCH: &str = "tmp";

/// Returns the name of a database that was replaced at the time of this stamp.
pub(crate) fn former_name(stamp: &str) -> String {
    format!("{DATABASE}.before-{stamp}")
}

/// Returns the path of a database's log.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}
