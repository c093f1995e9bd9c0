//! The checks of a token (RFC 7519, RFC 8725).
//!
//! A token is parsed ([`Unverified`]), then its signature is checked against a key set, and only then its claims.
//! Headers that refer to other keys (`jku`, `x5u`, `jwk`) are ignored.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::key_set::{KeySet, VerifyingKey};
use super::provider::{Algorithm, ProviderConfig};
use convoke_calls::codec::decode;
use convoke_core::clock::Millis;
use std::sync::Arc;

/// The reason why a token is rejected. `Display` is for the client and repeats nothing from the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token exceeds the limit.
    #[error("token is larger than {0} bytes")]
    TooLarge(usize),
    /// The token does not have three parts, or a part is not base64url of a JSON object.
    #[error("token is not a signed JWT")]
    NotAJwt,
    /// An object in the header or the claims has a duplicate name: parsers differ in which value they use (RFC 7519 §4,
    /// RFC 8725 §2.4).
    #[error("token has a name twice in its header or claims")]
    NameTwice,
    /// `alg` is missing, unknown, or not allowed for the provider.
    #[error("token algorithm not accepted")]
    Algorithm,
    /// `alg` is accepted, but the key that `kid` names is of another type.
    #[error("token algorithm does not match its signing key")]
    AlgorithmOfKey,
    /// `typ` is present and not accepted.
    #[error("token type not accepted; expected JWT or at+jwt")]
    Type,
    /// `zip` is present: only encrypted tokens are compressed (RFC 7516 §4.1.3).
    #[error("compressed token not accepted")]
    Compressed,
    /// `cty` is present: the payload is not plain claims, for example another token.
    #[error("token with a content type not accepted")]
    ContentType,
    /// `crit` is present, and no extension is supported.
    #[error("token has a critical header parameter that is not understood")]
    Critical,
    /// `b64` is not true.
    #[error("token with an unencoded payload not accepted")]
    UnencodedPayload,
    /// `iss` is absent or not a text.
    #[error("token has no issuer")]
    NoIssuer,
    /// No provider has this `iss`.
    #[error("issuer not accepted")]
    Issuer,
    /// No key of the provider has this `kid`.
    #[error("signing key not known")]
    KeyNotKnown,
    /// The signature is invalid.
    #[error("token signature does not match")]
    Signature,
    /// `aud` is absent, empty, or neither a text nor a list of texts.
    #[error("token has no audience")]
    NoAudience,
    /// `aud` contains none of the provider's audiences.
    #[error("audience not accepted")]
    Audience,
    /// `exp` is absent.
    #[error("token has no expiry")]
    NoExpiry,
    /// `exp`, `nbf` or `iat` is not a number.
    #[error("token claim `{0}` must be a number of seconds")]
    NotATime(&'static str),
    /// `exp`, `nbf` or `iat` is out of range.
    #[error("token claim `{0}` must be from 0 to 2^53 seconds")]
    TimeOutOfRange(&'static str),
    /// `exp` was this many seconds ago.
    #[error("token expired {0} s ago")]
    Expired(i64),
    /// `nbf` is this many seconds in the future.
    #[error("token is not valid for another {0} s")]
    NotYet(i64),
    /// `iat` is this many seconds in the future.
    #[error("token was issued {0} s in the future")]
    IssuedInTheFuture(i64),
    /// The subject claim is absent, empty, too long, or not a text.
    #[error("token has no subject")]
    Subject,
}

/// A parsed token. Its content is not verified.
pub struct Unverified<'a> {
    message: &'a [u8],
    signature: &'a str,
    /// `alg`.
    pub algorithm: Algorithm,
    /// `kid`.
    pub key_id: Option<String>,
    /// `iss`.
    pub issuer: String,
    claims: Map<String, Value>,
}

