//! The storage of contents: a folder, or a bucket.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

#[cfg(feature = "s3")]
use super::bucket::{Bucket, Object};
use super::folder::{Folder, StoredBytes};
use super::settings::FilesSettings;

/// Reads of at least this many bytes run on threads that may block. Shorter ones are in the page cache in most cases.
const INLINE_BYTES_MAX: u64 = 16 * 1024;

/// Bytes that are read at a time to hash a content.
const HASHED_BYTES: u64 = 1024 * 1024;
/// Threads that access the file system. Without this limit, hundreds of uploads would each have a thread, with memory of
/// its own.
const THREADS_MAX: usize = 16;
/// These threads. A semaphore on the threads of the server does not limit them: a permit is free before its thread is, so
/// that the next access starts another thread.
static THREADS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut threads = Builder::new_current_thread();
    let threads = threads.max_blocking_threads(THREADS_MAX).thread_name("convoke-files");
    threads.build().expect("a runtime without a driver and a thread opens nothing")
});

/// The storage of contents.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The folder of incomplete uploads, and of contents if there is no bucket.
    folder: Folder,
    #[cfg(feature = "s3")]
    bucket: Option<Bucket>,
}

/// An open content. A file stays readable after its removal from the storage.
#[derive(Clone, Debug)]
pub(crate) enum Opened {
    /// A file of the folder.
    File(Arc<File>),
    /// An object of the bucket.
    #[cfg(feature = "s3")]
    Object(Arc<Object>),
}

impl Storage {
    /// The storage of an installation with this data folder.
    ///
    /// # Errors
    /// What is wrong in the settings, for the operator.
    #[cfg(feature = "s3")]
    pub fn of(settings: &FilesSettings, data: &Path) -> Result<Self, String> {
        let bucket = settings.url.as_deref().map(|url| Bucket::open(url, settings, data)).transpose()?;
        Ok(Self { folder: settings.folder(data), bucket })
    }

    /// The storage of an installation with this data folder.
    ///
    /// # Errors
    /// What is wrong in the settings, for the operator.
    #[cfg(not(feature = "s3"))]
    pub fn of(settings: &FilesSettings, data: &Path) -> Result<Self, String> {
        match settings.url {
            None => Ok(Self { folder: settings.folder(data) }),
            Some(_) => Err("files.url needs a program that is built with the feature `s3` of `convoke`".to_owned()),
        }
    }

    /// Returns the folder of incomplete uploads.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Returns the folder of contents; none if they are in a bucket.
    pub fn local(&self) -> Option<&Folder> {
        #[cfg(feature = "s3")]
        if self.bucket.is_some() {
            return None;
        }
        Some(&self.folder)
    }

    /// Moves a complete, synchronized file into the storage.
    pub(crate) async fn place(&self, from: PathBuf, hash: String) -> io::Result<()> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return bucket.place(&from, &hash).await;
        }
        let folder = self.folder.clone();
        blocking(move || folder.place(&from, &hash)).await
    }

    /// Opens a content.
    ///
    /// # Errors
    /// Those of the storage; `NotFound` if there is no such content.
    pub(crate) async fn open(&self, hash: String) -> io::Result<Opened> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return Ok(Opened::Object(Arc::new(bucket.open_content(&hash).await?)));
        }
        let folder = self.folder.clone();
        blocking(move || Ok(Opened::File(Arc::new(folder.open(&hash)?)))).await
    }

    /// Removes a content, if it is there.
    pub(crate) async fn remove(&self, hash: String) -> io::Result<()> {
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            return bucket.remove(&hash).await;
        }
        let folder = self.folder.clone();
        blocking(move || folder.remove(&hash)).await
    }

    /// Reads a content of so many bytes. Returns its hash.
    ///
    /// # Errors
    /// Those of the storage; `UnexpectedEof` if the content is shorter.
    pub async fn hash_of(&self, hash: &str, bytes: u64) -> io::Result<String> {
        let opened = self.open(hash.to_owned()).await?;
        let (mut digest, mut at) = (Sha256::new(), 0);
        while at < bytes {
            let piece = opened.read(at, (bytes - at).min(HASHED_BYTES)).await?;
            digest.update(&piece);
            at += piece.len() as u64;
        }
        Ok(hex::encode(digest.finalize()))
    }

    /// Returns the contents for which `is_wanted` is true.
    ///
    /// # Errors
    /// Those of the storage.
    pub async fn contents(
        &self,
        is_wanted: impl Fn(&StoredBytes) -> bool + Send + Sync + 'static,
    ) -> io::Result<Vec<StoredBytes>> {
        let mut found = Vec::new();
        #[cfg(feature = "s3")]
        if let Some(bucket) = &self.bucket {
            bucket.contents(&mut |content| found.extend(is_wanted(&content).then_some(content))).await?;
            return Ok(found);
        }
        let folder = self.folder.clone();
        blocking(move || {
            folder.contents(&mut |content| found.extend(is_wanted(&content).then_some(content)))?;
            Ok(found)
        })
        .await
    }
}

impl Opened {
    /// Returns the bytes from `offset`, exactly `length` of them.
    ///
    /// # Errors
    /// Those of the storage; `UnexpectedEof` if the content is shorter.
    pub(crate) async fn read(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        let file = match self {
            Opened::File(file) => file.clone(),
            #[cfg(feature = "s3")]
            Opened::Object(object) => return object.read(offset, length).await,
        };
        let read = move || {
            let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            file.read_exact_at(&mut bytes, offset)?;
            Ok(Bytes::from(bytes))
        };
        if length <= INLINE_BYTES_MAX { read() } else { blocking(read).await }
    }
}

/// Runs work on a thread that may block, when one of them is free.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    begin(work).await.map_err(io::Error::other)?
}

/// Begins work on a thread that may block, when one of them is free. The work continues if its result is dropped.
pub(crate) fn begin<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> JoinHandle<io::Result<T>> {
    THREADS.spawn_blocking(work)
}
