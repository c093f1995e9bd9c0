//! The pages of another database, for a database that follows its copies ([`crate::StoreOptions::follows`]).

use std::io;

use super::error::StoreError;

/// Receives the pages of another database.
pub trait PageSink: Send + Sync + 'static {
    /// Writes pages in one transaction: a reader sees all of them or none. Blocks until they are on disk. Live queries
    /// run again, and the schema is compared with the code if it has changed.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: `source` fails, or the pages do not fit the database; [`StoreError::Closed`].
    fn write(&self, source: PageSource) -> Result<(), StoreError>;
}

/// Passes pages to the receiver, and returns the size of the database in pages. Of several contents of a page, the last
/// one is kept.
pub type PageSource = Box<dyn FnOnce(&mut ReceivePage<'_>) -> io::Result<u32> + Send>;

/// Receives the number and the content of a page. The first page has number 1.
pub type ReceivePage<'a> = dyn FnMut(u32, &[u8]) -> io::Result<()> + 'a;
