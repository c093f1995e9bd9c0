//! The key of tokens: who has a token has the right that it names, so only this installation can make one.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::outbound::{SecretError, StoreKey, secret};

/// Bytes of the authentication code of a token.
const CODE_BYTES: usize = 16;

/// The purpose of a token. A token is valid for one purpose only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Upload,
    Link,
}

/// The key with which tokens are signed.
pub(crate) struct Key(Zeroizing<Vec<u8>>);

impl Key {
    /// Reads the key of an installation, or makes it. Several nodes derive it from the key that they share.
    pub(crate) fn of(data: &Path, shared: Option<&StoreKey>) -> Result<Self, SecretError> {
        Ok(Self(match shared {
            Some(shared) => Zeroizing::new(shared.derive("files").to_vec()),
            None => Zeroizing::new(secret::read_or_make(data, secret::FILES_KEY)?.expose().as_bytes().to_vec()),
        }))
    }

    fn code(&self, purpose: Purpose, content: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(match purpose {
            Purpose::Upload => b"upload ",
            Purpose::Link => b"link ",
        });
        mac.update(content);
        mac
    }

    /// Returns a token with this content, as text for a path of a URL.
    pub(crate) fn sign(&self, purpose: Purpose, content: &[u8]) -> String {
        let code = self.code(purpose, content).finalize().into_bytes();
        let mut token = content.to_vec();
        token.extend_from_slice(&code[..CODE_BYTES]);
        URL_SAFE_NO_PAD.encode(token)
    }

    /// Returns the content of a token; none if this installation did not make it for this purpose.
    pub(crate) fn open(&self, purpose: Purpose, token: &str) -> Option<Vec<u8>> {
        let mut content = URL_SAFE_NO_PAD.decode(token).ok()?;
        let code = content.split_off(content.len().checked_sub(CODE_BYTES)?);
        self.code(purpose, &content).verify_truncated_left(&code).ok()?;
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_valid_for_its_key_and_purpose_only() {
        let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [key, again, other] = [data.path(), data.path(), other.path()].map(|data| Key::of(data, None).unwrap());
        let token = key.sign(Purpose::Link, b"a photo");
        assert_eq!(again.open(Purpose::Link, &token).as_deref(), Some(&b"a photo"[..]));
        assert_eq!(key.open(Purpose::Upload, &token), None);
        assert_eq!(other.open(Purpose::Link, &token), None);
        let forged = format!("{}A{}", &token[..2], &token[3..]);
        assert_eq!(key.open(Purpose::Link, &forged), None);
        for malformed in ["", "a", "*", "AAAA"] {
            assert_eq!(key.open(Purpose::Link, malformed), None, "{malformed:?}");
        }
    }
}
