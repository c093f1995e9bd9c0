//! Convoke: a function runtime.
//!
//! A developer writes a function, puts `#[query]`, `#[mutation]` or `#[action]` above it, and it can be called over
//! HTTP, in process from a test, on a schedule, and from other functions. This crate knows no table and no function of
//! any application. Its modules, in reading order:

// The attributes emit absolute paths (`::convoke::…`); the runtime's own tables use them too.
extern crate self as convoke;

pub mod auth;
pub mod clock;
pub mod error;
pub mod http;
pub mod id;
pub mod identity;
pub mod limits;
pub mod store;
pub mod wire;

pub use clock::{Clock, Millis};
pub use error::{Code, Error, Result};
pub use id::Id;
pub use identity::{Caller, Identity};
