//! Who calls: the identity that a verified token names, and the kinds of caller.
//!
//! How a token is verified is `auth`'s affair; what a caller may do is the functions'.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A verified identity, as a function sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Identity {
    /// Who issued the token.
    pub issuer: String,
    /// Whom the issuer means; unique within the issuer.
    pub subject: String,
    /// The e-mail address as the claim gave it.
    pub email: Option<String>,
    /// Whether the provider vouches for the address; none if it does not say.
    pub email_verified: Option<bool>,
    /// A name to show.
    pub name: Option<String>,
    /// The address of a picture.
    pub picture: Option<String>,
    /// The organization the identity acts in.
    pub org_id: Option<String>,
    /// Its roles, e.g. `admin`.
    pub roles: Vec<String>,
    /// When the token was issued, seconds since the epoch.
    pub issued_at: Option<i64>,
    /// When the token ends, seconds since the epoch.
    pub expires_at: Option<i64>,
    /// Every claim of the token.
    pub claims: Map<String, Value>,
}

impl Identity {
    /// `issuer|subject`: one text that no other identity has.
    pub fn token_identifier(&self) -> String {
        format!("{}|{}", self.issuer, self.subject)
    }

    /// Whether the identity carries this role.
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }
}

/// Who makes a call.
#[derive(Clone, Debug, Default)]
pub enum Caller {
    /// No credentials were sent.
    #[default]
    Nobody,
    /// A verified identity.
    User(Arc<Identity>),
    /// A deploy key, for automation.
    DeployKey(Arc<DeployKeyCaller>),
    /// The runtime itself: scheduled work.
    System,
}

/// A deploy key that was accepted.
#[derive(Clone, Debug)]
pub struct DeployKeyCaller {
    /// The key's name.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// The user it acts as, if any: issuer and subject only.
    pub acting_as: Option<Arc<Identity>>,
}

impl DeployKeyCaller {
    /// The scope that lets a key call internal functions.
    pub const INTERNAL: &str = "internal";

    /// Returns whether it may call internal functions.
    pub fn may_call_internal(&self) -> bool {
        self.scopes.iter().any(|scope| scope == Self::INTERNAL)
    }
}

impl Caller {
    /// The identity the call runs as: the user's own, or the one a deploy key acts as.
    pub fn identity(&self) -> Option<&Arc<Identity>> {
        match self {
            Caller::User(identity) => Some(identity),
            Caller::DeployKey(key) => key.acting_as.as_ref(),
            Caller::Nobody | Caller::System => None,
        }
    }

    /// The deploy key, if one makes the call.
    pub fn deploy_key(&self) -> Option<&DeployKeyCaller> {
        match self {
            Caller::DeployKey(key) => Some(key),
            Caller::Nobody | Caller::User(_) | Caller::System => None,
        }
    }
}
