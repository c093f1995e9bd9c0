//! The folder of backups: names, checksum files, and rotation.

pub mod contents;
pub(crate) mod copying;
pub(crate) mod making;
pub mod schedule;
pub mod secrets;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use convoke_core::clock::{self, Millis};
use convoke_store::{remove_if_there, write_private};

/// The name of the folder of backups in the data folder.
pub const FOLDER: &str = "backups";
const BEGINNING: &str = "convoke-";
const END: &str = ".db";
/// End of the name of a file until it is complete.
const PARTIAL: &str = ".partial";
/// Length of a time stamp.
const STAMP: usize = 15;

/// Age at which incomplete backups are removed from a folder to which another machine may write, too.
pub const SHARED_PARTIAL_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the name of a new backup: `convoke-20260131-235959.db`, with a number if the name is used.
pub fn name(folder: &Path, now: Millis) -> String {
    free_name(folder, &format!("{BEGINNING}{}{END}", clock::stamp(now)))
}

/// Returns an unused name for a backup. If the folder has backups of the same second, the number is higher than theirs,
/// even if earlier ones were removed.
pub fn free_name(folder: &Path, name: &str) -> String {
    let plain = name.get(..BEGINNING.len() + STAMP).unwrap_or(name);
    let number_of = |path: &PathBuf| {
        let rest = path.file_stem()?.to_str()?.strip_prefix(plain)?;
        if rest.is_empty() { Some(1) } else { rest.strip_prefix('-')?.parse::<u64>().ok() }
    };
    // If the folder cannot be read, the write of the backup reports it.
    let newest = list(folder).unwrap_or_default().iter().filter_map(number_of).max();
    let numbered = (newest.unwrap_or(1).saturating_add(1)..).map(|number| format!("{plain}-{number}{END}"));
    let mut names = newest.is_none().then(|| name.to_owned()).into_iter().chain(numbered);
    names.find(|name| !folder.join(name).exists()).unwrap_or_default()
}

/// Returns true if a name is that of a backup. Such a name contains no path.
pub fn is_backup(name: &str) -> bool {
    let Some(stamp) = name.strip_prefix(BEGINNING).and_then(|rest| rest.strip_suffix(END)) else { return false };
    let mut parts = stamp.split('-');
    let mut digits = |count: Option<usize>| {
        parts.next().is_some_and(|part| {
            !part.is_empty()
                && count.is_none_or(|count| part.len() == count)
                && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    digits(Some(8)) && digits(Some(6)) && (stamp.len() == 15 || digits(None)) && parts.next().is_none()
}

/// Returns the backups in a folder, oldest first.
///
/// # Errors
/// Those of the file system.
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_backup) && entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    // The name contains the time. Of the same second, a longer name is newer.
    found.sort_by_key(|path| {
        (path.file_stem().map(|stem| stem.to_string_lossy()[..23].to_owned()), path.as_os_str().len(), path.clone())
    });
    Ok(found)
}

/// Removes the backups of a folder before `made` except the newest `keep - 1`, with their checksums and secrets. Returns
/// the removed backups. Backups with later names are neither counted nor removed: their names are from another clock, and
/// do not show their age.
///
/// # Errors
/// Those of the file system.
pub fn rotate(folder: &Path, keep: usize, made: &Path) -> io::Result<Vec<PathBuf>> {
    let mut backups = list(folder)?;
    let earlier = backups.iter().position(|backup| backup.file_name() == made.file_name()).unwrap_or_default();
    backups.truncate((earlier + 1).saturating_sub(keep.max(1)).min(earlier));
    for backup in &backups {
        remove(backup)?;
    }
    Ok(backups)
}

/// Removes what interrupted backups have left in a folder, if its last write is at least `age` ago: `NAME.partial`, and the
/// checksum and the files of the same name. Other files stay. A file that cannot be removed stays, too.
///
/// # Errors
/// The folder cannot be read.
pub fn remove_partial(folder: &Path, age: Duration) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(PARTIAL)).filter(|name| is_backup(name))
        else {
            continue;
        };
        let backup = folder.join(name);
        let is_old = |path: &Path| {
            let written = fs::metadata(path).and_then(|found| found.modified());
            // The file system does not use the clock of the runtime. A missing companion has no age.
            written.map_or(true, |written| written.elapsed().unwrap_or_default() >= age)
        };
        let partial = entry.path();
        if backup.exists()
            || ![&partial, &checksum_of(&backup), &files_of(&backup)].into_iter().all(|path| is_old(path))
        {
            continue;
        }
        if remove(&backup).and_then(|()| fs::remove_file(&partial)).is_ok() {
            // SQLite writes it while it completes the file.
            let _ = fs::remove_file(with_ending(&partial, "-journal"));
        }
    }
    Ok(())
}

