//! A file with rotation.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_store::{Disk, Floor};

/// A file to which lines are appended. It is opened for each batch, so another program may move it away.
#[derive(Clone)]
pub(super) struct RotatingFile {
    pub(super) path: PathBuf,
    pub(super) bytes_max: u64,
    pub(super) files_max: u32,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) floor: Floor,
}

impl RotatingFile {
    /// Appends whole lines: all of them or, on failure, none. Blocks on the disk.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub(super) fn append(&self, lines: &[u8]) -> io::Result<()> {
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        fs::create_dir_all(folder)?;
        // The last space on a full disk is reserved for the database.
        if self.disk.room(folder).is_ok_and(|room| !self.floor.is_kept(room, true)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut bytes = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if bytes > 0 && bytes.saturating_add(lines.len() as u64) > self.bytes_max {
            self.rotate()?;
            bytes = 0;
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        file.write_all(lines).inspect_err(|_| {
            // A part of a line would break the reader of the file. A regular file can always be made shorter.
            let _ = file.set_len(bytes);
        })
    }

    /// Renames `file` to `file.1`, `file.1` to `file.2`, and so on. The oldest one is replaced or removed.
    fn rotate(&self) -> io::Result<()> {
        if self.files_max == 1 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.files_max - 1).rev() {
            match fs::rename(self.numbered(number), self.numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        fs::rename(&self.path, self.numbered(1))
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::limits::Limits;
    use convoke_store::SystemDisk;

    fn file(folder: &Path, files_max: u32) -> RotatingFile {
        let floor = Floor::of(&Limits::default());
        let path = folder.join("logs/calls.jsonl");
        RotatingFile { path, bytes_max: 20, files_max, disk: Arc::new(SystemDisk), floor }
    }

    fn contents(file: &RotatingFile) -> Vec<String> {
        let all = std::iter::once(file.path.clone()).chain((1..9).map(|number| file.numbered(number)));
        all.filter_map(|path| fs::read_to_string(path).ok()).collect()
    }

    #[test]
    fn full_file_is_renamed_and_the_oldest_one_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), 3);
        for number in 0..5 {
            file.append(format!("{number} first\n").as_bytes()).unwrap();
            file.append(format!("{number} second\n").as_bytes()).unwrap();
        }
        let expected = ["4 first\n4 second\n", "3 first\n3 second\n", "2 first\n2 second\n"];
        assert_eq!(contents(&file), expected);
    }

    #[test]
    fn single_file_begins_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), 1);
        for line in ["first line\n", "second line\n", "a third line that is longer than the limit\n"] {
            file.append(line.as_bytes()).unwrap();
            assert_eq!(contents(&file), [line]);
        }
    }

    #[test]
    fn file_that_another_program_moved_away_is_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), 3);
        file.append(b"first\n").unwrap();
        fs::rename(&file.path, folder.path().join("moved")).unwrap();
        file.append(b"second\n").unwrap();
        assert_eq!(contents(&file), ["second\n"]);
    }
}
