//! Files of an installation: private to their owner, and durable together with their names.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a file for reading and writing. A new file is private to its owner.
pub fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Flushes a folder to disk. Otherwise a crash can lose the name of a new file.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}
