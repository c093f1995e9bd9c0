//! [GitHub](https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries): `sha256=HEX`, the code of
//! the body. A delivery has no timestamp, so a recorded delivery can be sent again: use its id with `once`.

use super::key::{Key, any_verifies};
use super::rejected::Rejected;

/// The header with the signature.
pub const SIGNATURE: &str = "x-hub-signature-256";

/// Checks a request.
///
/// # Errors
/// [`Rejected`].
pub fn verify(keys: &[Key], signature: Option<&str>, body: &[u8]) -> Result<(), Rejected> {
    let signature = signature.ok_or(Rejected::Missing(SIGNATURE))?;
    let code = signature.strip_prefix("sha256=").and_then(|code| hex::decode(code).ok());
    let code = code.ok_or(Rejected::Malformed(SIGNATURE))?;
    if any_verifies(keys, &[body], &[code]) { Ok(()) } else { Err(Rejected::Signature) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the documentation.
    #[test]
    fn published_vector_is_verified() {
        let keys = [Key::plain("It's a Secret to Everybody").unwrap()];
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(verify(&keys, Some(signature), b"Hello, World!"), Ok(()));
        assert_eq!(verify(&keys, Some(signature), b"Hello, World?"), Err(Rejected::Signature));
        let others = [Key::plain("another secret").unwrap()];
        assert_eq!(verify(&others, Some(signature), b"Hello, World!"), Err(Rejected::Signature));
        assert_eq!(verify(&keys, None, b""), Err(Rejected::Missing(SIGNATURE)));
        for malformed in ["", "sha256=", "sha1=757107ea", "sha256=75710"] {
            assert!(verify(&keys, Some(malformed), b"Hello, World!").is_err(), "{malformed}");
        }
    }
}
