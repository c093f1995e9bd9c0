//! Files: the storage of contents, upload tickets and links.
//!
//! The bytes of a content are in the storage under their SHA-256. They are complete and durable there before a row of
//! `_files` names them, and only such a content can be in a field of a table. `convoke_store::file_fields` counts the
//! references, and [`crate::transfers`] moves the bytes. In reading order: the settings, the type of a content, the
//! folder, the storage above it, the key of tokens, upload tickets, quotas, the parts in one object, and links.

mod settings;
pub(crate) mod sniff;
pub(crate) mod folder;
#[cfg(feature = "s3")]
mod bucket;
pub(crate) mod storage;
pub(crate) mod key;
pub(crate) mod ticket;
pub(crate) mod usage;
pub(crate) mod depot;
pub(crate) mod link;

pub(crate) use depot::DepotOptions;
pub use depot::{Depot, FileCounters};
pub use folder::{Folder, StoredBytes};
pub use link::Link;
pub use settings::FilesSettings;
pub use storage::Storage;
pub use ticket::{StorageId, Upload, UploadTicket};
pub use usage::FileUsage;
