//! Copies of built programs. Each server runs its own copy, so that a build can replace the program's file, and the
//! former program can start again.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use tempfile::TempDir;

/// The folder with the copies. It is deleted with the last copy.
pub(super) struct Programs {
    folder: Rc<TempDir>,
    count: u64,
}

/// A copy of a program. Dropping it deletes the file.
pub(super) struct Copied {
    /// The file, whose name is that of the program.
    pub(super) path: PathBuf,
    folder: Rc<TempDir>,
}

impl Programs {
    /// Creates a folder beside the program: on a disk with space for programs, from which programs may run.
    pub(super) fn beside(program: &Path) -> std::io::Result<Self> {
        let parent = program.parent().unwrap_or(Path::new("."));
        let folder = tempfile::Builder::new().prefix(".convoke-dev-").tempdir_in(parent)?;
        Ok(Self { folder: Rc::new(folder), count: 0 })
    }

    /// Copies a program.
    ///
    /// # Errors
    /// The disk is full, or the program cannot be read.
    pub(super) fn copy(&mut self, program: &Path) -> std::io::Result<Copied> {
        self.count += 1;
        let folder = self.folder.path().join(self.count.to_string());
        std::fs::create_dir(&folder)?;
        let copied = Copied { path: folder.join(program.file_name().unwrap_or_default()), folder: self.folder.clone() };
        std::fs::copy(program, &copied.path)?;
        Ok(copied)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        if let Some(folder) = self.path.parent().filter(|folder| folder.starts_with(self.folder.path())) {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
