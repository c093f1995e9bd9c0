//! What a function is handed: its permission.
//!
//! A query reads one snapshot; a mutation reads and writes one serializable transaction and cannot wait; an action
//! waits and has no database. What they share (the caller, the time, settings) is in `shared`.

pub mod shared;
pub mod query;
pub mod mutation;
pub mod action;

pub use action::ActionCtx;
pub use mutation::MutationCtx;
pub use query::QueryCtx;
pub use shared::{Context, Read};
