//! The data folder of a node.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use convoke_store::OpenError;

/// Creates the private data folder if it is missing. It contains the node's socket and secrets.
pub(crate) fn make(data: &Path) -> Result<(), OpenError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(data);
    made.map_err(|source| OpenError::Folder { folder: data.to_owned(), source })
}
