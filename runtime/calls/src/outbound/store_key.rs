//! Secrets of servers that share one database: all nodes have one key and derive the same secrets from it.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::secret::{self, Secret, SecretError};

pub use super::secret::STORE_KEY;

/// The key of a database with several nodes.
#[derive(Clone, Debug)]
pub struct StoreKey(Secret);

impl StoreKey {
    /// Reads the key of this installation.
    ///
    /// # Errors
    /// [`SecretError`]: it is not set, too short, or cannot be read.
    pub fn read(data: &Path) -> Result<Self, SecretError> {
        secret::read_key(data, STORE_KEY).map(Self)
    }

    /// Derives 32 bytes for this purpose. They reveal neither the key nor the bytes for another purpose.
    pub fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.expose().as_bytes()).expect("HMAC takes keys of any length");
        mac.update(b"convoke 1 ");
        mac.update(purpose.as_bytes());
        Zeroizing::new(mac.finalize().into_bytes().into())
    }

    /// Returns the derived secret with this name, as text.
    pub(crate) fn secret(&self, name: &str) -> Secret {
        Secret::from(URL_SAFE_NO_PAD.encode(*self.derive(&format!("secret {name}"))))
    }

    /// Returns a public fingerprint, which differs between nodes with different keys.
    pub(crate) fn fingerprint(&self) -> String {
        hex::encode(&self.derive("fingerprint")[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_derive_equal_secrets_and_different_keys_derive_different_ones() {
        let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(matches!(StoreKey::read(data.path()), Err(SecretError::Missing { .. })));
        secret::write(data.path(), STORE_KEY, &"k".repeat(secret::KEY_CHARS_MIN - 1)).unwrap();
        let short = StoreKey::read(data.path()).unwrap_err().to_string();
        assert!(short.contains("32 characters") && short.contains("openssl rand"), "{short}");

        secret::write(data.path(), STORE_KEY, &"k".repeat(secret::KEY_CHARS_MIN)).unwrap();
        secret::write(other.path(), STORE_KEY, &"l".repeat(secret::KEY_CHARS_MIN)).unwrap();
        let (key, again, other) = (data.path(), data.path(), other.path());
        let [key, again, other] = [key, again, other].map(|data| StoreKey::read(data).unwrap());
        assert_eq!(key.secret("ROOM_KEY").expose(), again.secret("ROOM_KEY").expose());
        assert_eq!(key.secret("ROOM_KEY").expose().len(), 43);
        assert_ne!(key.secret("ROOM_KEY").expose(), key.secret("OTHER_KEY").expose());
        assert_ne!(key.secret("ROOM_KEY").expose(), other.secret("ROOM_KEY").expose());
        assert_eq!(key.fingerprint(), again.fingerprint());
        assert_ne!(key.fingerprint(), other.fingerprint());
    }
}