impl<'a> Unverified<'a> {
    /// Parses a token and makes the checks that do not depend on the provider.
    ///
    /// # Errors
    /// An invalid size, form or header, or a missing issuer.
    pub fn parse(token: &'a str, bytes_max: usize) -> Result<Self, TokenError> {
        if token.len() > bytes_max {
            return Err(TokenError::TooLarge(bytes_max));
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::NotAJwt)?;
        let (header, payload) = message.split_once('.').ok_or(TokenError::NotAJwt)?;
        let header = object(header)?;
        check_header(&header)?;
        let algorithm = header.get("alg").and_then(Value::as_str).and_then(Algorithm::named);
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(TokenError::KeyNotKnown),
        };
        let algorithm = algorithm.ok_or(TokenError::Algorithm)?;
        let claims = object(payload)?;
        let issuer = claims.get("iss").and_then(Value::as_str).ok_or(TokenError::NoIssuer)?.to_owned();
        Ok(Self { message: message.as_bytes(), signature, algorithm, key_id, issuer, claims })
    }

    /// Returns the key of the set that made the signature. For a token without `kid`, every key of its algorithm is
    /// tried.
    ///
    /// # Errors
    /// [`TokenError::KeyNotKnown`], [`TokenError::AlgorithmOfKey`], [`TokenError::Signature`].
    pub fn signed_by(&self, keys: &KeySet) -> Result<Arc<VerifyingKey>, TokenError> {
        let mut refusal = TokenError::KeyNotKnown;
        let named = |key: &&Arc<VerifyingKey>| self.key_id.is_none() || key.id() == self.key_id.as_deref();
        let (mut mismatched, mut tried) = (false, 0);
        for key in keys.iter().filter(named) {
            if key.algorithm() != self.algorithm {
                mismatched = true;
                continue;
            }
            // A set may contain many keys with the same id. The limit bounds the cost of one token.
            if tried == CANDIDATES_MAX {
                break;
            }
            tried += 1;
            if key.verifies(self.message, self.signature) {
                return Ok(Arc::clone(key));
            }
            refusal = TokenError::Signature;
        }
        if tried == 0 && mismatched && self.key_id.is_some() {
            refusal = TokenError::AlgorithmOfKey;
        }
        Err(refusal)
    }

    /// Checks the claims of a token with a valid signature and returns them.
    ///
    /// # Errors
    /// An invalid `aud`, `exp`, `nbf` or `iat`.
    pub fn accept(
        self,
        provider: &ProviderConfig,
        now: Millis,
        leeway: Duration,
    ) -> Result<(Times, Map<String, Value>), TokenError> {
        check_audience(&self.claims, &provider.audiences)?;
        let times = check_times(&self.claims, now, leeway)?;
        Ok((times, self.claims))
    }
}

/// Largest number of keys that are tried per token.
const CANDIDATES_MAX: usize = 8;

/// The times of an accepted token, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// `iat`.
    pub issued_at: Option<i64>,
    /// `exp`.
    pub expires_at: i64,
}

fn object(part: &str) -> Result<Map<String, Value>, TokenError> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::NotAJwt)?;
    let object = serde_json::from_slice(&bytes).map_err(|_| TokenError::NotAJwt)?;
    // The bytes parsed as an object, so the only possible error is a duplicate name.
    decode::strict(&bytes, usize::MAX).map_err(|_| TokenError::NameTwice)?;
    Ok(object)
}

fn check_header(header: &Map<String, Value>) -> Result<(), TokenError> {
    match header.get("typ") {
        None => {}
        Some(Value::String(typ)) if typ.eq_ignore_ascii_case("JWT") || typ.eq_ignore_ascii_case("at+jwt") => {}
        Some(_) => return Err(TokenError::Type),
    }
    if header.contains_key("zip") {
        return Err(TokenError::Compressed);
    }
    if header.contains_key("cty") {
        return Err(TokenError::ContentType);
    }
    if header.get("b64").is_some_and(|b64| *b64 != Value::Bool(true)) {
        return Err(TokenError::UnencodedPayload);
    }
    // No extension is supported, so every name in `crit` is unknown. The list must not be empty (RFC 7515 §4.1.11).
    if header.contains_key("crit") {
        return Err(TokenError::Critical);
    }
    Ok(())
}

fn check_audience(claims: &Map<String, Value>, accepted: &[String]) -> Result<(), TokenError> {
    let audience = claims.get("aud").ok_or(TokenError::NoAudience)?;
    let listed = audience.as_array().map_or(std::slice::from_ref(audience), Vec::as_slice);
    if listed.is_empty() || !listed.iter().all(Value::is_string) {
        return Err(TokenError::NoAudience);
    }
    let meant = listed.iter().filter_map(Value::as_str).any(|one| accepted.iter().any(|own| own == one));
    if meant { Ok(()) } else { Err(TokenError::Audience) }
}

fn check_times(claims: &Map<String, Value>, now: Millis, leeway: Duration) -> Result<Times, TokenError> {
    let leeway = i64::try_from(leeway.as_millis()).unwrap_or(i64::MAX);
    let now = now.get();
    let expires_at = time(claims, "exp")?.ok_or(TokenError::NoExpiry)?;
    // RFC 7519 §4.1.4: the token expires at `exp`.
    if now >= expires_at.saturating_add(leeway) {
        return Err(TokenError::Expired(now.saturating_sub(expires_at) / 1000));
    }
    if let Some(not_before) = time(claims, "nbf")?.filter(|at| now.saturating_add(leeway) < *at) {
        return Err(TokenError::NotYet(seconds_up(not_before.saturating_sub(now))));
    }
    let issued_at = time(claims, "iat")?;
    if let Some(issued_at) = issued_at.filter(|at| now.saturating_add(leeway) < *at) {
        return Err(TokenError::IssuedInTheFuture(seconds_up(issued_at.saturating_sub(now))));
    }
    Ok(Times { issued_at, expires_at })
}