/// Removes a backup, its files, its secrets and its checksum. Removes the secrets first, so that they never remain without a
/// backup, and the checksum last, so that no backup remains without a checksum.
///
/// # Errors
/// Those of the file system.
pub fn remove(backup: &Path) -> io::Result<()> {
    match fs::remove_dir_all(files_of(backup)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    [secrets_of(backup), backup.to_owned(), checksum_of(backup)].iter().try_for_each(|file| remove_if_there(file))
}

/// Returns the path of a backup's checksum file, in the format of `sha256sum -c`.
pub fn checksum_of(backup: &Path) -> PathBuf {
    with_ending(backup, ".sha256")
}

/// Returns the path of the archive with the secrets of a backup's installation.
pub fn secrets_of(backup: &Path) -> PathBuf {
    with_ending(backup, ".secrets.tar")
}

/// Returns the folder with the contents of a backup's files.
pub fn files_of(backup: &Path) -> PathBuf {
    with_ending(backup, ".files")
}

/// Appends a suffix to a file's path.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Writes a backup's checksum file.
///
/// # Errors
/// Those of the file system.
pub fn write_checksum(backup: &Path, sha256: &str) -> io::Result<()> {
    let name = backup.file_name().unwrap_or_default().to_string_lossy();
    write_private(&checksum_of(backup), format!("{sha256}  {name}\n").as_bytes())
}

/// Returns the checksum of a backup from its checksum file, if there is one.
///
/// # Errors
/// Those of the file system.
pub fn read_checksum(backup: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(checksum_of(backup)) {
        Ok(text) => Ok(text.split_whitespace().next().map(str::to_owned)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the SHA-256 of a file in hexadecimal and its length. Calls `progress` with the number of bytes read so far.
///
/// # Errors
/// Those of the file system.
pub fn measure(path: &Path, progress: &mut dyn FnMut(u64)) -> io::Result<(String, u64)> {
    measure_all(&mut File::open(path)?, progress)
}

/// As [`measure`], of everything that `from` returns.
///
/// # Errors
/// Those of `from`.
pub fn measure_all(from: &mut dyn io::Read, progress: &mut dyn FnMut(u64)) -> io::Result<(String, u64)> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok((hex::encode(digest.finalize()), bytes));
        }
        digest.update(&buffer[..read]);
        bytes += read as u64;
        progress(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_backups_are_names_of_backups() {
        for name in ["convoke-20260131-235959.db", "convoke-20260131-235959-2.db", "convoke-20260131-235959-11.db"] {
            assert!(is_backup(name), "{name}");
        }
        for name in [
            "convoke.db",
            "convoke-20260131.db",
            "convoke-2026013a-235959.db",
            "convoke-20260131-235959-.db",
            "convoke-20260131-235959-2-3.db",
            "convoke-20260131-235959.db.sha256",
            "../convoke-20260131-235959.db",
            "convoke-20260131-235959-../.db",
        ] {
            assert!(!is_backup(name), "{name}");
        }
    }

    #[test]
    fn rotation_keeps_the_newest_and_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["convoke-20260101-000000.db", "convoke-20260102-000000.db", "convoke-20260102-000000-2.db"];
        for name in names {
            fs::write(folder.path().join(name), "x").unwrap();
            write_checksum(&folder.path().join(name), "00").unwrap();
        }
        fs::write(folder.path().join("other.db"), "x").unwrap();
        let newest = folder.path().join(names[2]);
        let removed = rotate(folder.path(), 2, &newest).unwrap();
        assert_eq!(removed, [folder.path().join(names[0])]);
        assert!(!checksum_of(&removed[0]).exists());
        assert_eq!(rotate(folder.path(), 1, &newest).unwrap(), [folder.path().join(names[1])]);
        assert!(folder.path().join("other.db").exists());
        // The name of the removed backup would sort before an existing one.
        assert_eq!(free_name(folder.path(), names[1]), "convoke-20260102-000000-3.db");
        assert_eq!(free_name(folder.path(), names[0]), names[0]);
        assert_eq!(rotate(folder.path(), 0, &newest).unwrap(), [] as [PathBuf; 0]);
    }

    #[test]
    fn rotation_never_removes_the_new_backup_or_later_ones() {
        let folder = tempfile::tempdir().unwrap();
        let [old, made, later, last] = ["20260101", "20260102", "20300101", "20300102"]
            .map(|day| folder.path().join(format!("convoke-{day}-000000.db")));
        for path in [&old, &made, &later, &last] {
            fs::write(path, "x").unwrap();
        }
        assert_eq!(rotate(folder.path(), 1, &made).unwrap(), [old]);
        assert_eq!(
            rotate(folder.path(), 1, &folder.path().join("convoke-20200101-000000.db")).unwrap(),
            [] as [PathBuf; 0]
        );
        assert!(made.exists() && later.exists() && last.exists());
    }

    #[test]
    fn only_incomplete_backups_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let backup = at("convoke-20260101-000000.db");
        let stay = ["mine.db.partial", "convoke-20260102-000000.db", "convoke-20260102-000000.db.partial"];
        let go = ["convoke-20260101-000000.db.partial", "convoke-20260101-000000.db.sha256"];
        for name in stay.iter().chain(&go) {
            fs::write(at(name), "x").unwrap();
        }
        fs::create_dir_all(files_of(&backup).join("ab")).unwrap();
        remove_partial(folder.path(), Duration::from_secs(3_600)).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6, "another process may write a young one");
        remove_partial(folder.path(), Duration::ZERO).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["convoke-20260102-000000.db", "convoke-20260102-000000.db.partial", "mine.db.partial"]);
    }

    #[test]
    fn backups_of_one_second_have_different_names() {
        let folder = tempfile::tempdir().unwrap();
        let first = name(folder.path(), Millis(0));
        assert_eq!(first, "convoke-19700101-000000.db");
        fs::write(folder.path().join(&first), "").unwrap();
        let second = name(folder.path(), Millis(0));
        assert_eq!(second, "convoke-19700101-000000-2.db");
        fs::write(folder.path().join(&second), "").unwrap();
        assert_eq!(free_name(folder.path(), &second), "convoke-19700101-000000-3.db");
    }
}
