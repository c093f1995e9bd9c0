//! The parts of files that exist once per runtime: the storage, the key, and counters.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::folder::Folder;
use super::key::Key;
use super::settings::FilesSettings;
use super::storage::Storage;
use crate::outbound::StoreKey;
use crate::public_url::PublicUrl;
use convoke_core::error::{Error, Result};
use convoke_store::{Disk, Floor, Room};

/// The files of a runtime.
pub struct Depot {
    storage: Storage,
    data: PathBuf,
    store_key: Option<StoreKey>,
    key: OnceLock<Key>,
    public_url: PublicUrl,
    user_bytes_max: u64,
    disk: Arc<dyn Disk>,
    floor: Floor,
    /// Uploads whose bytes are arriving.
    arriving: Mutex<HashSet<u128>>,
    /// Held while contents are removed, or must not be removed.
    removal: tokio::sync::Mutex<()>,
    counters: FileCounters,
}

/// Counters since the process started.
#[derive(Debug, Default)]
pub struct FileCounters {
    /// Completed uploads.
    pub uploads: AtomicU64,
    /// Uploads that failed or were rejected.
    pub uploads_failed: AtomicU64,
    /// Bytes of uploads.
    pub bytes_received: AtomicU64,
    /// Bytes of downloads.
    pub bytes_sent: AtomicU64,
    /// Contents that were removed.
    pub removed: AtomicU64,
}

/// The parts of [`Depot::new`].
pub(crate) struct DepotOptions {
    pub data: PathBuf,
    pub store_key: Option<StoreKey>,
    pub settings: FilesSettings,
    pub public_url: PublicUrl,
    pub disk: Arc<dyn Disk>,
    pub floor: Floor,
}

impl Depot {
    /// # Errors
    /// What is wrong in the settings, for the operator.
    pub(crate) fn new(options: DepotOptions) -> Result<Self, String> {
        let DepotOptions { data, store_key, settings, public_url, disk, floor } = options;
        Ok(Self {
            storage: Storage::of(&settings, &data)?,
            data,
            store_key,
            key: OnceLock::new(),
            public_url,
            user_bytes_max: settings.user_bytes_max,
            disk,
            floor,
            arriving: Mutex::default(),
            removal: tokio::sync::Mutex::default(),
            counters: FileCounters::default(),
        })
    }

    /// Removes the uploads that a crash has cut and nothing can continue. Call it before uploads begin, and only if no
    /// other node uses the folder.
    pub(crate) fn remove_cut(&self) {
        let is_cut = |name: &str, _| !name.ends_with(Folder::PART);
        if let Err(error) = self.storage.folder().remove_incoming(&is_cut) {
            tracing::warn!(target: "convoke::files", "incomplete uploads of an earlier run remain: {error}");
        }
    }

    /// Returns what an operator must change if several nodes serve the database. None: all nodes can share the folder.
    pub fn unshared(&self) -> Option<String> {
        let folder = self.storage.local()?.path();
        folder.starts_with(&self.data).then(|| {
            format!(
                "several nodes may serve this database, and the files are in {}, which only this node has: set files.url to \
                 an S3-compatible storage, or files.dir to a folder that all nodes share",
                folder.display()
            )
        })
    }

    /// Returns the storage.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Returns the counters.
    pub fn counters(&self) -> &FileCounters {
        &self.counters
    }

    /// Prevents the removal of contents until the guard is dropped, for a copy of rows and files of one moment. Blocks
    /// while contents are removed.
    #[must_use = "the removal goes on when the guard is dropped"]
    pub fn hold_removal(&self) -> impl Drop + '_ {
        self.removal.blocking_lock()
    }

    /// Begins the removal of contents. None: it must not run now, or runs already.
    pub(crate) fn begin_removal(&self) -> Option<impl Drop + '_> {
        self.removal.try_lock().ok()
    }

    /// Counts an upload that failed or was rejected.
    pub fn count_failure(&self) {
        FileCounters::count(&self.counters.uploads_failed, 1);
    }

    /// Returns the number of uploads whose bytes are arriving.
    pub fn arriving(&self) -> usize {
        self.arriving.lock().len()
    }

    pub(crate) fn user_bytes_max(&self) -> u64 {
        self.user_bytes_max
    }

    /// Returns true if the address of this server is known, and so changes no more.
    pub(crate) fn has_url(&self) -> bool {
        self.public_url.is_set()
    }

    /// Returns the URL of a path of this server.
    pub(crate) fn url(&self, path: &str) -> String {
        self.public_url.of(path)
    }

    pub(crate) fn key(&self) -> Result<&Key> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = Key::of(&self.data, self.store_key.as_ref())?;
        Ok(self.key.get_or_init(|| key))
    }

    /// Marks an upload as arriving. None: another request sends its bytes.
    pub(crate) fn begin_arrival(self: &Arc<Self>, id: u128) -> Option<Arrival> {
        self.arriving.lock().insert(id).then(|| Arrival { depot: self.clone(), id })
    }

    pub(crate) fn is_arriving(&self, id: u128) -> bool {
        self.arriving.lock().contains(&id)
    }

    /// Checks that the disk has space for so many more bytes.
    ///
    /// # Errors
    /// `UNAVAILABLE`.
    pub(crate) fn require_room(&self, bytes: u64) -> Result<()> {
        // A file system that does not report its space rejects the write itself.
        let folder = self.storage.folder().path();
        let Ok(room) = self.disk.room(folder).or_else(|_| self.disk.room(&self.data)) else { return Ok(()) };
        let after = Room { free_bytes: room.free_bytes.saturating_sub(bytes), ..room };
        if room.free_bytes >= bytes && self.floor.is_kept(after, true) { Ok(()) } else { Err(no_room()) }
    }
}

/// An upload whose bytes are arriving, until it is dropped.
pub(crate) struct Arrival {
    depot: Arc<Depot>,
    id: u128,
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.depot.arriving.lock().remove(&self.id);
    }
}

fn no_room() -> Error {
    Error::unavailable("The server's disk has no room for this file now; try again later")
}

/// Returns the error of a failed access to the storage.
pub(crate) fn failed(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            no_room().caused_by(error)
        }
        _ => Error::unavailable("The storage of files does not answer now; try again").caused_by(error),
    }
}

impl FileCounters {
    pub(crate) fn count(counter: &AtomicU64, number: u64) {
        counter.fetch_add(number, Relaxed);
    }
}
