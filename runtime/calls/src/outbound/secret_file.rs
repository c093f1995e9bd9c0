//! A secret that the server generates at its first start and stores in its data folder, readable by its own user only.

use std::io::{self, Write as _};
use std::path::Path;

use convoke_store::sync_folder;

/// Reads the file at `path`. If it does not exist, writes the bytes of `make` to it first.
///
/// The file appears atomically. Two processes that start concurrently get the same bytes.
///
/// # Errors
/// It cannot be read or written; other users may read it; or `make` fails.
pub fn read_or_create(path: &Path, make: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    // A temporary file has mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&make()?)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => sync_folder(path)?,
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    read(path)
}

/// Reads the file at `path`.
///
/// # Errors
/// It cannot be read; or other users may read it.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    match open_to_others(path)? {
        Some(advice) => Err(io::Error::new(io::ErrorKind::PermissionDenied, advice)),
        None => Ok(bytes),
    }
}

/// Returns advice about the file at `path` if other users may read or write it.
///
/// # Errors
/// There is no such file, or its metadata cannot be read.
pub fn open_to_others(path: &Path) -> io::Result<Option<String>> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = std::fs::metadata(path)?;
    let mode = file.permissions().mode() & 0o777;
    let path = path.display();
    Ok((file.is_file() && mode & 0o077 != 0).then(|| {
        format!("{path} is a secret with mode {mode:04o}; run `chmod 600 {path}`, so that only its owner can read it")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_made_once_and_then_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert_eq!(read_or_create(&path, || Ok(b"one".to_vec())).unwrap(), b"one");
        assert_eq!(read_or_create(&path, || panic!("the file exists")).unwrap(), b"one");
    }

    #[test]
    fn failed_secret_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert!(read_or_create(&path, || Err(io::Error::other("no"))).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_its_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        read_or_create(&path, || Ok(vec![1])).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let refusal = read_or_create(&path, || Ok(vec![])).unwrap_err();
        assert!(refusal.to_string().contains("mode 0640"), "{refusal}");
    }
}
