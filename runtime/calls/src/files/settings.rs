//! The settings of files.

use std::path::{Path, PathBuf};

use super::folder::Folder;
use convoke_core::sections::Section as _;

convoke_core::section! {
    /// Files that clients upload and read.
    pub struct FilesSettings in "files" {
        /// Folder of the contents. The default is the folder files in the data folder. Several nodes of one database
        /// need a folder that all of them share.
        #[schemars(example = "/mnt/shared/files")]
        pub dir: Option<PathBuf> = None,
        /// Contents in an S3-compatible storage instead of a folder. The program needs the feature `s3`. The secrets
        /// S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are its credentials. Uploads arrive in the folder first.
        #[schemars(example = "s3://bucket/prefix")]
        pub url: Option<String> = None,
        /// Address of a storage that is not that of AWS.
        #[schemars(example = "https://s3.example.com")]
        pub endpoint: Option<String> = None,
        /// Region of the storage.
        pub region: String = "us-east-1".to_owned(),
        /// Bytes of stored contents per identity; above it, an upload fails with `RATE_LIMITED`. A content counts for
        /// the identity that uploaded it first, until it is removed. 0 = off.
        pub user_bytes_max: u64 = 10 * 1024 * 1024 * 1024,
    }
}

/// Name of the folder of contents in the data folder.
const FOLDER: &str = "files";

impl FilesSettings {
    /// Reads the section from the settings of an installation. An invalid section counts as absent: the check of all
    /// settings reports it.
    pub fn of(settings: &toml::Table) -> Self {
        settings.get(Self::NAME).cloned().and_then(|value| value.try_into().ok()).unwrap_or_default()
    }

    /// Returns what is wrong with the address of the contents, for the operator.
    pub fn problem(&self) -> Option<String> {
        let url = self.url.as_deref()?;
        let is_bucket = url.strip_prefix("s3://").is_some_and(|place| !place.is_empty() && !place.starts_with('/'));
        (!is_bucket).then(|| format!("files.url must be s3://bucket or s3://bucket/prefix, not {url:?}"))
    }

    /// Returns the folder of contents of an installation with this data folder; none if they are in a bucket.
    pub fn local(&self, data: &Path) -> Option<Folder> {
        self.url.is_none().then(|| self.folder(data))
    }

    /// Returns the folder of uploads of an installation with this data folder.
    pub(crate) fn folder(&self, data: &Path) -> Folder {
        Folder::at(self.dir.clone().unwrap_or_else(|| data.join(FOLDER)))
    }
}
