//! The static site: the files of a folder, at the paths that no route has.
//!
//! In reading order: the file of a path, the rules for caches, the conditions of a request, and the response.

pub mod folder;
mod caching;
mod conditions;
pub mod serve;

pub use folder::FolderError;
pub use serve::Site;
