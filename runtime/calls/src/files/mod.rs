//! Files: uploads, contents in a storage, and links.
//!
//! The bytes of a content are in the storage under their SHA-256. They are complete and durable there before a row of
//! `_files` names them, and only such a content can be in a field of a table. `convoke_store::file_fields` counts the
//! references. In reading order: the settings, the type of a content, the folder, the storage above it, the key of
//! tokens, links, upload tickets, quotas, the parts in one object, the receipt of bytes, reads, and the removal of what
//! no row needs.

mod settings;
mod sniff;
mod folder;
#[cfg(feature = "s3")]
mod bucket;
mod storage;
mod key;
pub mod link;
pub mod ticket;
mod usage;
mod depot;
mod receive;
mod download;
mod sweep;

pub(crate) use depot::DepotOptions;
pub use depot::{Depot, FileCounters};
pub use download::{Download, FileReader, download};
pub use folder::{Folder, StoredBytes};
pub use link::Link;
pub(crate) use receive::address;
pub use receive::{Offset, Receiving, create, status};
pub use settings::FilesSettings;
pub use storage::Storage;
pub use sweep::{Swept, sweep};
pub use ticket::{StorageId, Upload, UploadTicket};
pub use usage::FileUsage;
