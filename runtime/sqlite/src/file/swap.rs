//! Another database in the place of the one that is there: all of it or nothing, whatever ends the process meanwhile.
//!
//! A database is up to two files (itself and its log), and two renames are not one. So what is to be done is written
//! down first: from then on the new database stands, and the process that locks the folder next ends what was begun. A log is
//! moved away before its database is, and never stays beside the new one.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::names::{DATABASE, log_of};
use convoke_store::{private_file, sync_folder};

/// What is to be done, while it is being done.
const PLAN: &str = "replace.json";

#[derive(Serialize, Deserialize)]
struct Plan {
    /// The new database, within the folder.
    new: String,
    /// What the former one is called afterwards.
    former: String,
}

/// Puts `new`, a durable file of the folder, in the place of the database, which is called `former` from then on. The
/// caller holds the folder's lock.
///
/// # Errors
/// Those of the file system. Before the plan is written nothing has changed; after it, [`resume`] goes on.
pub(crate) fn swap(folder: &Path, new: &str, former: &str) -> io::Result<()> {
    let plan = serde_json::to_vec(&Plan { new: new.to_owned(), former: former.to_owned() })?;
    let half_written = folder.join(format!("{PLAN}.partial"));
    let mut file = private_file(&half_written)?;
    file.set_len(0)?;
    file.write_all(&plan)?;
    file.sync_all()?;
    give_to_owner(folder, &folder.join(new))?;
    sync_folder(&folder.join(new))?;
    fs::rename(&half_written, folder.join(PLAN))?;
    sync_folder(&half_written)?;
    resume(folder)
}

/// A file that the superuser makes for a server of another user is that user's: it could not open it otherwise.
fn give_to_owner(folder: &Path, file: &Path) -> io::Result<()> {
    let (owner, made) = (fs::metadata(folder)?, fs::metadata(file)?);
    if (owner.uid(), owner.gid()) == (made.uid(), made.gid()) || made.uid() != 0 {
        return Ok(());
    }
    std::os::unix::fs::chown(file, Some(owner.uid()), Some(owner.gid()))
}

/// Whether a replacement was begun and not ended.
pub(crate) fn is_half_done(folder: &Path) -> bool {
    folder.join(PLAN).exists()
}

/// Ends a replacement that was begun; nothing happens if none was.
///
/// # Errors
/// Those of the file system.
pub(crate) fn resume(folder: &Path) -> io::Result<()> {
    let path = folder.join(PLAN);
    let plan: Plan = match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let (new, database) = (folder.join(&plan.new), folder.join(DATABASE));
    // Without the new file, it stands in its place already.
    if new.exists() {
        move_if_there(&log_of(&database), &log_of(&folder.join(&plan.former)))?;
        remove_if_there(&folder.join(format!("{DATABASE}-shm")))?;
        // An empty file is what a first start makes, and nothing to keep.
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

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder as it is when the process ends after this many steps of a replacement that was decided on.
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
    fn a_plan_that_was_not_written_to_its_end_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("convoke.db"), "old").unwrap();
        fs::write(folder.path().join("replace.json.partial"), "{\"new\":").unwrap();
        resume(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("convoke.db")).unwrap(), "old");
    }
}
