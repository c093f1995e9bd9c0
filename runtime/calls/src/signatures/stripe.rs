//! [Stripe](https://docs.stripe.com/webhooks#verify-manually): `t=TIMESTAMP,v1=HEX,…`, where each `v1` is the code of
//! `{timestamp}.{body}`. The key is the whole text of the secret, with its `whsec_`.

use super::key::{Key, any_verifies};
use super::rejected::Rejected;
use super::timestamp;

/// The header with the timestamp and the signatures.
pub const SIGNATURE: &str = "stripe-signature";

/// Checks a request. `now_s` is the time in seconds since 1970.
///
/// # Errors
/// [`Rejected`].
pub fn verify(keys: &[Key], signature: Option<&str>, body: &[u8], now_s: u64) -> Result<(), Rejected> {
    let signature = signature.ok_or(Rejected::Missing(SIGNATURE))?;
    let members = || signature.split(',').filter_map(|member| member.trim().split_once('='));
    let at = members().find(|(name, _)| *name == "t").map(|(_, at)| at).ok_or(Rejected::Malformed(SIGNATURE))?;
    timestamp::check(at, SIGNATURE, now_s)?;
    let encoded = members().filter(|(name, _)| *name == "v1");
    let codes: Vec<Vec<u8>> = encoded.filter_map(|(_, code)| hex::decode(code).ok()).collect();
    if codes.is_empty() {
        return Err(Rejected::Malformed(SIGNATURE));
    }
    if any_verifies(keys, &[at.as_bytes(), b".", body], &codes) { Ok(()) } else { Err(Rejected::Signature) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"id":"evt_1","object":"event"}"#;
    /// Made by OpenSSL: `printf '1492774577.BODY' | openssl dgst -sha256 -hmac whsec_test_secret`.
    const CODE: &str = "654b43d3508ecadb3f8cefc4bc7d3d2bdc5ba9e03bf2c89b2d0657a8e24e4543";
    const AT: u64 = 1_492_774_577;

    fn verified(signature: &str, now_s: u64) -> Result<(), Rejected> {
        let keys = ["whsec_new_secret", "whsec_test_secret"].map(|secret| Key::plain(secret).unwrap());
        verify(&keys, Some(signature), BODY, now_s)
    }

    #[test]
    fn single_valid_signature_is_enough() {
        assert_eq!(verified(&format!("t={AT},v1={CODE}"), AT), Ok(()));
        assert_eq!(verified(&format!("t={AT},v1={},v1={CODE},v0=6ffb", "0".repeat(64)), AT + 300), Ok(()));
    }

    #[test]
    fn other_times_codes_and_forms_are_rejected() {
        let signed = format!("t={AT},v1={CODE}");
        assert_eq!(verified(&signed, AT + 301), Err(Rejected::Timestamp));
        assert_eq!(verified(&format!("t={},v1={CODE}", AT + 1), AT), Err(Rejected::Signature));
        assert_eq!(verified(&format!("t={AT},v0={CODE}"), AT), Err(Rejected::Malformed(SIGNATURE)));
        assert_eq!(verified(&format!("v1={CODE}"), AT), Err(Rejected::Malformed(SIGNATURE)));
        assert_eq!(verified("", AT), Err(Rejected::Malformed(SIGNATURE)));
        assert_eq!(verify(&[], None, BODY, AT), Err(Rejected::Missing(SIGNATURE)));
    }
}
