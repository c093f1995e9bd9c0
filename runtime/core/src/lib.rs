//! The types that all parts of Convoke use: errors, time, ids, identities, limits, and values on the wire.
//!
//! This crate opens no file of an installation and no socket. Its modules, in reading order:

extern crate self as convoke;

#[doc(hidden)]
pub mod __private;
pub mod error;
pub mod excerpt;
pub mod counted;
pub mod wire;
pub mod clock;
pub mod at_least;
pub mod durations;
pub mod priority;
pub mod core_wait;
pub mod id;
pub mod identity;
pub mod limits;
pub mod sections;
pub mod rate_classes;
pub mod queues;
pub mod trace_context;
pub mod answer;

pub use clock::{Clock, Millis};
pub use error::{Code, Error, Result};
pub use id::Id;
pub use identity::{Caller, Identity};
pub use wire::Invalid;
