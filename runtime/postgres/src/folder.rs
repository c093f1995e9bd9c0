//! The data folder of a node.

use std::path::Path;

use convoke_store::{OpenError, private_folder};

/// Creates the private data folder if it is missing. It contains the node's socket and secrets.
pub(crate) fn make(data: &Path) -> Result<(), OpenError> {
    private_folder(data).map_err(|source| OpenError::Folder { folder: data.to_owned(), source })
}
