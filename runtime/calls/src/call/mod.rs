//! From a path and JSON arguments to an envelope.
//!
//! `dispatch` alone holds the order of a call's steps. Each step is a separate module and cannot see the next one.

pub mod dispatch;
pub mod envelope;
pub mod flow;
pub mod idempotency;
pub mod provision;
pub mod timestamp;

pub use crate::codec::Format;
pub use dispatch::{Dispatcher, Outcome};
