//! A provider's verification keys: parses a JSON Web Key Set (RFC 7517) and checks signatures.
//!
//! `key_source` fetches sets, and `keys` decides when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey};
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jsonwebtoken::DecodingKey;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::provider::Algorithm;

/// The keys of a provider at one time.
#[derive(Debug)]
pub struct KeySet {
    keys: Vec<Arc<VerifyingKey>>,
}

/// A public key that verifies tokens.
#[derive(Debug)]
pub struct VerifyingKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
    /// SHA-256 of the key's bytes: a new key with the id of an old one is another key.
    fingerprint: [u8; 32],
    /// True if the provider still lists the key. Cached tokens refer to their key and check this flag.
    listed: AtomicBool,
}

/// The reason why a whole set is rejected. A single unusable key is skipped instead.
#[derive(Debug, thiserror::Error)]
pub enum KeySetError {
    /// The text is not JSON or has no `keys`.
    #[error("not a JSON Web Key Set: {0}")]
    NotAKeySet(#[from] serde_json::Error),
    /// The set has too many keys.
    #[error("{found} keys are more than {max}")]
    TooMany {
        /// Number of keys in the set.
        found: usize,
        /// Largest allowed number of keys.
        max: usize,
    },
}

impl KeySet {
    /// Parses a set. Skips entries that are not keys for RS256, ES256 or EdDSA signatures (by `kty`, `crv`, `use`,
    /// `key_ops`, `alg`): a provider may list them for other purposes.
    ///
    /// # Errors
    /// The text is not a set, or lists more than `keys_max` keys.
    pub fn parse(json: &[u8], keys_max: usize) -> Result<Self, KeySetError> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        let document: Document = serde_json::from_slice(json)?;
        if document.keys.len() > keys_max {
            return Err(KeySetError::TooMany { found: document.keys.len(), max: keys_max });
        }
        let mut keys: Vec<Arc<VerifyingKey>> = Vec::new();
        for listed in document.keys {
            let Some(key) = serde_json::from_value(listed).ok().and_then(VerifyingKey::from_jwk) else { continue };
            if !keys.iter().any(|known| known.same_as(&key)) {
                keys.push(Arc::new(key));
            }
        }
        Ok(Self { keys })
    }

    /// Makes this set the successor of `former`. Keys in both sets are shared, so that their cached tokens stay valid.
    /// Keys that are missing here are marked as no longer listed.
    pub fn succeed(mut self, former: Option<&KeySet>) -> Self {
        let Some(former) = former else { return self };
        for old in &former.keys {
            match self.keys.iter_mut().find(|new| new.same_as(old)) {
                Some(new) => *new = Arc::clone(old),
                None => old.listed.store(false, Ordering::Release),
            }
        }
        self
    }

    /// Iterates over the keys in the order of the set.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<VerifyingKey>> {
        self.keys.iter()
    }

    /// Returns the number of usable keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if no key is usable.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl VerifyingKey {
    /// Returns the `kid`.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the algorithm, which follows from the type of the key.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns true if the provider still lists the key.
    pub fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    /// Returns true if `signature` (base64url) is this key's signature of `message`.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        jsonwebtoken::crypto::verify(signature, message, &self.key, self.algorithm.jsonwebtoken()).unwrap_or(false)
    }

    fn same_as(&self, other: &VerifyingKey) -> bool {
        self.id == other.id && self.algorithm == other.algorithm && self.fingerprint == other.fingerprint
    }

    fn from_jwk(jwk: Jwk) -> Option<Self> {
        let for_signatures = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
            && jwk.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        if !for_signatures {
            return None;
        }
        let (algorithm, key, bytes) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => rsa(&jwk)?,
            ("EC", Some("P-256")) => p256(&jwk)?,
            ("OKP", Some("Ed25519")) => ed25519(&jwk)?,
            _ => return None,
        };
        if jwk.alg.is_some_and(|alg| Algorithm::named(&alg) != Some(algorithm)) {
            return None;
        }
        let fingerprint = Sha256::digest(&bytes).into();
        Some(Self { id: jwk.kid, algorithm, key, fingerprint, listed: AtomicBool::new(true) })
    }
}

/// The relevant members of a key (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2).
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The algorithm, the key for the verifier, and the bytes of the fingerprint.
type Material = (Algorithm, DecodingKey, Vec<u8>);

/// RFC 7518 §3.3 requires 2048 bits; above 8192, the check of a signature costs too much.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

fn rsa(jwk: &Jwk) -> Option<Material> {
    let n = without_leading_zeros(decode(jwk.n.as_deref())?);
    let e = without_leading_zeros(decode(jwk.e.as_deref())?);
    let bits = n.len() * 8 - usize::try_from(n.first()?.leading_zeros()).ok()?;
    // The public exponent must be small and odd: a long exponent only makes verification slow.
    let exponent_fits = e.len() <= 4 && e.last()? % 2 == 1 && (e.len() > 1 || e[0] > 1);
    if !RSA_BITS.contains(&bits) || !exponent_fits {
        return None;
    }
    let key = DecodingKey::from_rsa_raw_components(&n, &e);
    let bytes = [n.as_slice(), b"/", e.as_slice()].concat();
    Some((Algorithm::RS256, key, bytes))
}

fn p256(jwk: &Jwk) -> Option<Material> {
    let (x, y) = (decode(jwk.x.as_deref())?, decode(jwk.y.as_deref())?);
    if x.len() != 32 || y.len() != 32 {
        return None;
    }
    // SEC 1 §2.3.3: an uncompressed point. The parser rejects a point that is not on the curve.
    let point = [[4].as_slice(), &x, &y].concat();
    ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &point).ok()?;
    Some((Algorithm::ES256, DecodingKey::from_ec_der(&point), point))
}

