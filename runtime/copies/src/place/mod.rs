//! The place of copies: a folder, or a bucket of an S3-compatible storage.

#[cfg(feature = "s3")]
mod bucket;
mod folder;
mod parts;

use std::fs::File;
use std::io;
use std::path::Path;

use folder::Folder;
pub(crate) use parts::Listed;
pub use parts::{Access, BucketAccess};

/// Prefix of the URL of a folder.
const FOLDER: &str = "dir:";
/// Prefix of the URL of a bucket.
const BUCKET: &str = "s3://";

const NO_BUCKETS: &str = "copies in a bucket need the feature `s3` of convoke";

/// A folder or a bucket with copies.
#[derive(Debug)]
pub struct Place {
    url: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Folder(Folder),
    #[cfg(feature = "s3")]
    Bucket(bucket::Bucket),
}

impl Place {
    /// Opens a place: `dir:/path`, or `s3://bucket/prefix`.
    ///
    /// # Errors
    /// A message for the operator.
    pub fn open(url: &str, access: &BucketAccess) -> Result<Self, String> {
        let kind = match url.strip_prefix(FOLDER) {
            Some(path) => Kind::Folder(Folder::open(Path::new(path))?),
            None if url.starts_with(BUCKET) => Self::bucket(&url[BUCKET.len()..], access)?,
            None => return Err(format!("{url}: write dir:/path or s3://bucket/prefix")),
        };
        Ok(Self { url: url.to_owned(), kind })
    }

    /// Checks the form of a URL without opening the place.
    ///
    /// # Errors
    /// A message for the operator.
    pub(crate) fn check(url: &str) -> Result<(), String> {
        match url.strip_prefix(FOLDER) {
            Some(path) if Path::new(path).is_absolute() => Ok(()),
            Some(_) => Err(format!("{url}: write an absolute path, such as dir:/mnt/backup/convoke")),
            None if Self::is_bucket(url) && cfg!(feature = "s3") => Ok(()),
            None if Self::is_bucket(url) => Err(NO_BUCKETS.to_owned()),
            None => Err(format!("{url}: write dir:/path or s3://bucket/prefix")),
        }
    }

    /// Returns true if the URL is that of a bucket, which needs a [`BucketAccess`].
    pub fn is_bucket(url: &str) -> bool {
        url.starts_with(BUCKET)
    }

    #[cfg(feature = "s3")]
    fn bucket(place: &str, access: &BucketAccess) -> Result<Kind, String> {
        Ok(Kind::Bucket(bucket::Bucket::open(place, access)?))
    }

    #[cfg(not(feature = "s3"))]
    fn bucket(_: &str, _: &BucketAccess) -> Result<Kind, String> {
        Err(NO_BUCKETS.to_owned())
    }

    /// Returns its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its folder on this machine; `None` for a bucket.
    pub fn folder(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Folder(folder) => Some(folder.path()),
            #[cfg(feature = "s3")]
            Kind::Bucket(_) => None,
        }
    }

    /// Returns the folder of a level of copies, as Litestream names it in this kind of place.
    pub(crate) fn level(&self, level: u8) -> String {
        match &self.kind {
            Kind::Folder(_) => format!("ltx/{level}"),
            #[cfg(feature = "s3")]
            Kind::Bucket(_) => format!("{level:04x}"),
        }
    }

    /// Stores a new file completely or not at all. `at` is its time in milliseconds.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`]; errors of the place.
    pub(crate) fn put_new(&self, name: &str, bytes: &[u8], at: i64) -> io::Result<()> {
        match &self.kind {
            Kind::Folder(folder) => folder.put_new(name, bytes, at),
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) => bucket.put_new(name, bytes),
        }
    }

    /// Stores a copy of a local file completely or not at all, and replaces an existing one.
    pub(crate) fn put_file(&self, name: &str, from: &Path, at: i64) -> io::Result<()> {
        match &self.kind {
            Kind::Folder(folder) => folder.put_file(name, from, at),
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) => bucket.put_file(name, from),
        }
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; errors of the place.
    pub(crate) fn get(&self, name: &str) -> io::Result<File> {
        match &self.kind {
            Kind::Folder(folder) => folder.get(name),
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) => bucket.get(name),
        }
    }

    /// Returns the first bytes of a file, at most `bytes`.
    pub(crate) fn get_start(&self, name: &str, bytes: usize) -> io::Result<Vec<u8>> {
        match &self.kind {
            Kind::Folder(folder) => folder.get_start(name, bytes),
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) => bucket.get_start(name, bytes),
        }
    }

    /// Returns true if a file exists.
    pub(crate) fn exists(&self, name: &str) -> io::Result<bool> {
        match &self.kind {
            Kind::Folder(folder) => folder.exists(name),
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) => bucket.exists(name),
        }
    }

    /// Returns the files of a folder, without those in folders below it, by name. A missing folder has none.
    pub(crate) fn files(&self, folder: &str) -> io::Result<Vec<Listed>> {
        self.files_from(folder, "")
    }

    /// As [`Place::files`], without the names that come before `from` in the order of bytes.
    pub(crate) fn files_from(&self, folder: &str, from: &str) -> io::Result<Vec<Listed>> {
        let mut files = match &self.kind {
            Kind::Folder(place) => place.files_from(folder, from)?,
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) if from.is_empty() => bucket.files(folder)?,
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) => bucket.files_from(folder, from)?,
        };
        files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    }

    /// Returns the names of the folders at the top.
    pub(crate) fn folders(&self) -> io::Result<Vec<String>> {
        match &self.kind {
            Kind::Folder(folder) => folder.folders(),
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) => bucket.folders(),
        }
    }

    /// Removes incomplete files of a folder. A storage removes incomplete uploads by its own rules.
    pub(crate) fn remove_partial(&self, folder: &str) -> io::Result<()> {
        match &self.kind {
            Kind::Folder(place) => place.remove_partial(folder),
            #[cfg(feature = "s3")]
            Kind::Bucket(_) => Ok(()),
        }
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match &self.kind {
            Kind::Folder(folder) => folder.remove(name),
            #[cfg(feature = "s3")]
            Kind::Bucket(bucket) => bucket.remove(name),
        }
    }
}
