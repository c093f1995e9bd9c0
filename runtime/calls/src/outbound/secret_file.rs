//! A secret that the server makes at its first start and keeps in its data folder, readable by its own user only.

use std::io::{self, Write as _};
use std::path::Path;

/// The bytes of the file at `path`; if there is none, those that `make` gives are written there first.
///
/// The file appears whole or not at all, and of two processes that start at once both get the same bytes.
///
/// # Errors
/// When it cannot be read or written, when others than its owner may read it, and what `make` fails with.
pub fn read_or_create(path: &Path, make: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    // A temporary file is made with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&make()?)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => sync_folder(folder)?,
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    read(path)
}

/// The bytes of the file at `path`.
///
/// # Errors
/// When it cannot be read, and when others than its owner may read it.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    match open_to_others(path)? {
        Some(advice) => Err(io::Error::new(io::ErrorKind::PermissionDenied, advice)),
        None => Ok(bytes),
    }
}

/// Says what to do about the file at `path` if others than its owner may read or write it.
///
/// # Errors
/// When there is no such file, or nobody may ask for it.
#[cfg(unix)]
pub fn open_to_others(path: &Path) -> io::Result<Option<String>> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = std::fs::metadata(path)?;
    let mode = file.permissions().mode() & 0o777;
    let path = path.display();
    Ok((file.is_file() && mode & 0o077 != 0)
        .then(|| format!("{path} is a secret with mode {mode:04o}; take it from others with `chmod 600 {path}`")))
}

#[cfg(not(unix))]
pub fn open_to_others(_: &Path) -> io::Result<Option<String>> {
    Ok(None)
}

/// The name of a new file is on disk only when its folder is.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_then_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert_eq!(read_or_create(&path, || Ok(b"one".to_vec())).unwrap(), b"one");
        assert_eq!(read_or_create(&path, || panic!("it stands")).unwrap(), b"one");
    }

    #[test]
    fn a_secret_that_cannot_be_made_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert!(read_or_create(&path, || Err(io::Error::other("no"))).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
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
