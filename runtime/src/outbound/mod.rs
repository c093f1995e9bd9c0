//! What an action reaches outside: HTTP services, and the secrets to talk to them.

pub mod client;
pub mod retry;
pub mod secret;

pub use client::{Http, HttpError, Reply, Request};
pub use secret::{Secret, SecretError};
