//! A new folder with files: it appears complete, or not at all.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Creates `folder` with files, each a path below the folder and a text.
///
/// The files are written to a temporary folder beside it, which is renamed at the end and removed on failure.
///
/// # Errors
/// `AlreadyExists` if there is such a folder or file, or the error of the file system.
pub(crate) fn create(folder: &Path, files: &[(&str, String)]) -> io::Result<()> {
    // A link that leads nowhere exists, too.
    if fs::symlink_metadata(folder).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let partial = tempfile::Builder::new().prefix(".convoke-new-").tempdir_in(parent)?;
    for (path, text) in files {
        let path = partial.path().join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    // Temporary folders are private to their user.
    fs::set_permissions(partial.path(), fs::Permissions::from_mode(0o755))?;
    fs::rename(partial.path(), folder)?;
    // Nothing is left to remove.
    let _ = partial.keep();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn files_appear_together_with_the_permissions_of_sources() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("shelf");
        create(&folder, &[("a", "1".to_owned()), ("b/c/d", "2".to_owned())]).unwrap();
        assert_eq!(fs::read_to_string(folder.join("b/c/d")).unwrap(), "2");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(names(parent.path()), ["shelf"]);
    }

    #[test]
    fn failed_write_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("shelf");
        // No file system has a name of 300 bytes, so the second write fails.
        let error = create(&folder, &[("a", String::new()), (&"b".repeat(300), String::new())]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidFilename);
        assert!(names(parent.path()).is_empty(), "{:?}", names(parent.path()));
    }

    #[test]
    fn existing_file_or_link_is_not_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let (file, link) = (parent.path().join("file"), parent.path().join("link"));
        fs::write(&file, "mine").unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        for path in [&file, &link] {
            assert_eq!(create(path, &[]).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }
}
