//! From a path and JSON arguments to an envelope.
//!
//! The order of a call's steps is written in `dispatch` and only there. Each step lives in a module of its own and
//! cannot see the next.

pub mod dispatch;
pub(crate) mod ended;
pub mod envelope;
pub(crate) mod decode;
pub(crate) mod encoded;
pub(crate) mod erased;
pub(crate) mod execute;
pub(crate) mod identify;
pub(crate) mod own;
pub mod idempotency;

pub use decode::Format;
pub use dispatch::Outcome;
