//! A provider's private key: signs whatever header and claims a test writes.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

/// One key, and how a set lists it.
#[derive(Clone)]
pub(crate) struct Signer {
    pub algorithm: Algorithm,
    pub kid: Option<String>,
    pub jwk: Value,
    key: EncodingKey,
}

impl Signer {
    pub(crate) fn es256(kid: &str) -> Self {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        Self::new(Algorithm::ES256, EncodingKey::from_ec_der(key.as_ref()), kid)
    }

    pub(crate) fn ed25519(kid: &str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).unwrap();
        Self::new(Algorithm::EdDSA, EncodingKey::from_ed_der(key.as_ref()), kid)
    }

    pub(crate) fn rs256(kid: &str) -> Self {
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = key.as_der().unwrap();
        // The signer wants PKCS#1, which stands in PKCS#8 behind a head of 26 bytes.
        Self::new(Algorithm::RS256, EncodingKey::from_rsa_der(&der.as_ref()[26..]), kid)
    }

    fn new(algorithm: Algorithm, key: EncodingKey, kid: &str) -> Self {
        let mut jwk = serde_json::to_value(Jwk::from_encoding_key(&key, algorithm).unwrap()).unwrap();
        jwk["kid"] = json!(kid);
        jwk["use"] = json!("sig");
        Self { algorithm, kid: Some(kid.to_owned()), jwk, key }
    }

    /// The same key without a name, in the set and in its tokens.
    pub(crate) fn nameless(mut self) -> Self {
        self.kid = None;
        self.jwk.as_object_mut().unwrap().remove("kid");
        self
    }

    /// The same key under another name.
    pub(crate) fn named(mut self, kid: &str) -> Self {
        self.kid = Some(kid.to_owned());
        self.jwk["kid"] = json!(kid);
        self
    }

    /// The header that its tokens have.
    pub(crate) fn header(&self) -> Value {
        let mut header = json!({"alg": format!("{:?}", self.algorithm), "typ": "JWT"});
        if let Some(kid) = &self.kid {
            header["kid"] = json!(kid);
        }
        header
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.token_with(&self.header(), claims)
    }

    /// A token with this header, which may lie.
    pub(crate) fn token_with(&self, header: &Value, claims: &Value) -> String {
        self.token_of(&header.to_string(), &claims.to_string())
    }

    /// A token of these texts, which need not be JSON.
    pub(crate) fn token_of(&self, header: &str, claims: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let message = format!("{}.{}", part(header), part(claims));
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &self.key, self.algorithm).unwrap();
        format!("{message}.{signature}")
    }
}
