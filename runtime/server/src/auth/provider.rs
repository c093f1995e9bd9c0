//! The settings of identity providers and their checks.
//!
//! ```toml
//! [auth]
//! environment = "production"
//!
//! [[auth.providers]]
//! issuer = "https://id.example.com/"
//! audiences = ["https://api.example.com"]
//! keys = "discovery"                   # or { url = "https://…" } or { file = "keys.json" }
//! algorithms = ["RS256", "ES256", "EdDSA"]
//! trusted_for_email = false
//!
//! [auth.providers.claims]
//! org_id = "organization"
//! roles = ["roles", "role", "/realm_access/roles"]
//! ```

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::schemes::Schemes;

/// The settings of this module (`[auth]` in `convoke.toml`).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(description = "Authentication.")]
pub struct AuthConfig {
    /// The deployment, which is a separate setting.
    #[serde(skip)]
    pub environment: Environment,
    /// The identity providers whose tokens are accepted. None: every bearer token is rejected.
    pub providers: Vec<ProviderConfig>,
    /// The keywords before a deploy key in `Authorization`; the first is the one that challenges name.
    pub deploy_key_schemes: Schemes,
}

/// One identity provider.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// The exact value of `iss`.
    #[schemars(example = "https://id.example.com/")]
    pub issuer: String,
    /// The accepted values of `aud`. A token must contain one of them.
    #[schemars(example = ["https://api.example.com"])]
    pub audiences: Vec<String>,
    /// The source of its keys: `"discovery"` (OpenID Connect), `{ url = "https://…" }` or `{ file = "keys.json" }`,
    /// a JSON Web Key Set that is read again when it changes.
    #[serde(default)]
    pub keys: KeySource,
    /// The accepted signature algorithms: RS256, ES256 and EdDSA.
    #[serde(default = "Algorithm::all")]
    pub algorithms: Vec<Algorithm>,
    /// The claims from which the fields of the identity are read.
    #[serde(default)]
    pub claims: ClaimNames,
    /// True if all e-mail addresses of this provider count as verified, whatever `email_verified` says.
    #[serde(default)]
    pub trusted_for_email: bool,
}

impl ProviderConfig {
    /// Creates a provider with the default settings.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: vec![audience.into()],
            keys: KeySource::Discovery,
            algorithms: Algorithm::all(),
            claims: ClaimNames::default(),
            trusted_for_email: false,
        }
    }
}

/// The claims from which the fields of the identity are read. A name that begins with `/` is a JSON pointer into nested
/// claims (RFC 6901). Any other name is the literal name of a claim, including dots and colons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClaimNames {
    /// The subject.
    pub subject: String,
    /// The e-mail address.
    pub email: String,
    /// True if the provider has verified the address.
    pub email_verified: String,
    /// The display name.
    pub name: String,
    /// The URL of a picture.
    pub picture: String,
    /// The organization.
    pub org_id: String,
    /// The claims whose values together are the roles. Each is an array of texts or one text.
    pub roles: Vec<String>,
}

impl Default for ClaimNames {
    fn default() -> Self {
        Self {
            subject: "sub".into(),
            email: "email".into(),
            email_verified: "email_verified".into(),
            name: "name".into(),
            picture: "picture".into(),
            org_id: "org_id".into(),
            roles: vec!["roles".into(), "role".into()],
        }
    }
}

/// The source of a provider's keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// The `jwks_uri` of the issuer's `/.well-known/openid-configuration`.
    #[default]
    Discovery,
    /// A JSON Web Key Set at this address.
    Url(String),
    /// A JSON Web Key Set in this file, read again when it changes.
    File(PathBuf),
    /// A JSON Web Key Set in the settings. It never changes.
    Set(serde_json::Value),
}

/// A signature algorithm. `none` and HMAC are missing, so they cannot be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256, keys of 2048 bits and more.
    RS256,
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// Ed25519.
    EdDSA,
}

impl Algorithm {
    /// Returns all supported algorithms.
    pub fn all() -> Vec<Algorithm> {
        vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA]
    }

    /// Returns the algorithm of an `alg`, if it is supported.
    pub fn named(alg: &str) -> Option<Algorithm> {
        match alg {
            "RS256" => Some(Algorithm::RS256),
            "ES256" => Some(Algorithm::ES256),
            "EdDSA" => Some(Algorithm::EdDSA),
            _ => None,
        }
    }

    /// Converts to the type of the verifier's library.
    pub(super) const fn jsonwebtoken(self) -> jsonwebtoken::Algorithm {
        match self {
            Algorithm::RS256 => jsonwebtoken::Algorithm::RS256,
            Algorithm::ES256 => jsonwebtoken::Algorithm::ES256,
            Algorithm::EdDSA => jsonwebtoken::Algorithm::EdDSA,
        }
    }
}

