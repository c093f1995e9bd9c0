//! The development issuer: tokens without an identity provider, for a developer's machine and for tests.
//!
//! Its key is created at the first start and stored in the data folder. Nodes on one database derive it from the key
//! that they share. Production rejects the issuer, because read access to the folder allows a user to act as any other.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{EncodingKey, Header};
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::provider::{Algorithm, KeySource, ProviderConfig};
use convoke_calls::outbound::{StoreKey, secret_file};
use convoke_core::clock::Clock;

/// The `iss` of its tokens. The top-level domain is reserved (RFC 2606 §2), so no provider can own it.
pub const ISSUER: &str = "https://development.convoke.invalid";

/// The `aud` of its tokens.
pub const AUDIENCE: &str = "convoke";

/// The file in the data folder that holds its private key (PKCS#8).
pub const KEY_FILE: &str = "development-issuer.key";

/// Creates tokens that this server accepts.
#[derive(Clone)]
pub struct DevelopmentIssuer {
    key: EncodingKey,
    jwk: Jwk,
    clock: Arc<dyn Clock>,
}

/// The reason why there is no development issuer.
#[derive(Debug, thiserror::Error)]
pub enum DevelopmentError {
    /// The environment is production.
    #[error("the development issuer is disabled in production; configure an identity provider in auth.providers")]
    Production,
    /// The key file cannot be read or written.
    #[error("the development issuer's key cannot be read or stored: {0}")]
    File(#[from] io::Error),
    /// The key file does not contain a key.
    #[error("the development issuer's key file cannot be used; delete it and start again ({0})")]
    Key(#[from] jsonwebtoken::errors::Error),
}

/// The user of a token. Only the subject is required.
///
/// ```json
/// {"sub": "ada", "email": "ada@example.com", "email_verified": true, "name": "Ada", "roles": ["admin"], "org_id": "o1"}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DevelopmentUser {
    /// The subject.
    #[serde(rename = "sub")]
    pub subject: String,
    /// The e-mail address.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub email: Option<String>,
    /// True if the address counts as verified.
    #[serde(default)]
    pub email_verified: bool,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The URL of a picture.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub picture: Option<String>,
    /// Roles, e.g. `admin`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub roles: Vec<String>,
    /// The organization.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub org_id: Option<String>,
}

impl DevelopmentUser {
    /// Creates a user with a subject only.
    pub fn new(subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..Self::default() }
    }
}

impl DevelopmentIssuer {
    /// Opens the issuer whose key is in `data_folder`. Creates the key if there is none.
    ///
    /// # Errors
    /// In production, and if the key cannot be read or stored.
    pub fn open(data_folder: &Path, environment: Environment, clock: Arc<dyn Clock>) -> Result<Self, DevelopmentError> {
        refuse_production(environment)?;
        let path = data_folder.join(KEY_FILE);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        Self::from_pkcs8(&secret_file::read_or_create(&path, new_key).map_err(named)?, clock)
    }

    /// Returns the issuer of all nodes that serve one database. Its key is derived from the key that they share.
    ///
    /// # Errors
    /// In production, and if no key can be derived.
    pub fn of_store(key: &StoreKey, environment: Environment, clock: Arc<dyn Clock>) -> Result<Self, DevelopmentError> {
        refuse_production(environment)?;
        // All but one in about four billion numbers are valid private keys of the curve.
        let made = (0..8).find_map(|number| key_of(&*key.derive(&format!("development issuer {number}"))).ok());
        let pkcs8 = made.ok_or_else(|| io::Error::other("no key could be made"))?;
        Self::from_pkcs8(&pkcs8, clock)
    }

    /// Returns an issuer whose key is not stored, for tests.
    ///
    /// # Errors
    /// No key can be generated.
    pub fn ephemeral(clock: Arc<dyn Clock>) -> Result<Self, DevelopmentError> {
        Self::from_pkcs8(&new_key()?, clock)
    }

    fn from_pkcs8(pkcs8: &[u8], clock: Arc<dyn Clock>) -> Result<Self, DevelopmentError> {
        let key = EncodingKey::from_ec_der(pkcs8);
        let mut jwk = Jwk::from_encoding_key(&key, jsonwebtoken::Algorithm::ES256)?;
        jwk.common.key_id = Some(jwk.thumbprint(ThumbprintHash::SHA256)?);
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self { key, jwk, clock })
    }

    /// Returns the public key as a JSON Web Key Set.
    pub fn key_set(&self) -> JwkSet {
        JwkSet { keys: vec![self.jwk.clone()] }
    }

    /// Returns the settings of a provider that accepts the tokens of this issuer.
    pub fn provider(&self) -> ProviderConfig {
        let set = serde_json::to_value(self.key_set()).expect("a key set of texts is always JSON");
        ProviderConfig {
            keys: KeySource::Set(set),
            algorithms: vec![Algorithm::ES256],
            ..ProviderConfig::new(ISSUER, AUDIENCE)
        }
    }

    /// Creates a token of `user` that is valid from now for `lifetime`, in whole seconds.
    ///
    /// # Errors
    /// Signing fails.
    pub fn mint(&self, user: &DevelopmentUser, lifetime: Duration) -> Result<String, DevelopmentError> {
        #[derive(Serialize)]
        struct Claims<'a> {
            iss: &'a str,
            aud: &'a str,
            iat: i64,
            exp: i64,
            #[serde(flatten)]
            user: &'a DevelopmentUser,
        }
        let iat = self.clock.now().get().div_euclid(1000);
        let exp = iat.saturating_add(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX));
        let mut header = Header::new(jsonwebtoken::Algorithm::ES256);
        header.kid.clone_from(&self.jwk.common.key_id);
        let claims = Claims { iss: ISSUER, aud: AUDIENCE, iat, exp, user };
        Ok(jsonwebtoken::encode(&header, &claims, &self.key)?)
    }
}

fn refuse_production(environment: Environment) -> Result<(), DevelopmentError> {
    match environment {
        Environment::Development | Environment::Staging => Ok(()),
        Environment::Production => Err(DevelopmentError::Production),
    }
}

/// Returns the key pair of a private number, as PKCS#8.
fn key_of(number: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let private = PrivateKey::from_private_key(&ECDH_P256, number).map_err(|_| Unspecified)?;
    let public = private.compute_public_key()?;
    let pair = EcdsaKeyPair::from_private_key_and_public_key(&ECDSA_P256_SHA256_FIXED_SIGNING, number, public.as_ref());
    Ok(pair.map_err(|_| Unspecified)?.to_pkcs8v1()?.as_ref().to_vec())
}

fn new_key() -> io::Result<Vec<u8>> {
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    Ok(key.map_err(|_| io::Error::other("no key could be made"))?.as_ref().to_vec())
}
