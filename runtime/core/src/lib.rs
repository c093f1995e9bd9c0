//! What every part of Convoke speaks of: errors, time, ids, identities, limits, and values as they are on the wire.
//!
//! Nothing here opens a file of an installation, or a socket. Its modules, in reading order:

extern crate self as convoke;

#[doc(hidden)]
pub mod __private;
pub mod error;
pub mod wire;
pub mod clock;
pub mod priority;
pub mod core_wait;
pub mod id;
pub mod identity;
pub mod limits;
pub mod section;
pub mod rate_class;
pub mod answer;

pub use clock::{Clock, Millis};
pub use error::{Code, Error, Result};
pub use id::Id;
pub use identity::{Caller, Identity};
pub use wire::Invalid;
