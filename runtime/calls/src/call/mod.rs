//! From a path and JSON arguments to an envelope.
//!
//! The order of a call's steps is written in `dispatch` and only there. Each step lives in a module of its own and
//! cannot see the next.

pub mod dispatch;
pub mod envelope;
pub mod flow;
pub mod idempotency;
pub mod provision;
pub mod timestamp;

pub use crate::codec::Format;
pub use dispatch::{Dispatcher, Outcome};
