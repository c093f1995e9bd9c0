//! Fields with files: the type of such a field, its rule, the rows of contents, and the references of rows to them.
//!
//! A row has the id of a content, never its bytes. The transaction of a mutation counts the references with each write,
//! so a content without references is known without a search, on every engine.

mod content;
mod file;
mod references;
mod rule;

pub use content::{ContentState, StoredFile};
pub use file::{File, Place};
pub(crate) use references::{Reference, require_fit, with_references};
pub use references::{file_places, has_files};
pub use rule::FileRule;
