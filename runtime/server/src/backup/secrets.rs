//! An optional archive of an installation's secrets beside a backup.
//!
//! A backup contains only the database, so it grants access to the data but contains no keys. A move to another machine
//! also needs the files in `secrets/` and the development issuer's key. Settings and TLS files belong to the machine.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::with_ending;
use crate::auth::development::KEY_FILE;
use convoke_store::{private_folder, write_private};

/// The name of the folder of secrets in the data folder.
pub const FOLDER: &str = "secrets";
/// Largest secret in an archive: larger than any key.
const BYTES_MAX: u64 = 1024 * 1024;

/// Returns the secret files of an installation, relative to its data folder.
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

/// Packs the secrets of an installation into a tar file that only its owner can read. Returns their number.
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

/// The result of unpacking one secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unpacked {
    /// The same file existed.
    Same(PathBuf),
    /// The file was added.
    Added(PathBuf),
    /// The file was replaced. The second path is the previous file.
    Replaced(PathBuf, PathBuf),
}

/// Restores packed secrets. A different existing file is renamed with the suffix `mark`.
///
/// # Errors
/// Those of the file system; a file that [`pack`] did not write, before anything is written.
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
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is not a secret", path.display())));
        }
        let mut bytes = Vec::new();
        entry.take(BYTES_MAX).read_to_end(&mut bytes)?;
        secrets.push((path, bytes));
    }
    private_folder(&data.join(FOLDER))?;
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
    fn packed_secrets_are_restored_and_different_files_are_renamed() {
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
    fn archive_with_other_paths_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["secrets/../../x", "convoke.db", "secrets/a/b"] {
            let mut archive = tar::Builder::new(Vec::new());
            let mut header = tar::Header::new_gnu();
            header.set_size(1);
            header.set_mode(0o600);
            // `set_path` rejects `..`; other tools do not.
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
