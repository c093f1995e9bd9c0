//! The keys of signatures.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The prefix of a secret of Standard Webhooks.
const PREFIX: &str = "whsec_";

/// A key of HMAC-SHA256, zeroed when it is dropped.
#[derive(Clone)]
pub struct Key(Zeroizing<Vec<u8>>);

/// Reason why a text is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is empty.
    #[error("the key is empty")]
    Empty,
    /// The text is not a secret of Standard Webhooks.
    #[error("a secret of Standard Webhooks is base64 after `whsec_`, such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`")]
    NotBase64,
}

impl Key {
    /// Reads a secret of Standard Webhooks: base64, with or without the prefix `whsec_`.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn standard_webhooks(secret: &str) -> Result<Self, KeyError> {
        let encoded = secret.trim();
        let encoded = encoded.strip_prefix(PREFIX).unwrap_or(encoded);
        let bytes = STANDARD.decode(encoded).map_err(|_| KeyError::NotBase64)?;
        Self::of(bytes)
    }

    /// Takes the bytes of a text as they are, as Stripe and GitHub do. White space around the text is removed.
    ///
    /// # Errors
    /// The text is empty.
    pub fn plain(secret: &str) -> Result<Self, KeyError> {
        Self::of(secret.trim().as_bytes().to_vec())
    }

    fn of(bytes: Vec<u8>) -> Result<Self, KeyError> {
        match bytes.is_empty() {
            true => Err(KeyError::Empty),
            false => Ok(Self(Zeroizing::new(bytes))),
        }
    }

    /// Returns the code of the parts, one after the other.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.mac(parts).finalize().into_bytes().into()
    }

    /// Returns true if `code` is the code of the parts. The time does not depend on the bytes.
    pub(super) fn verifies(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        self.mac(parts).verify_slice(code).is_ok()
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

/// Returns true if any of the codes is the code of the parts by any of the keys.
pub(super) fn any_verifies(keys: &[Key], parts: &[&[u8]], codes: &[Vec<u8>]) -> bool {
    keys.iter().any(|key| codes.iter().any(|code| key.verifies(parts, code)))
}

/// Hides the bytes.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_that_of_the_rfc() {
        let key = Key::plain("Jefe").unwrap();
        let code = key.sign(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hex::encode(code), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        assert!(key.verifies(&[b"what do ya want for nothing?"], &code));
        assert!(!key.verifies(&[b"what do ya want for nothing?"], &code[..31]));
    }

    #[test]
    fn text_that_is_no_key_is_rejected_and_a_key_is_not_printed() {
        assert_eq!(Key::plain(" \n").unwrap_err(), KeyError::Empty);
        assert_eq!(Key::standard_webhooks("whsec_").unwrap_err(), KeyError::Empty);
        assert_eq!(Key::standard_webhooks("whsec_a secret").unwrap_err(), KeyError::NotBase64);
        assert_eq!(format!("{:?}", Key::plain("hush").unwrap()), "Key(…)");
    }
}
