//! What a function is handed: its permission.
//!
//! A query reads one snapshot; a mutation reads and writes one serializable transaction and cannot wait; an action
//! waits and has no database. What they share (the caller, the time, settings) is in `shared`; how a function is called
//! with one of them is in `handler`.

pub mod shared;
pub mod query;
pub mod mutation;
pub(crate) mod prepared;
pub mod action;
pub mod handler;

pub use action::ActionCtx;
pub use handler::{ActionFn, MutationFn, QueryFn};
pub use mutation::MutationCtx;
pub use query::QueryCtx;
pub use shared::{Context, Read};
