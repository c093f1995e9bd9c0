//! Replacement of the database: completely or not at all, whenever the process ends.
//!
//! A database has up to two files (itself and its log), and two renames are not atomic. So a plan is written first.
//! From then on the new database is valid, and the next process that locks the folder completes the plan. The log is
//! moved away before its database, and never stays beside the new one.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::names::{DATABASE, log_of};
use convoke_store::{remove_if_there, sync_folder, write_private};

/// The file with the plan.
const PLAN: &str = "replace.json";

#[derive(Serialize, Deserialize)]
struct Plan {
    /// Path of the new database in the folder.
    new: String,
    /// New name of the former one.
    former: String,
}

/// Replaces the database by `new`, a durable file of the folder, and renames the old one to `former`. The caller holds
/// the folder's lock.
///
/// # Errors
/// Errors of the file system. Before the plan is written, nothing has changed; after it, [`resume`] continues.
pub(crate) fn swap(folder: &Path, new: &str, former: &str) -> io::Result<()> {
    let plan = serde_json::to_vec(&Plan { new: new.to_owned(), former: former.to_owned() })?;
    give_to_owner(folder, &folder.join(new))?;
    sync_folder(&folder.join(new))?;
    write_private(&folder.join(PLAN), &plan)?;
    resume(folder)
}

/// Gives a file that the superuser creates to the user of the server, who could not open it otherwise.
fn give_to_owner(folder: &Path, file: &Path) -> io::Result<()> {
    let (owner, made) = (fs::metadata(folder)?, fs::metadata(file)?);
    if (owner.uid(), owner.gid()) == (made.uid(), made.gid()) || made.uid() != 0 {
        return Ok(());
    }
    std::os::unix::fs::chown(file, Some(owner.uid()), Some(owner.gid()))
}

/// Returns true if a replacement was started and not completed.
pub(crate) fn is_half_done(folder: &Path) -> bool {
    folder.join(PLAN).exists()
}

/// Completes a replacement that was started; does nothing if there is none.
pub(crate) fn resume(folder: &Path) -> io::Result<()> {
    let path = folder.join(PLAN);
    let plan: Plan = match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let (new, database) = (folder.join(&plan.new), folder.join(DATABASE));
    // If the new file is missing, it has been renamed already.
    if new.exists() {
        move_if_there(&log_of(&database), &log_of(&folder.join(&plan.former)))?;
        remove_if_there(&folder.join(format!("{DATABASE}-shm")))?;
        // An empty file comes from a first start and is not kept.
        match fs::metadata(&database) {
            Ok(metadata) if metadata.len() > 0 => fs::rename(&database, folder.join(&plan.former))?,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::rename(&new, &database)?;
        sync_folder(&database)?;
    }
    fs::remove_file(&path)?;
    sync_folder(&path)
}

fn move_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the folder as it is when the process ends after this number of steps.
    fn cut_off_after(steps: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("tmp")).unwrap();
        for (name, text) in [("convoke.db", "old"), ("convoke.db-wal", "old log"), ("tmp/new", "new")] {
            fs::write(at(name), text).unwrap();
        }
        let plan = Plan { new: "tmp/new".to_owned(), former: "convoke.db.former".to_owned() };
        fs::write(at(PLAN), serde_json::to_vec(&plan).unwrap()).unwrap();
        let moves = [
            ("convoke.db-wal", "convoke.db.former-wal"),
            ("convoke.db", "convoke.db.former"),
            ("tmp/new", "convoke.db"),
        ];
        for (from, to) in moves.into_iter().take(steps) {
            fs::rename(at(from), at(to)).unwrap();
        }
        folder
    }

    #[test]
    fn wherever_it_was_cut_off_the_new_database_stands_alone_and_the_former_one_is_whole() {
        for steps in 0..=3 {
            let folder = cut_off_after(steps);
            let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
            resume(folder.path()).unwrap();
            assert_eq!(read("convoke.db").as_deref(), Some("new"), "after {steps}");
            assert_eq!(read("convoke.db-wal"), None, "after {steps}");
            assert_eq!(read("convoke.db.former").as_deref(), Some("old"), "after {steps}");
            assert_eq!(read("convoke.db.former-wal").as_deref(), Some("old log"), "after {steps}");
            assert_eq!(read(PLAN), None, "after {steps}");
            resume(folder.path()).unwrap();
            assert_eq!(read("convoke.db").as_deref(), Some("new"));
        }
    }

    #[test]
    fn incomplete_plan_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("convoke.db"), "old").unwrap();
        fs::write(folder.path().join("replace.json.partial"), "{\"new\":").unwrap();
        resume(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("convoke.db")).unwrap(), "old");
    }
}
