//! The secrets of an installation in a file of their own, for those who back them up on purpose.
//!
//! A backup is the database alone: who holds it has the data, and none of the keys. What lies beside the database and
//! is needed to go on elsewhere are the files of `secrets/` and the development issuer's key; settings and TLS files
//! belong to the machine.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use super::{with_ending, write_private};
use crate::auth::development::KEY_FILE;

/// The folder of secrets within the data folder.
pub const FOLDER: &str = "secrets";
/// Bytes of one secret: more than any key has.
const BYTES_MAX: u64 = 1024 * 1024;

/// The files of an installation that are secrets, within its data folder.
///
/// # Errors
/// Those of the file system.
pub fn files(data: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    match fs::read_dir(data.join(FOLDER)) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    found.push(Path::new(FOLDER).join(entry.file_name()));
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if data.join(KEY_FILE).exists() {
        found.push(KEY_FILE.into());
    }
    found.sort();
    Ok(found)
}

/// Packs the secrets of an installation into a tar file for its owner alone; says how many there are.
///
/// # Errors
/// Those of the file system.
pub fn pack(data: &Path, to: &Path) -> io::Result<usize> {
    let files = files(data)?;
    let mut archive = tar::Builder::new(Vec::new());
    for file in &files {
        let bytes = fs::read(data.join(file))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, file, &bytes[..])?;
    }
    write_private(to, &archive.into_inner()?)?;
    Ok(files.len())
}

/// What became of one secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unpacked {
    /// It was there already, the same.
    Same(PathBuf),
    /// It is there now.
    Added(PathBuf),
    /// It is there now; the other one is kept in this file.
    Replaced(PathBuf, PathBuf),
}

/// Puts packed secrets back; one that is there and differs is kept under a name with `mark` behind it.
///
/// # Errors
/// Those of the file system; a file that is none of [`pack`]'s, before anything is written.
pub fn unpack(from: &Path, data: &Path, mark: &str) -> io::Result<Vec<Unpacked>> {
    let mut secrets = Vec::new();
    for entry in tar::Archive::new(File::open(from)?).entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        let mut parts = path.components();
        let fits = match (parts.next(), parts.next(), parts.next()) {
            (Some(Component::Normal(name)), None, None) => name == KEY_FILE,
            (Some(Component::Normal(folder)), Some(Component::Normal(_)), None) => folder == FOLDER,
            _ => false,
        };
        if !fits || entry.size() > BYTES_MAX || !entry.header().entry_type().is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is no secret", path.display())));
        }
        let mut bytes = Vec::new();
        entry.take(BYTES_MAX).read_to_end(&mut bytes)?;
        secrets.push((path, bytes));
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data.join(FOLDER))?;
    secrets.into_iter().map(|(path, bytes)| put(data, path, &bytes, mark)).collect()
}

fn put(data: &Path, path: PathBuf, bytes: &[u8], mark: &str) -> io::Result<Unpacked> {
    let to = data.join(&path);
    let done = match fs::read(&to) {
        Ok(there) if there == bytes => return Ok(Unpacked::Same(path)),
        Ok(_) => {
            let kept = with_ending(&to, mark);
            fs::rename(&to, &kept)?;
            fs::set_permissions(&kept, fs::Permissions::from_mode(0o600))?;
            Unpacked::Replaced(path, kept)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Unpacked::Added(path),
        Err(error) => return Err(error),
    };
    write_private(&to, bytes)?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_into_one_private_file_and_come_back_beside_what_differs() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(one.path().join(FOLDER)).unwrap();
        for (name, text) in [("secrets/A", "a"), ("secrets/B", "b"), (KEY_FILE, "k"), ("convoke.db", "no secret")] {
            fs::write(one.path().join(name), text).unwrap();
        }
        let packed = one.path().join("x.secrets.tar");
        assert_eq!(pack(one.path(), &packed).unwrap(), 3);
        assert_eq!(fs::metadata(&packed).unwrap().permissions().mode() & 0o777, 0o600);

        fs::create_dir(other.path().join(FOLDER)).unwrap();
        fs::write(other.path().join("secrets/A"), "a").unwrap();
        fs::write(other.path().join("secrets/B"), "another").unwrap();
        let done = unpack(&packed, other.path(), ".before-now").unwrap();
        let kept = other.path().join("secrets/B.before-now");
        assert_eq!(
            done,
            [
                Unpacked::Added(KEY_FILE.into()),
                Unpacked::Same("secrets/A".into()),
                Unpacked::Replaced("secrets/B".into(), kept.clone()),
            ]
        );
        assert_eq!(fs::read_to_string(kept).unwrap(), "another");
        assert_eq!(fs::read_to_string(other.path().join("secrets/B")).unwrap(), "b");
        assert_eq!(fs::metadata(other.path().join(KEY_FILE)).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_with_other_paths_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["secrets/../../x", "convoke.db", "secrets/a/b"] {
            let mut archive = tar::Builder::new(Vec::new());
            let mut header = tar::Header::new_gnu();
            header.set_size(1);
            header.set_mode(0o600);
            // `set_path` refuses what climbs; somebody else's tool does not.
            header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            archive.append(&header, &b"x"[..]).unwrap();
            let file = folder.path().join("bad.tar");
            fs::write(&file, archive.into_inner().unwrap()).unwrap();
            let data = folder.path().join("data");
            unpack(&file, &data, ".x").unwrap_err();
            assert!(!data.exists(), "{path}");
        }
    }
}
