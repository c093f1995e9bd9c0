//! [Standard Webhooks](https://www.standardwebhooks.com): the
//! code of `{id}.{timestamp}.{body}` in base64 after `v1,`, with a space between several.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::key::{Key, any_verifies};
use super::rejected::Rejected;
use super::timestamp;

/// The header with the id of the event, which is the same for each try.
pub const ID: &str = "webhook-id";
/// The header with the time of the try, in seconds since 1970.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The header with the signatures.
pub const SIGNATURE: &str = "webhook-signature";

/// The version of the symmetric scheme.
const VERSION: &str = "v1,";

/// Returns the value of [`SIGNATURE`]: one signature per key. `timestamp_s` is in seconds since 1970.
pub fn sign(keys: &[Key], id: &str, timestamp_s: u64, body: &[u8]) -> String {
    let timestamp = timestamp_s.to_string();
    let mut signatures = String::new();
    for key in keys {
        let code = key.sign(&[id.as_bytes(), b".", timestamp.as_bytes(), b".", body]);
        let gap = if signatures.is_empty() { "" } else { " " };
        let _ = write!(signatures, "{gap}{VERSION}{}", STANDARD.encode(code));
    }
    signatures
}

/// Checks a request. One of the signatures must be the signature of one of the keys. Signatures of other versions are
/// ignored. `now_s` is the time in seconds since 1970.
///
/// # Errors
/// [`Rejected`].
pub fn verify(
    keys: &[Key],
    id: Option<&str>,
    timestamp: Option<&str>,
    signature: Option<&str>,
    body: &[u8],
    now_s: u64,
) -> Result<(), Rejected> {
    let id = id.ok_or(Rejected::Missing(ID))?;
    let timestamp = timestamp.ok_or(Rejected::Missing(TIMESTAMP))?;
    let signature = signature.ok_or(Rejected::Missing(SIGNATURE))?;
    timestamp::check(timestamp, TIMESTAMP, now_s)?;
    let encoded = signature.split(' ').filter_map(|one| one.strip_prefix(VERSION));
    let codes: Vec<Vec<u8>> = encoded.filter_map(|code| STANDARD.decode(code).ok()).collect();
    if codes.is_empty() {
        return Err(Rejected::Malformed(SIGNATURE));
    }
    let parts: [&[u8]; 5] = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
    if any_verifies(keys, &parts, &codes) { Ok(()) } else { Err(Rejected::Signature) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the libraries that the project publishes.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const MESSAGE: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: u64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const EXPECTED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn keys(secrets: &[&str]) -> Vec<Key> {
        secrets.iter().map(|secret| Key::standard_webhooks(secret).unwrap()).collect()
    }

    fn verified(keys: &[Key], signature: &str, now_s: u64) -> Result<(), Rejected> {
        verify(keys, Some(MESSAGE), Some(&AT.to_string()), Some(signature), BODY, now_s)
    }

    #[test]
    fn published_vector_is_signed_and_verified() {
        let keys = keys(&[SECRET]);
        assert_eq!(sign(&keys, MESSAGE, AT, BODY), EXPECTED);
        assert_eq!(verified(&keys, EXPECTED, AT), Ok(()));
        assert_eq!(verified(&keys, EXPECTED, AT + 301), Err(Rejected::Timestamp));
    }

    #[test]
    fn each_of_several_keys_and_signatures_is_enough() {
        let (old, new) = (keys(&[SECRET]), keys(&["d2hpY2ggaXMgbm90IHRoZSBvdGhlciBvbmU="]));
        let both = [old.clone(), new.clone()].concat();
        assert_eq!(verified(&both, EXPECTED, AT), Ok(()));
        assert_eq!(verified(&new, EXPECTED, AT), Err(Rejected::Signature));
        let signed = sign(&both, MESSAGE, AT, BODY);
        assert_eq!(signed.split(' ').count(), 2);
        for keys in [&old, &new] {
            assert_eq!(verified(keys, &signed, AT), Ok(()));
            assert_eq!(verified(keys, &format!("v1a,Zm9v {signed} v2,x"), AT), Ok(()));
        }
    }

    #[test]
    fn other_bodies_ids_and_forms_are_rejected() {
        let (keys, at) = (keys(&[SECRET]), AT.to_string());
        let of = |id, at, signature, body: &[u8]| verify(&keys, id, at, signature, body, AT);
        let (id, at, signature) = (Some(MESSAGE), Some(at.as_str()), Some(EXPECTED));
        assert_eq!(of(id, at, signature, b"{}"), Err(Rejected::Signature));
        assert_eq!(of(Some("msg_other"), at, signature, BODY), Err(Rejected::Signature));
        assert_eq!(of(id, Some("1614265331"), signature, BODY), Err(Rejected::Signature));
        assert_eq!(of(None, at, signature, BODY), Err(Rejected::Missing(ID)));
        assert_eq!(of(id, None, signature, BODY), Err(Rejected::Missing(TIMESTAMP)));
        assert_eq!(of(id, at, None, BODY), Err(Rejected::Missing(SIGNATURE)));
        for malformed in ["", "v1", "v1,%", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="] {
            assert_eq!(of(id, at, Some(malformed), BODY), Err(Rejected::Malformed(SIGNATURE)), "{malformed}");
        }
        assert_eq!(of(id, at, Some("v1,"), BODY), Err(Rejected::Signature));
    }
}