fn ed25519(jwk: &Jwk) -> Option<Material> {
    let x = decode(jwk.x.as_deref())?;
    ParsedPublicKey::new(&ED25519, &x).ok()?;
    Some((Algorithm::EdDSA, DecodingKey::from_ed_der(&x), x))
}

/// Decodes base64url. Tolerates padding, because some providers write it.
fn decode(text: Option<&str>) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &URL_SAFE,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    LENIENT.decode(text?).ok()
}

fn without_leading_zeros(bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes[zeros..].to_vec()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The public key of RFC 8037 Appendix A.2.
    const ED25519_X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    /// The public key of RFC 7515 Appendix A.3.1.
    const P256_X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const P256_Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

    fn parse(keys: Value) -> KeySet {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes(), 10).unwrap()
    }

    fn ed(more: Value) -> Value {
        let mut key = json!({"kty": "OKP", "crv": "Ed25519", "x": ED25519_X, "kid": "a"});
        key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        key
    }

    #[test]
    fn use_key_ops_and_alg_decide_whether_a_key_verifies_signatures() {
        for kept in [json!({}), json!({"use": "sig"}), json!({"key_ops": ["verify"]}), json!({"alg": "EdDSA"})] {
            assert_eq!(parse(json!([ed(kept)])).len(), 1);
        }
        for left in
            [json!({"use": "enc"}), json!({"key_ops": ["sign"]}), json!({"key_ops": []}), json!({"alg": "ES256"})]
        {
            assert!(parse(json!([ed(left)])).is_empty());
        }
    }

    #[test]
    fn unusable_key_is_skipped() {
        let set = parse(json!([
            {"kty": "oct", "k": "c2VjcmV0", "kid": "a", "alg": "HS256"},
            {"kty": "EC", "crv": "P-384", "x": P256_X, "y": P256_Y},
            {"kty": "EC", "crv": "P-256", "x": P256_X, "y": P256_X},
            {"kty": "EC", "crv": "P-256", "x": P256_X},
            {"kty": "RSA", "n": "AQAB", "e": "AQAB"},
            {"kty": 7},
            "key",
            ed(json!({"x": "AAAA"})),
            {"kty": "EC", "crv": "P-256", "x": P256_X, "y": P256_Y, "kid": "good"},
        ]));
        assert_eq!(set.iter().map(|key| key.id().unwrap()).collect::<Vec<_>>(), ["good"]);
        assert_eq!(set.keys[0].algorithm(), Algorithm::ES256);
    }

    #[test]
    fn rsa_key_has_2048_to_8192_bits_and_a_small_odd_exponent() {
        let base64url = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
        let usable =
            |n: &[u8], e: &[u8]| parse(json!([{"kty": "RSA", "n": base64url(n), "e": base64url(e)}])).len() == 1;
        let f4: &[u8] = &[1, 0, 1];
        assert!(usable(&[0xff; 256], f4));
        assert!(usable(&[&[0; 3][..], &[0xff; 256]].concat(), f4), "leading zeros do not count");
        assert!(!usable(&[0xff; 255], f4));
        assert!(!usable(&[&[0x7f][..], &[0xff; 255]].concat(), f4), "2047 bits");
        assert!(usable(&[0xff; 1024], f4));
        assert!(!usable(&[0xff; 1025], f4));
        for exponent in [&[][..], &[0], &[1], &[2], &[1, 0, 0], &[1, 0, 0, 0, 1]] {
            assert!(!usable(&[0xff; 256], exponent), "{exponent:?}");
        }
    }

    #[test]
    fn invalid_or_too_large_key_set_is_rejected() {
        for text in ["", "[]", "{}", "{\"keys\":1}", "<html>"] {
            assert!(matches!(KeySet::parse(text.as_bytes(), 10), Err(KeySetError::NotAKeySet(_))), "{text}");
        }
        let many = json!({"keys": vec![json!({}); 11]}).to_string();
        assert!(matches!(KeySet::parse(many.as_bytes(), 10), Err(KeySetError::TooMany { found: 11, max: 10 })));
        assert!(KeySet::parse(br#"{"keys":[]}"#, 10).unwrap().is_empty());
    }

    #[test]
    fn key_set_keeps_unchanged_keys_and_drops_removed_ones() {
        let p256 = json!({"kty": "EC", "crv": "P-256", "x": P256_X, "y": P256_Y, "kid": "b"});
        let former = parse(json!([ed(json!({})), p256]));
        let (stays, goes) = (Arc::clone(&former.keys[0]), Arc::clone(&former.keys[1]));

        let next = parse(json!([ed(json!({"use": "sig"})), ed(json!({"kid": "c"}))])).succeed(Some(&former));

        assert!(Arc::ptr_eq(&next.keys[0], &stays) && stays.is_listed());
        assert!(!goes.is_listed());
        assert!(next.keys[1].is_listed());
    }

    #[test]
    fn another_key_under_the_same_name_is_another_key() {
        let former = parse(json!([ed(json!({"kid": "b"}))]));
        let old = Arc::clone(&former.keys[0]);
        parse(json!([{"kty": "EC", "crv": "P-256", "x": P256_X, "y": P256_Y, "kid": "b"}])).succeed(Some(&former));
        assert!(!old.is_listed());
    }

    #[test]
    fn duplicate_key_is_listed_once() {
        assert_eq!(parse(json!([ed(json!({})), ed(json!({}))])).len(), 1);
        assert_eq!(parse(json!([ed(json!({})), ed(json!({"kid": "z"}))])).len(), 2);
    }
}
