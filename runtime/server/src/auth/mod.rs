//! Who a token names: from the `Authorization` header to a [`Caller`](convoke_core::identity::Caller).
//!
//! What a caller may do is the functions' affair, and what a first sight of an identity changes in the database is the
//! identity hook's. In reading order: where the server runs, what an identity provider is, how the header is read,
//! what one token must satisfy, which keys vouch for it, what is remembered, and the door that puts it together.

pub mod environment;
pub mod provider;
pub mod schemes;

pub mod header;

pub mod claims;
pub mod token;

pub mod key_set;
pub mod key_source;
pub mod keys;

pub mod bearer;
pub mod token_cache;

pub mod acting_as;
pub mod deploy_key;
pub mod deploy_key_cache;

pub mod authenticator;
pub mod error;

pub mod development;

pub use authenticator::Authenticator;
pub use environment::Environment;
pub use error::AuthError;
pub use provider::{AuthConfig, ConfigError, KeySource, ProviderConfig};