/// The largest NumericDate: up to this value, all JSON parsers read the same integer (RFC 8259 §6).
const SECONDS_MAX: i64 = 1 << 53;

/// Converts a NumericDate to milliseconds. It is in seconds since the epoch, with or without a fraction (RFC 7519 §2).
fn time(claims: &Map<String, Value>, name: &'static str) -> Result<Option<i64>, TokenError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let millis = match (value.as_i64(), value.as_f64()) {
        (Some(seconds), _) => (0..=SECONDS_MAX).contains(&seconds).then(|| seconds * 1000),
        (None, Some(seconds)) => (0.0..=SECONDS_MAX as f64).contains(&seconds).then_some((seconds * 1000.0) as i64),
        (None, None) => return Err(TokenError::NotATime(name)),
    };
    millis.map(Some).ok_or(TokenError::TimeOutOfRange(name))
}

fn seconds_up(millis: i64) -> i64 {
    millis.saturating_add(999) / 1000
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Millis = Millis(1_000_000_000);
    const LEEWAY: Duration = Duration::from_secs(5);

    fn map(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else { panic!("an object") };
        map
    }

    fn times(claims: Value) -> Result<Times, TokenError> {
        check_times(&map(claims), NOW, LEEWAY)
    }

    #[test]
    fn expiry_is_required_and_has_a_leeway() {
        assert_eq!(times(json!({})), Err(TokenError::NoExpiry));
        assert_eq!(times(json!({"exp": "1000000"})), Err(TokenError::NotATime("exp")));
        assert_eq!(times(json!({"exp": null})), Err(TokenError::NotATime("exp")));
        assert_eq!(times(json!({"exp": 1_000_001})).unwrap().expires_at, 1_000_001_000);
        assert_eq!(times(json!({"exp": 999_995.001})).unwrap().expires_at, 999_995_001);
        assert_eq!(times(json!({"exp": 999_995})), Err(TokenError::Expired(5)));
        assert_eq!(times(json!({"exp": 999_988})), Err(TokenError::Expired(12)));
    }

    #[test]
    fn time_is_from_0_to_2_to_the_53_seconds() {
        let last = 9_007_199_254_740_992_i64;
        assert_eq!(times(json!({"exp": last})).unwrap().expires_at, last * 1000);
        assert_eq!(times(json!({"exp": last as f64})).unwrap().expires_at, last * 1000);
        assert_eq!(times(json!({"exp": last, "iat": 0, "nbf": 0.0})).unwrap().issued_at, Some(0));
        for beyond in
            [json!(last + 1), json!(u64::MAX), json!(1e16), json!(1e308), json!(-1), json!(-0.5), json!(-1e300)]
        {
            for name in ["exp", "nbf", "iat"] {
                let mut claims = json!({"exp": 2_000_000});
                claims[name] = beyond.clone();
                assert_eq!(times(claims), Err(TokenError::TimeOutOfRange(name)), "{name}: {beyond}");
            }
        }
    }

    #[test]
    fn token_of_the_future_has_a_leeway() {
        let with = |name: &str, at: Value| times(json!({"exp": 2_000_000, name: at}));
        assert!(with("nbf", json!(1_000_005)).is_ok());
        assert_eq!(with("nbf", json!(1_000_006)), Err(TokenError::NotYet(6)));
        assert_eq!(with("nbf", json!([])), Err(TokenError::NotATime("nbf")));
        assert!(with("iat", json!(1_000_005)).is_ok());
        assert_eq!(with("iat", json!(1_000_005.5)), Err(TokenError::IssuedInTheFuture(6)));
        assert_eq!(with("iat", json!("now")), Err(TokenError::NotATime("iat")));
        assert_eq!(with("iat", json!(7)).unwrap().issued_at, Some(7000));
    }

    #[test]
    fn audience_is_required_and_must_be_accepted() {
        let check = |audience: Value| check_audience(&map(json!({ "aud": audience })), &["a".into(), "b".into()]);
        assert_eq!(check(json!("a")), Ok(()));
        assert_eq!(check(json!(["x", "b"])), Ok(()));
        assert_eq!(check(json!("x")), Err(TokenError::Audience));
        assert_eq!(check(json!("ab")), Err(TokenError::Audience));
        assert_eq!(check(json!(["x"])), Err(TokenError::Audience));
        for none in [json!([]), json!(null), json!(1), json!({"a": 1}), json!(["a", 1])] {
            assert_eq!(check(none), Err(TokenError::NoAudience));
        }
        assert_eq!(check_audience(&Map::new(), &["a".into()]), Err(TokenError::NoAudience));
    }

    #[test]
    fn header_with_extensions_is_rejected() {
        let check = |header: Value| check_header(&map(header));
        for fine in
            [json!({}), json!({"typ": "JWT"}), json!({"typ": "at+jwt"}), json!({"typ": "jwt"}), json!({"b64": true})]
        {
            assert_eq!(check(fine), Ok(()));
        }
        for typ in [json!("dpop+jwt"), json!("logout+jwt"), json!(""), json!(null), json!(1)] {
            assert_eq!(check(json!({ "typ": typ })), Err(TokenError::Type));
        }
        for crit in [json!(["exp"]), json!(["b64"]), json!([]), json!(null)] {
            assert_eq!(check(json!({ "crit": crit })), Err(TokenError::Critical));
        }
        for any in [json!("DEF"), json!("JWT"), json!(""), json!(null)] {
            assert_eq!(check(json!({ "zip": any })), Err(TokenError::Compressed));
            assert_eq!(check(json!({ "cty": any })), Err(TokenError::ContentType));
        }
        for b64 in [json!(false), json!(null), json!("true")] {
            assert_eq!(check(json!({ "b64": b64 })), Err(TokenError::UnencodedPayload));
        }
    }

    #[test]
    fn token_has_three_base64url_parts_within_the_limit() {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let (header, claims) = (part(json!({"alg": "ES256"})), part(json!({"iss": "i"})));
        let parse = |text: String| Unverified::parse(&text, 100).map(|_| ());
        assert_eq!(parse(format!("{header}.{claims}.x")), Ok(()));
        for text in [
            "",
            "a",
            "a.b",
            "..",
            ". .",
            &format!("{header}.{claims}"),
            &format!("{header}.{claims}.x.y"),
            "e30=.e30.x",
        ] {
            assert_eq!(parse(text.to_owned()), Err(TokenError::NotAJwt), "{text}");
        }
        let list = part(json!([]));
        assert_eq!(parse(format!("{header}.{list}.x")), Err(TokenError::NotAJwt));
        let token = format!("{header}.{claims}.");
        assert_eq!(parse(format!("{token}{}", "x".repeat(100 - token.len()))), Ok(()));
        assert_eq!(parse(format!("{token}{}", "x".repeat(101 - token.len()))), Err(TokenError::TooLarge(100)));
    }

    #[test]
    fn duplicate_name_in_header_or_claims_is_rejected() {
        let parse = |header: &str, claims: &str| {
            let token = format!("{}.{}.x", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
            Unverified::parse(&token, 8192).map(|_| ())
        };
        let (header, claims) = (r#"{"alg":"ES256"}"#, r#"{"iss":"i"}"#);
        assert_eq!(parse(header, claims), Ok(()));
        for twice in [r#"{"alg":"ES256","alg":"ES256"}"#, r#"{"alg":"ES256","kid":"a","k\u0069d":"b"}"#] {
            assert_eq!(parse(twice, claims), Err(TokenError::NameTwice), "{twice}");
        }
        for twice in [r#"{"iss":"i","sub":"ada","sub":"bob"}"#, r#"{"iss":"i","realm":{"roles":[],"roles":["admin"]}}"#]
        {
            assert_eq!(parse(header, twice), Err(TokenError::NameTwice), "{twice}");
        }
    }

    #[test]
    fn issuer_and_algorithm_are_checked_before_any_key() {
        let parse = |header: Value, claims: Value| {
            let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
            Unverified::parse(&format!("{}.{}.x", part(header), part(claims)), 8192).map(|_| ())
        };
        for iss in [json!(null), json!(["i"]), json!(1)] {
            assert_eq!(parse(json!({"alg": "ES256"}), json!({ "iss": iss })), Err(TokenError::NoIssuer));
        }
        assert_eq!(parse(json!({"alg": "ES256"}), json!({})), Err(TokenError::NoIssuer));
        for alg in [
            json!("none"),
            json!("None"),
            json!("HS256"),
            json!("RS512"),
            json!("es256"),
            json!(null),
            json!(["ES256"]),
        ] {
            assert_eq!(parse(json!({ "alg": alg }), json!({"iss": "i"})), Err(TokenError::Algorithm));
        }
        assert_eq!(parse(json!({}), json!({"iss": "i"})), Err(TokenError::Algorithm));
        assert_eq!(parse(json!({"alg": "ES256", "kid": 1}), json!({"iss": "i"})), Err(TokenError::KeyNotKnown));
    }
}
