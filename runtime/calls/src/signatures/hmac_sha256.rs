//! A bare HMAC-SHA256 of the body in one header, as many senders have it: hex or base64, with or without the prefix
//! `sha256=`. There is no timestamp, so a recorded request can be sent again: use its id with `once`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::key::{Key, any_verifies};
use super::rejected::Rejected;

/// Length of a code in hex.
const HEX_CHARS: usize = 64;

/// Checks a request. `header` is the name of the header with the signature.
///
/// # Errors
/// [`Rejected`].
pub fn verify(keys: &[Key], header: &'static str, signature: Option<&str>, body: &[u8]) -> Result<(), Rejected> {
    let signature = signature.ok_or(Rejected::Missing(header))?;
    let encoded = signature.strip_prefix("sha256=").unwrap_or(signature);
    let code = match encoded.len() {
        HEX_CHARS => hex::decode(encoded).ok(),
        _ => STANDARD.decode(encoded).ok(),
    };
    let code = code.ok_or(Rejected::Malformed(header))?;
    if any_verifies(keys, &[body], &[code]) { Ok(()) } else { Err(Rejected::Signature) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231 §4.3.
    #[test]
    fn code_is_accepted_in_hex_and_base64() {
        let (keys, body) = ([Key::plain("Jefe").unwrap()], b"what do ya want for nothing?");
        let hex = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let base64 = STANDARD.encode(hex::decode(hex).unwrap());
        for signature in [hex, &hex.to_uppercase(), &base64, &format!("sha256={hex}"), &format!("sha256={base64}")] {
            assert_eq!(verify(&keys, "x-signature", Some(signature), body), Ok(()), "{signature}");
        }
        assert_eq!(verify(&keys, "x-signature", Some(hex), b"nothing"), Err(Rejected::Signature));
        assert_eq!(verify(&keys, "x-signature", Some("%"), body), Err(Rejected::Malformed("x-signature")));
        assert_eq!(verify(&keys, "x-signature", None, body), Err(Rejected::Missing("x-signature")));
    }
}