/// An invalid setting. The message says what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An invalid issuer.
    #[error("auth.providers: issuer {issuer:?} must be 1 to 512 characters, without `|`, spaces or control characters")]
    Issuer {
        /// As configured.
        issuer: String,
    },
    /// Two providers have the same issuer.
    #[error("auth.providers: issuer {issuer:?} is configured twice; list all audiences in one provider")]
    IssuerTwice {
        /// As configured.
        issuer: String,
    },
    /// A provider without audiences or algorithms, which could accept no token.
    #[error("auth.providers: {issuer:?} needs at least one {what}")]
    Empty {
        /// The issuer of the provider.
        issuer: String,
        /// `audience` or `algorithm`.
        what: &'static str,
    },
    /// The address of the keys is not a URL.
    #[error("auth.providers: {issuer:?}: {address:?} is not an http or https address")]
    Address {
        /// The issuer of the provider.
        issuer: String,
        /// As configured.
        address: String,
    },
    /// The keys would be fetched over an insecure connection.
    #[error(
        "auth.providers: {issuer:?}: keys come from {address:?}; use https (plain http is for loopback addresses and the development environment)"
    )]
    Insecure {
        /// The issuer of the provider.
        issuer: String,
        /// As configured, or derived from the issuer.
        address: String,
    },
    /// The key file or the inline set cannot be used.
    #[error("auth.providers: {issuer:?}: keys cannot be read: {reason}")]
    Keys {
        /// The issuer of the provider.
        issuer: String,
        /// The reason.
        reason: String,
    },
    /// An invalid scheme of deploy keys.
    #[error("auth.deploy_key_schemes: {scheme:?} must be letters, digits or `-`, and not `Bearer`")]
    Scheme {
        /// As configured.
        scheme: String,
    },
}

impl AuthConfig {
    /// Rejects invalid settings before anything is fetched. [`super::key_source`] checks addresses and key files.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (index, provider) in self.providers.iter().enumerate() {
            provider.check()?;
            if self.providers[..index].iter().any(|other| other.issuer == provider.issuer) {
                return Err(ConfigError::IssuerTwice { issuer: provider.issuer.clone() });
            }
        }
        match self.deploy_key_schemes.unfit() {
            Some(scheme) => Err(ConfigError::Scheme { scheme: scheme.to_owned() }),
            None => Ok(()),
        }
    }
}

impl ProviderConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let issuer = || self.issuer.clone();
        if !is_issuer(&self.issuer) {
            return Err(ConfigError::Issuer { issuer: issuer() });
        }
        if self.audiences.is_empty() || self.audiences.iter().any(String::is_empty) {
            return Err(ConfigError::Empty { issuer: issuer(), what: "audience" });
        }
        if self.algorithms.is_empty() {
            return Err(ConfigError::Empty { issuer: issuer(), what: "algorithm" });
        }
        Ok(())
    }
}

/// Returns true if a text is a valid issuer. An identity is named `issuer|subject`, so `|` in an issuer would be
/// ambiguous.
pub(super) fn is_issuer(text: &str) -> bool {
    let unfit = |c: char| c == '|' || c.is_whitespace() || c.is_control();
    (1..=512).contains(&text.chars().count()) && !text.contains(unfit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<AuthConfig, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn provider_needs_only_an_issuer_and_an_audience() {
        let config = parse("[[providers]]\nissuer = 'https://id.example'\naudiences = ['api']").unwrap();
        let provider = &config.providers[0];
        assert_eq!(provider.keys, KeySource::Discovery);
        assert_eq!(provider.algorithms, Algorithm::all());
        assert!(!provider.trusted_for_email);
        assert_eq!(config.environment, Environment::Production);
        config.check().unwrap();
        assert!(parse("[[providers]]\nissuer = 'https://id.example'").is_err());
    }

    #[test]
    fn keys_are_found_by_discovery_at_an_address_or_in_a_file() {
        let keys = |line: &str| {
            parse(&format!("[[providers]]\nissuer = 'i'\naudiences = ['a']\n{line}")).unwrap().providers[0].keys.clone()
        };
        assert_eq!(keys("keys = 'discovery'"), KeySource::Discovery);
        assert_eq!(keys("keys = { url = 'https://k.example' }"), KeySource::Url("https://k.example".into()));
        assert_eq!(keys("keys = { file = 'keys.json' }"), KeySource::File("keys.json".into()));
    }

    #[test]
    fn neither_hmac_nor_none_can_be_configured() {
        for algorithm in ["HS256", "none", "RS512", "es256"] {
            let text = format!("[[providers]]\nissuer = 'i'\naudiences = ['a']\nalgorithms = ['{algorithm}']");
            assert!(parse(&text).is_err(), "{algorithm}");
        }
    }

    #[test]
    fn unusable_settings_are_rejected() {
        let config = |providers: Vec<ProviderConfig>| AuthConfig { providers, ..AuthConfig::default() }.check();
        let good = || ProviderConfig::new("https://id.example", "api");
        config(vec![good()]).unwrap();
        assert!(matches!(config(vec![good(), good()]), Err(ConfigError::IssuerTwice { .. })));
        assert!(matches!(config(vec![ProviderConfig::new("a|b", "api")]), Err(ConfigError::Issuer { .. })));
        assert!(matches!(config(vec![ProviderConfig::new("", "api")]), Err(ConfigError::Issuer { .. })));
        let none = ProviderConfig { audiences: vec![], ..good() };
        assert!(matches!(config(vec![none]), Err(ConfigError::Empty { what: "audience", .. })));
        let none = ProviderConfig { algorithms: vec![], ..good() };
        assert!(matches!(config(vec![none]), Err(ConfigError::Empty { what: "algorithm", .. })));
    }
}
