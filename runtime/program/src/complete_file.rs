//! Files that commands write: a file has its former content until the new one is complete.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::failure::Failure;

/// Writes to a temporary file and renames it, so that no reader sees a partial file, and a full disk keeps the former one.
/// Returns false for an equal file, which stays untouched.
///
/// # Errors
/// The file or its folder cannot be written.
pub(crate) fn write(file: &Path, text: &str) -> Result<bool, Failure> {
    replaced(file, text).map_err(Failure::writing(file))
}

fn replaced(file: &Path, text: &str) -> io::Result<bool> {
    // A link stays, and its target is replaced.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let former = fs::metadata(&target).ok();
    // A device or a pipe cannot be replaced.
    if former.as_ref().is_some_and(|former| !former.is_file()) {
        return fs::write(&target, text).map(|()| true);
    }
    if fs::read(&target).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(false);
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut beside = tempfile::NamedTempFile::new_in(folder)?;
    beside.write_all(text.as_bytes())?;
    // Temporary files are private to their user, but all users can read source files.
    let permissions = former.map_or_else(|| fs::Permissions::from_mode(0o644), |former| former.permissions());
    beside.as_file().set_permissions(permissions)?;
    beside.persist(&target)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_file_is_replaced_with_its_permissions_and_a_device_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("web/api.ts"), folder.path().join("api.ts"));
        assert!(replaced(&file, "one").unwrap());
        assert!(!replaced(&file, "one").unwrap());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(replaced(&link, "two").unwrap());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(replaced(Path::new("/dev/null"), "three").unwrap());
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }
}
