//! Contents in an S3-compatible storage, under `prefix/ab/cdef…`.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::AmazonS3Builder;
use object_store::buffered::BufWriter;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Mutex, Semaphore};

use super::folder::{Folder, StoredBytes};
use super::settings::FilesSettings;
use crate::outbound::secret;

/// Bytes of one part of a transfer. S3 requires at least 5 MiB.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// Concurrent transfers to the storage, because each holds a part in memory.
const TRANSFERS_MAX: usize = 4;
/// Bytes that are read from the file at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// A bucket, or a folder in it.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    transfers: Arc<Semaphore>,
}

impl Bucket {
    /// Prepares the access to the bucket of a URL.
    ///
    /// # Errors
    /// What is missing in the settings, for the operator.
    pub(crate) fn open(url: &str, settings: &FilesSettings, data: &Path) -> Result<Self, String> {
        if let Some(problem) = settings.problem() {
            return Err(problem);
        }
        let place = url.strip_prefix("s3://").unwrap_or(url);
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let read = |name: &str| secret::read(data, name).map_err(|error| format!("files.url: {error}"));
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(&settings.region)
            .with_access_key_id(read("S3_ACCESS_KEY_ID")?.expose())
            .with_secret_access_key(read("S3_SECRET_ACCESS_KEY")?.expose());
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
        }
        let store = builder.build().map_err(|error| format!("files.url: {error}"))?;
        let prefix = prefix.trim_matches('/').to_owned();
        Ok(Self { store: Arc::new(store), prefix, transfers: Arc::new(Semaphore::new(TRANSFERS_MAX)) })
    }

    fn key(&self, hash: &str) -> Key {
        let (first, rest) = hash.split_at(hash.len().min(2));
        Key::from(format!("{}/{first}/{rest}", self.prefix))
    }

    /// Copies a complete file into the bucket, and removes the file.
    pub(crate) async fn place(&self, from: &Path, hash: &str) -> io::Result<()> {
        let _permit = self.transfers.acquire().await.map_err(io::Error::other)?;
        let mut file = tokio::fs::File::open(from).await?;
        let mut out = BufWriter::with_capacity(self.store.clone(), self.key(hash), PART_BYTES).with_max_concurrency(1);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece).await? {
                0 => break,
                read => out.write_all(&piece[..read]).await?,
            }
        }
        out.shutdown().await?;
        tokio::fs::remove_file(from).await
    }

    /// Opens a content.
    ///
    /// # Errors
    /// Those of the storage; `NotFound` if there is no such content.
    pub(crate) async fn open_content(&self, hash: &str) -> io::Result<Object> {
        let key = self.key(hash);
        self.store.head(&key).await.map_err(io::Error::from)?;
        Ok(Object { store: self.store.clone(), key, open: Mutex::new(None) })
    }

    /// Removes a content, if it is there.
    pub(crate) async fn remove(&self, hash: &str) -> io::Result<()> {
        match self.store.delete(&self.key(hash)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Calls `visit` for each content.
    pub(crate) async fn contents(&self, visit: &mut (dyn FnMut(StoredBytes) + Send)) -> io::Result<()> {
        let prefix = (!self.prefix.is_empty()).then(|| Key::from(self.prefix.as_str()));
        let mut listed = self.store.list(prefix.as_ref());
        while let Some(object) = listed.try_next().await.map_err(io::Error::from)? {
            let path = object.location.as_ref();
            let below = path.strip_prefix(&self.prefix).unwrap_or(path).trim_start_matches('/');
            let hash: String = below.chars().filter(|c| *c != '/').collect();
            if Folder::is_hash(&hash) {
                let placed_at = SystemTime::from(object.last_modified);
                visit(StoredBytes { hash, bytes: object.size, placed_at });
            }
        }
        Ok(())
    }
}

/// An open content of a bucket. Reads in order share one request.
#[derive(Debug)]
pub(crate) struct Object {
    store: Arc<dyn ObjectStore>,
    key: Key,
    open: Mutex<Option<Sequence>>,
}

/// The rest of a request.
struct Sequence {
    at: u64,
    held: Bytes,
    rest: BoxStream<'static, object_store::Result<Bytes>>,
}

impl std::fmt::Debug for Sequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at {}", self.at)
    }
}

impl Object {
    /// Returns the bytes from `offset`, exactly `length` of them.
    ///
    /// # Errors
    /// Those of the storage; `UnexpectedEof` if the content is shorter.
    pub(crate) async fn read(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        let mut open = self.open.lock().await;
        let mut sequence = match open.take().filter(|sequence| sequence.at == offset) {
            Some(sequence) => sequence,
            None => {
                let options = GetOptions { range: Some(GetRange::Offset(offset)), ..GetOptions::default() };
                let found = self.store.get_opts(&self.key, options).await.map_err(io::Error::from)?;
                Sequence { at: offset, held: Bytes::new(), rest: found.into_stream() }
            }
        };
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut bytes = BytesMut::with_capacity(length);
        while bytes.len() < length {
            if sequence.held.is_empty() {
                let next = sequence.rest.next().await;
                sequence.held = next.ok_or(io::ErrorKind::UnexpectedEof)?.map_err(io::Error::from)?;
                continue;
            }
            let part = sequence.held.split_to(sequence.held.len().min(length - bytes.len()));
            bytes.extend_from_slice(&part);
        }
        sequence.at += length as u64;
        *open = Some(sequence);
        Ok(bytes.freeze())
    }
}
