//! The errors of copies.

/// Reason why copies cannot be made or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The place or a file failed.
    #[error("{name}: {source}")]
    File {
        /// The file.
        name: String,
        /// The error.
        source: std::io::Error,
    },
    /// Another server continues these copies.
    #[error(
        "another server has taken over these copies as generation {0}, so this one no longer copies. If this server \
         replaces it: stop the other one, then run `convoke copies take-over`"
    )]
    TakenOver(u32),
    /// The place has copies of another database.
    #[error(
        "{url} already has copies of a database (generation {generation}), and this data folder has not made them. Use \
         an empty place; or, if this database replaces that one and its server is stopped, run `convoke copies take-over`"
    )]
    Foreign {
        /// The place.
        url: String,
        /// The newest generation.
        generation: u32,
    },
    /// The place has lost the copies of this data folder.
    #[error(
        "{0} has no copies, but this data folder has copied its database to it: mount its disk. If the copies were removed \
         on purpose: stop the server, and remove copy.json from the data folder"
    )]
    Emptied(String),
    /// Another server writes the same files.
    #[error("another server copies to {0} too; give each server a place of its own")]
    TwoServers(String),
    /// Copies for the requested moment are missing.
    #[error("{0}")]
    Missing(String),
    /// The engine failed.
    #[error(transparent)]
    Store(#[from] convoke_store::StoreError),
    /// The place cannot be opened.
    #[error("{0}")]
    Place(String),
}

impl CopyError {
    /// Returns a function that names a file in an error.
    pub(crate) fn of(name: &str) -> impl FnOnce(std::io::Error) -> Self {
        let name = name.to_owned();
        move |source| Self::File { name, source }
    }
}
