//! Files in functions that read: links and descriptions.

use std::time::Duration;

use crate::files::Link;
use crate::inputs::UsedInputs;
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_store::{Db, Doc, File, StoredFile};

/// Links and descriptions of files. `ctx.files()` returns it in queries and mutations.
pub struct Files<'a> {
    services: &'a Services,
    inputs: &'a UsedInputs,
    now: Millis,
    db: &'a Db,
}

/// A description of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// The type, determined from the content.
    pub content_type: String,
    /// The length in bytes.
    pub bytes: u64,
    /// The SHA-256 of the content, in hexadecimal.
    pub hash: String,
}

impl<'a> Files<'a> {
    pub(super) fn new(services: &'a Services, inputs: &'a UsedInputs, now: Millis, db: &'a Db) -> Self {
        Self { services, inputs, now, db }
    }

    /// Returns a link to a file of a row. It expires after `life`, and ends with the row. The function must have
    /// checked that the caller may read the file.
    ///
    /// A query returns the same link for a third of `life`. Its result can be cached for that time, and a live query
    /// runs again only after it.
    pub fn link(&self, file: &File, life: Duration) -> Link<'a> {
        Link::new(self.services.files(), self.inputs, file, life, self.now)
    }

    /// Returns the type, the length and the hash of a file.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn info(&self, file: &File) -> Result<FileInfo> {
        let found = self.infos(std::slice::from_ref(file))?;
        found.into_iter().next().ok_or_else(|| Error::internal("a file without a description"))
    }

    /// Returns the descriptions of several files, in their order. Runs one statement.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn infos(&self, files: &[File]) -> Result<Vec<FileInfo>> {
        let ids: Vec<_> = files.iter().map(File::content).collect();
        let describe = |row: Option<Doc<StoredFile>>| {
            let row = row.ok_or_else(|| Error::internal("a row refers to a file that does not exist"))?.into_inner();
            let bytes = u64::try_from(row.bytes).unwrap_or(0);
            Ok(FileInfo { content_type: row.content_type, bytes, hash: row.hash })
        };
        self.db.get_many(&ids)?.into_iter().map(describe).collect()
    }
}
