//! Authentication: from the `Authorization` header to a [`Caller`](convoke_core::identity::Caller).
//!
//! Functions decide the rights of a caller, and the identity hook writes new identities to the database. In reading
//! order: the deployment, the settings of providers, the parser of the header, the checks of a token, the keys of a
//! provider, the token cache, deploy keys, and the authenticator that combines them.

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
