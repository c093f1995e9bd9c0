//! Credentials for a TURN relay that last an hour and need no account.
//!
//! The REST convention of coturn's `use-auth-secret` (draft-uberti-behave-turn-rest-00): the relay shares a secret with
//! us and computes the same password from the user name, whose first part is the expiry.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Lifetime of a credential, s.
pub const VALID_S: i64 = 3600;

/// A credential for the relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCredentials {
    /// `<expiry in s>:<user id>`.
    pub username: String,
    /// base64 of HMAC-SHA1(secret, username).
    pub credential: String,
    /// Expiry, s since the epoch.
    pub expires_at_s: i64,
}

/// Makes the credentials of one user from the secret shared with the relay. `now_s` is in s since the epoch.
#[must_use]
pub fn turn_credentials(secret: &str, user_id: &str, now_s: i64) -> TurnCredentials {
    let expires_at_s = now_s + VALID_S;
    let username = format!("{expires_at_s}:{user_id}");
    let credential = credential(secret, &username);
    TurnCredentials { username, credential, expires_at_s }
}

fn credential(secret: &str, username: &str) -> String {
    // SHA-1 is what the relays' convention prescribes; as a MAC it is not broken.
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes());
    STANDARD.encode(hmac::sign(&key, username.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vectors_come_out() {
        assert_eq!(credential("north", "1700003600:user_1"), "BiDrRnmpQ1DBFbRLdXQDlXR3BtU=");
        assert_eq!(credential("my_secret", "1433895918:12334"), "LeYiM01GePX1AC5MBiw9MchqHc0=");
    }

    #[test]
    fn a_credential_names_its_user_and_ends_after_an_hour() {
        let made = turn_credentials("north", "user_1", 1_700_000_000);
        assert_eq!(made.username, "1700003600:user_1");
        assert_eq!(made.credential, "BiDrRnmpQ1DBFbRLdXQDlXR3BtU=");
        assert_eq!(made.expires_at_s, 1_700_003_600);
    }

    #[test]
    fn an_empty_secret_still_makes_a_credential() {
        assert_eq!(turn_credentials("", "u", 0).credential.len(), 28);
    }
}
