//! The storage of contents.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use super::folder::Folder;

/// Reads of at least this many bytes run on threads that may block. Shorter ones are in the page cache in most cases.
const INLINE_BYTES_MAX: u64 = 16 * 1024;

/// The storage of contents.
#[derive(Clone, Debug)]
pub struct Storage {
    folder: Folder,
}

/// An open content. It stays readable after its removal from the storage.
#[derive(Clone, Debug)]
pub(crate) struct Opened(Arc<File>);

impl Storage {
    /// The storage in this folder.
    pub(crate) fn in_folder(folder: Folder) -> Self {
        Self { folder }
    }

    /// Returns the folder of incomplete uploads and of contents.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Moves a complete, synchronized file into the storage.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) async fn place(&self, from: PathBuf, hash: String) -> io::Result<()> {
        let folder = self.folder.clone();
        blocking(move || folder.place(&from, &hash)).await
    }

    /// Opens a content.
    ///
    /// # Errors
    /// Those of the storage; `NotFound` if there is no such content.
    pub(crate) async fn open(&self, hash: String) -> io::Result<Opened> {
        let folder = self.folder.clone();
        blocking(move || Ok(Opened(Arc::new(folder.open(&hash)?)))).await
    }

    /// Removes a content, if it is there.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) async fn remove(&self, hash: String) -> io::Result<()> {
        let folder = self.folder.clone();
        blocking(move || folder.remove(&hash)).await
    }
}

impl Opened {
    /// Returns the bytes from `offset`, exactly `length` of them.
    ///
    /// # Errors
    /// Those of the storage; `UnexpectedEof` if the content is shorter.
    pub(crate) async fn read(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        let file = self.0.clone();
        let read = move || {
            let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            file.read_exact_at(&mut bytes, offset)?;
            Ok(Bytes::from(bytes))
        };
        if length <= INLINE_BYTES_MAX { read() } else { blocking(read).await }
    }
}

/// Runs work on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
