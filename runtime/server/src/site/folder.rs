//! The folder of a site, and the file of a path in it.
//!
//! A path is decoded once and split at slashes. A part that is empty or begins with a dot names no file. Links are
//! resolved, and a file outside of the folder does not exist.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

/// The file of a folder.
const INDEX: &str = "index.html";

/// A folder whose files are served.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

/// The folder cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder cannot be opened.
    #[error("site.dir: {} cannot be served: {cause}; build the site first, or correct site.dir (--site)", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// It is not a folder.
    #[error("site.dir: {} is not a folder", .0.display())]
    NoFolder(PathBuf),
}

/// The result of a look-up.
#[derive(Debug)]
pub(super) enum Found {
    File(Box<OpenFile>),
    /// A folder whose path lacks the slash at its end.
    Folder,
    Nothing,
}

/// An open file of the site.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) metadata: Metadata,
    /// Its path in the folder, with slashes.
    pub(super) name: String,
}

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let root = path.canonicalize().map_err(|cause| FolderError::Open { path: path.to_owned(), cause })?;
        if root.is_dir() { Ok(Self { root }) } else { Err(FolderError::NoFolder(path.to_owned())) }
    }

    /// Returns the file of a raw path of a URL. Blocks on the disk.
    ///
    /// # Errors
    /// Those of the disk, except that a file which does not exist or may not be read is [`Found::Nothing`].
    pub(super) fn find(&self, path: &str) -> io::Result<Found> {
        let Some(mut name) = name_of(path) else { return Ok(Found::Nothing) };
        if name.is_empty() || name.ends_with('/') {
            name.push_str(INDEX);
        }
        self.file(&name)
    }

    /// Returns the file with this name: parts with slashes between them.
    pub(super) fn file(&self, name: &str) -> io::Result<Found> {
        match self.open_within(name) {
            Ok(found) => Ok(found),
            Err(error) if names_no_file(&error) => Ok(Found::Nothing),
            Err(error) => Err(error),
        }
    }

    fn open_within(&self, name: &str) -> io::Result<Found> {
        let target = self.root.join(name).canonicalize()?;
        let Ok(inner) = target.strip_prefix(&self.root) else { return Ok(Found::Nothing) };
        // A link may lead to a hidden file of the same folder.
        if inner.components().any(|part| is_hidden(&part.as_os_str().to_string_lossy())) {
            return Ok(Found::Nothing);
        }
        // A pipe or a device would block.
        let kind = target.metadata()?;
        if kind.is_dir() {
            return Ok(Found::Folder);
        }
        if !kind.is_file() {
            return Ok(Found::Nothing);
        }
        let file = File::open(&target)?;
        let metadata = file.metadata()?;
        Ok(Found::File(Box::new(OpenFile { file, metadata, name: name.to_owned() })))
    }

    /// Returns the file of the folder itself.
    pub(super) fn index(&self) -> io::Result<Found> {
        self.file(INDEX)
    }
}

/// Returns true if the error means that there is no such file, or that this process may not read it.
fn names_no_file(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound, PermissionDenied};
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    is_loop || matches!(error.kind(), NotFound | NotADirectory | PermissionDenied | InvalidInput | InvalidFilename)
}

/// Decodes a path. Returns `None` if no file can have it.
fn name_of(path: &str) -> Option<String> {
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    let name = decoded.strip_prefix('/')?;
    let parts = name.strip_suffix('/').unwrap_or(name);
    let is_valid = |part: &str| !part.is_empty() && !is_hidden(part) && !part.contains(['\\', '\0']);
    (name.is_empty() || parts.split('/').all(is_valid)).then(|| name.to_owned())
}

fn is_hidden(part: &str) -> bool {
    part.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> (tempfile::TempDir, Folder) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("dist");
        std::fs::create_dir_all(root.join("docs/.git")).unwrap();
        std::fs::create_dir_all(outer.path().join("dist-secret")).unwrap();
        for (file, text) in [
            ("secret.txt", "outer"),
            ("dist-secret/key", "outer"),
            ("dist/index.html", "index"),
            ("dist/.env", "hidden"),
            ("dist/docs/index.html", "docs"),
            ("dist/docs/.git/config", "hidden"),
            ("dist/a b.txt", "space"),
            ("dist/100%.txt", "percent"),
        ] {
            std::fs::write(outer.path().join(file), text).unwrap();
        }
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        link("../secret.txt", "out.txt");
        link("..", "up");
        link("/etc", "etc");
        link(".env", "env.txt");
        link("docs/index.html", "inner.html");
        link("loop", "loop");
        let folder = Folder::open(&root).unwrap();
        (outer, folder)
    }

    fn text(found: Found) -> Option<String> {
        match found {
            Found::File(file) => Some(io::read_to_string(file.file).unwrap()),
            Found::Folder => Some("folder".to_owned()),
            Found::Nothing => None,
        }
    }

    #[test]
    fn path_leads_to_its_file_and_a_slash_to_the_index() {
        let (_outer, folder) = site();
        for (path, expected) in [
            ("/", "index"),
            ("/index.html", "index"),
            ("/docs/", "docs"),
            ("/docs", "folder"),
            ("/a%20b.txt", "space"),
            ("/100%25.txt", "percent"),
            ("/inner.html", "docs"),
        ] {
            assert_eq!(text(folder.find(path).unwrap()).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn nothing_outside_of_the_folder_and_nothing_hidden_is_served() {
        let (_outer, folder) = site();
        for path in [
            "",
            "secret.txt",
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/%2E%2E/secret.txt",
            "/docs/../../secret.txt",
            "/docs/%2e%2e/%2e%2e/secret.txt",
            "/..%2fsecret.txt",
            "/%2e%2e%2fsecret.txt",
            "/%252e%252e/secret.txt",
            "/..%5csecret.txt",
            "/..\\secret.txt",
            "//etc/passwd",
            "/%2fetc/passwd",
            "/./index.html",
            "/docs/./index.html",
            "/.env",
            "/%2eenv",
            "/docs/.git/config",
            "/docs/.git",
            "/env.txt",
            "/out.txt",
            "/up/secret.txt",
            "/up/dist/index.html/..",
            "/etc/passwd",
            "/loop",
            "/index.html/",
            "/index.html/x",
            "/docs//index.html",
            "/index.html%00.txt",
            "/%00",
            "/%ff",
            "/%c0%ae%c0%ae/secret.txt",
            "/../dist-secret/key",
            "/missing.txt",
            &format!("/{}", "x".repeat(5_000)),
        ] {
            assert_eq!(text(folder.find(path).unwrap()), None, "{path}");
        }
        // A link through the outer folder and back stays within it.
        assert_eq!(text(folder.find("/up/dist/index.html").unwrap()).as_deref(), Some("index"));
    }

    #[test]
    fn missing_folder_error_names_the_setting_and_flag() {
        let error = Folder::open(Path::new("/nonexistent/dist")).unwrap_err().to_string();
        assert!(error.contains("site.dir") && error.contains("--site"), "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(Folder::open(file.path()), Err(FolderError::NoFolder(_))));
    }
}
