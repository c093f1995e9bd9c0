//! The secrets of endpoints, derived from one key of the installation.
//!
//! The database has no secret: a copy of it cannot sign. The key is the secret `WEBHOOKS_KEY`, which the server
//! generates; several nodes derive it from the key that they share. A new key replaces the secrets of all endpoints.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::endpoint::{Endpoint, EndpointSecret};
use crate::outbound::Secret;
use crate::outbound::secret::WEBHOOKS_KEY;
use crate::services::Services;
use crate::signatures::Key;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;

/// Default time for which a former secret still signs.
pub const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest time for which a former secret still signs.
pub const OVERLAP_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Secrets that sign at the same time.
const SIGNING_MAX: usize = 2;

/// Adds a secret. The current one signs for `overlap` more.
pub(super) fn rotate(endpoint: &mut Endpoint, overlap: Duration, now: Millis) {
    endpoint.secrets.retain(|secret| signs(secret, now));
    for secret in &mut endpoint.secrets {
        secret.until.get_or_insert(now + overlap);
    }
    endpoint.secrets.insert(0, EndpointSecret { number: endpoint.secrets_made, made_at: now, until: None });
    endpoint.secrets.truncate(SIGNING_MAX);
    endpoint.secrets_made += 1;
}

fn signs(secret: &EndpointSecret, now: Millis) -> bool {
    secret.until.is_none_or(|until| now < until)
}

/// Returns the text of the current secret: `whsec_` and base64 of 32 bytes.
pub(super) fn current(services: &Services, id: Id<Endpoint>, endpoint: &Endpoint) -> Result<Secret> {
    let secret = endpoint.secrets.first().ok_or_else(|| Error::internal("a webhook endpoint without a secret"))?;
    text(&services.own_secret(WEBHOOKS_KEY)?, id, secret)
}

/// Returns the keys that sign at `now`, the current one first.
pub(super) fn signing(services: &Services, id: Id<Endpoint>, endpoint: &Endpoint, now: Millis) -> Result<Vec<Key>> {
    let key = services.own_secret(WEBHOOKS_KEY)?;
    let signing = endpoint.secrets.iter().filter(|secret| signs(secret, now));
    signing.map(|secret| Key::standard_webhooks(text(&key, id, secret)?.expose()).map_err(Error::internal)).collect()
}

fn text(key: &Secret, id: Id<Endpoint>, secret: &EndpointSecret) -> Result<Secret> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose().as_bytes()).map_err(Error::internal)?;
    mac.update(format!("convoke webhook 1 {id} {} {}", secret.number, secret.made_at.0).as_bytes());
    let bytes = Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()));
    Ok(Secret::from(["whsec_", &STANDARD.encode(*bytes)].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn endpoint() -> Endpoint {
        Endpoint {
            owner: String::new(),
            url: "https://a.example/".to_owned(),
            description: String::new(),
            events: vec![],
            secrets: vec![],
            secrets_made: 0,
            state: super::super::EndpointState::Enabled,
            disabled_reason: None,
            disabled_at: None,
            failing_since: None,
        }
    }

    #[test]
    fn two_secrets_sign_until_the_overlap_ends() {
        let (mut endpoint, hour) = (endpoint(), Duration::from_secs(3_600));
        rotate(&mut endpoint, hour, NOW);
        rotate(&mut endpoint, hour, NOW);
        let numbers = |endpoint: &Endpoint, now| {
            endpoint.secrets.iter().filter(|one| signs(one, now)).map(|one| one.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&endpoint, NOW), [1, 0]);
        assert_eq!(numbers(&endpoint, NOW + hour), [1]);
        rotate(&mut endpoint, hour, NOW);
        assert_eq!(numbers(&endpoint, NOW), [2, 1], "at most two sign");
    }

    #[test]
    fn texts_differ_by_key_endpoint_number_and_time() {
        let secret = EndpointSecret { number: 0, made_at: NOW, until: None };
        let of = |key: &str, id, secret: &EndpointSecret| {
            text(&Secret::from(key.to_owned()), Id::from_bits(id), secret).unwrap().expose().to_owned()
        };
        let one = of("key", 1, &secret);
        assert!(one.starts_with("whsec_") && Key::standard_webhooks(&one).is_ok());
        assert_eq!(one, of("key", 1, &secret));
        let later = EndpointSecret { made_at: Millis(NOW.0 + 1), ..secret.clone() };
        let next = EndpointSecret { number: 1, ..secret.clone() };
        for other in [of("other", 1, &secret), of("key", 2, &secret), of("key", 1, &next), of("key", 1, &later)] {
            assert_ne!(one, other);
        }
    }
}
