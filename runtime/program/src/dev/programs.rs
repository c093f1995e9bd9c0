//! Copies of built programs. Each server runs its own copy, so that a build can replace the program's file, and the
//! former program can start again.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::process::Pid;
use tempfile::TempDir;

/// Start of the name of a folder with copies. The id of the process that made it follows.
const PREFIX: &str = ".convoke-dev-";

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
        remove_abandoned(parent);
        let folder = tempfile::Builder::new().prefix(&format!("{PREFIX}{}-", std::process::id())).tempdir_in(parent)?;
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

/// Removes the folders of processes that were killed.
fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok());
        if let Some(pid) = id.and_then(Pid::from_raw)
            && rustix::process::test_kill_process(pid).is_err()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_killed_process_are_removed_and_those_of_a_running_one_stay() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("shelf");
        std::fs::write(&program, "program").unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let abandoned = folder.path().join(format!("{PREFIX}{}-a1", ended.id()));
        std::fs::create_dir(&abandoned).unwrap();

        let first = Programs::beside(&program).unwrap().copy(&program).unwrap();
        let second = Programs::beside(&program).unwrap().copy(&program).unwrap();

        assert!(!abandoned.exists());
        assert!(first.path.is_file() && second.path.is_file());
        drop((first, second));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
