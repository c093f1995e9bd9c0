//! External services of actions: the HTTP client, and secrets.

#[cfg(feature = "outbound")]
pub(crate) mod address;
#[cfg(feature = "outbound")]
pub mod client;
#[cfg(feature = "outbound")]
pub mod retry;
pub mod secret;
pub mod secret_file;
pub mod store_key;

#[cfg(feature = "outbound")]
pub use client::{Http, HttpError, Reply, Request};
pub use secret::{Secret, SecretError};
pub use store_key::StoreKey;
