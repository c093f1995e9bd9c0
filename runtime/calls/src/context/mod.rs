//! The contexts that functions receive. A context is a function's permission.
//!
//! A query reads one snapshot. A mutation reads and writes one serializable transaction and cannot wait. An action
//! waits and has no database. `shared` holds their common parts (the caller, the time, settings); `handler` calls a
//! function with a context.

pub mod files;
pub mod shared;
pub mod query;
pub mod mutation;
pub(crate) mod prepared;
pub mod uploads;
pub mod action;
pub mod file_bytes;
pub mod handler;

pub use action::ActionCtx;
pub use file_bytes::ActionFiles;
pub use files::{FileInfo, Files};
pub use handler::{ActionFn, MutationFn, QueryFn};
pub use mutation::MutationCtx;
pub use query::QueryCtx;
pub use shared::{Context, Read};
pub use uploads::MutationFiles;
