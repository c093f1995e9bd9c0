//! Copies in a bucket of an S3-compatible storage. The storage must support conditional writes (`If-None-Match`).

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::buffered::BufWriter;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, RetryConfig};
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::{Builder, Runtime};

use super::parts::{BucketAccess, Listed};

/// Bytes of one part of a transfer. S3 requires at least 5 MiB.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// Longest time for repeated attempts of one request. The caller has its own repetition.
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// A bucket, or a folder in it.
#[derive(Debug)]
pub(super) struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    /// The callers are threads of their own.
    executor: Runtime,
}

impl Bucket {
    /// Prepares the access to `bucket/prefix`.
    ///
    /// # Errors
    /// A message for the operator.
    pub(super) fn open(place: &str, access: &BucketAccess) -> Result<Self, String> {
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(&access.region)
            .with_access_key_id(&access.key_id)
            .with_secret_access_key(&access.key)
            .with_retry(RetryConfig { max_retries: 3, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() });
        if let Some(endpoint) = &access.endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
        }
        let store = builder.build().map_err(|error| format!("s3://{place}: {error}"))?;
        let executor = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        Ok(Self { store: Arc::new(store), prefix: prefix.trim_matches('/').to_owned(), executor })
    }

    fn key(&self, name: &str) -> Key {
        Key::from(format!("{}/{name}", self.prefix))
    }

    pub(super) fn put_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let key = self.key(name);
        let put = self.store.put_opts(&key, bytes.to_vec().into(), options);
        match self.executor.block_on(put) {
            Ok(_) => Ok(()),
            Err(object_store::Error::AlreadyExists { .. }) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn put_file(&self, name: &str, from: &Path) -> io::Result<()> {
        let mut from = File::open(from)?;
        self.executor.block_on(async {
            let mut out =
                BufWriter::with_capacity(self.store.clone(), self.key(name), PART_BYTES).with_max_concurrency(2);
            let mut part = vec![0; PART_BYTES];
            loop {
                match from.read(&mut part)? {
                    0 => break,
                    read => out.write_all(&part[..read]).await?,
                }
            }
            out.shutdown().await
        })
    }

    pub(super) fn get(&self, name: &str) -> io::Result<File> {
        // The file has no name, and is removed when it is closed.
        let mut file = tempfile::tempfile()?;
        self.executor.block_on(async {
            let mut stream = self.store.get(&self.key(name)).await?.into_stream();
            while let Some(part) = stream.try_next().await? {
                file.write_all(&part)?;
            }
            Ok::<_, io::Error>(())
        })?;
        file.rewind()?;
        Ok(file)
    }

    pub(super) fn get_start(&self, name: &str, bytes: usize) -> io::Result<Vec<u8>> {
        let got = self.executor.block_on(self.store.get_range(&self.key(name), 0..bytes as u64))?;
        Ok(got.to_vec())
    }

    pub(super) fn exists(&self, name: &str) -> io::Result<bool> {
        let key = self.key(name);
        match self.executor.block_on(self.store.head(&key)) {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn files(&self, folder: &str) -> io::Result<Vec<Listed>> {
        let listed = self.executor.block_on(self.store.list_with_delimiter(Some(&self.key(folder))))?;
        Ok(listed.objects.into_iter().filter_map(listed_file).collect())
    }

    /// Lists only the names after `from`, in a folder without folders below it.
    pub(super) fn files_from(&self, folder: &str, from: &str) -> io::Result<Vec<Listed>> {
        let (prefix, offset) = (self.key(folder), self.key(&format!("{folder}/{from}")));
        let listed = self.store.list_with_offset(Some(&prefix), &offset).try_collect::<Vec<_>>();
        Ok(self.executor.block_on(listed)?.into_iter().filter_map(listed_file).collect())
    }

    pub(super) fn folders(&self) -> io::Result<Vec<String>> {
        let listed = self.executor.block_on(self.store.list_with_delimiter(Some(&self.key(""))))?;
        Ok(listed.common_prefixes.iter().filter_map(|path| path.filename().map(str::to_owned)).collect())
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        let key = self.key(name);
        match self.executor.block_on(self.store.delete(&key)) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn listed_file(object: object_store::ObjectMeta) -> Option<Listed> {
    Some(Listed { name: object.location.filename()?.to_owned(), bytes: object.size })
}
