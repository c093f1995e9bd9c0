//! The callers: the identity of a verified token, and the kinds of caller.
//!
//! The module `auth` verifies tokens, and functions check the rights of a caller.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The longest subject, in characters (OpenID Connect Core §2). Organizations and roles are also index keys and have the
/// same limit.
pub const KEY_CHARS_MAX: usize = 255;

/// A verified identity, as a function sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Identity {
    /// The issuer of the token.
    pub issuer: String,
    /// The user's id at the issuer, unique within the issuer.
    pub subject: String,
    /// The e-mail address, as in the claim.
    pub email: Option<String>,
    /// True if the provider has verified the e-mail address; absent if the token has no such claim.
    pub email_verified: Option<bool>,
    /// A name to display.
    pub name: Option<String>,
    /// The URL of a picture.
    pub picture: Option<String>,
    /// The organization of the identity.
    pub org_id: Option<String>,
    /// The roles, such as `admin`.
    pub roles: Vec<String>,
    /// The time at which the token was issued, in seconds since the epoch.
    pub issued_at: Option<i64>,
    /// The time at which the token expires, in seconds since the epoch.
    pub expires_at: Option<i64>,
    /// All claims of the token.
    pub claims: Map<String, Value>,
}

impl Identity {
    /// See [`KEY_CHARS_MAX`].
    pub const KEY_CHARS_MAX: usize = KEY_CHARS_MAX;

    /// Returns `issuer|subject`, a text that is unique to the identity.
    pub fn token_identifier(&self) -> String {
        format!("{}|{}", self.issuer, self.subject)
    }

    /// Returns true if the identity has this role.
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }
}

/// The caller of a function.
#[derive(Clone, Debug, Default)]
pub enum Caller {
    /// A caller without credentials.
    #[default]
    Nobody,
    /// A verified identity.
    User(Arc<Identity>),
    /// A deploy key, for automation.
    DeployKey(Arc<DeployKeyCaller>),
    /// The runtime itself: scheduled work.
    System,
}

/// An accepted deploy key.
#[derive(Clone, Debug)]
pub struct DeployKeyCaller {
    /// The key's name.
    pub name: String,
    /// The scopes of the key.
    pub scopes: Vec<String>,
    /// The user that the key acts as, if any: issuer and subject only.
    pub acting_as: Option<Arc<Identity>>,
}

impl DeployKeyCaller {
    /// The scope of keys that may call internal functions.
    pub const INTERNAL: &str = "internal";

    /// Returns true if the key may call internal functions.
    pub fn may_call_internal(&self) -> bool {
        self.scopes.iter().any(|scope| scope == Self::INTERNAL)
    }
}

impl Caller {
    /// The identity of the call: that of the user, or that which a deploy key acts as.
    pub fn identity(&self) -> Option<&Arc<Identity>> {
        match self {
            Caller::User(identity) => Some(identity),
            Caller::DeployKey(key) => key.acting_as.as_ref(),
            Caller::Nobody | Caller::System => None,
        }
    }

    /// The deploy key of the call, if any.
    pub fn deploy_key(&self) -> Option<&DeployKeyCaller> {
        match self {
            Caller::DeployKey(key) => Some(key),
            Caller::Nobody | Caller::User(_) | Caller::System => None,
        }
    }
}
