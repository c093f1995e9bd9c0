//! The access to a place, and its files.

/// Access to a bucket. A folder needs none.
#[derive(Clone, Debug, Default)]
pub struct BucketAccess {
    /// URL of the storage; by default that of AWS.
    pub endpoint: Option<String>,
    /// Region of the storage.
    pub region: String,
    /// Id of the access key.
    pub key_id: String,
    /// The access key.
    pub key: String,
}

/// A file of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Its name in its folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// Returns the access to the bucket of a URL. It is called for each connection, so that a changed secret takes effect.
pub type Access = Box<dyn Fn(&str) -> Result<BucketAccess, String> + Send>;
