//! The check of a request's signature, before its caller is identified and before its body is read as JSON.

use std::path::Path;

use crate::outbound::{Secret, SecretError, secret};
use crate::registry::Registry;
use crate::route::definition::Verify;
use crate::route::request::RouteRequest;
use crate::route::unverified::{Installation, Unverified};
use crate::services::Services;
use crate::signatures::{Key, KeyError, Rejected, github, hmac_sha256, standard_webhooks, stripe};
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error, Result};

/// Reason why the keys of a route cannot be used.
#[derive(Debug, thiserror::Error)]
enum KeysError {
    /// The secret is not set.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A line of the secret is not a key.
    #[error("the secret {name}: {reason}")]
    Key {
        /// Name of the secret.
        name: &'static str,
        reason: KeyError,
    },
}

/// A route that cannot check signatures.
#[derive(Debug)]
pub struct Unverifiable {
    /// The route and the place of its function.
    pub route: String,
    /// The name of the secret that is not set, or is not a key.
    pub secret: &'static str,
    /// The reason, which says where to set the secret.
    pub reason: String,
}

/// Returns the routes whose secrets are missing in an installation with this data folder, or are not keys.
pub fn unverifiable(registry: &Registry, data: &Path) -> Vec<Unverifiable> {
    let found = registry.routes().filter_map(|function| {
        let route = function.def.route?;
        let verify = route.verify.as_ref()?;
        let reason = keys(verify, |name| secret::read(data, name)).err()?.to_string();
        let route = format!("{}:{}: the route {route}", function.def.file, function.def.line);
        Some(Unverifiable { route, secret: verify.secret()?, reason })
    });
    found.collect()
}

/// Reads the keys of a check: one per line of its secret.
fn keys(verify: &Verify, read_secret: impl FnOnce(&str) -> Result<Secret, SecretError>) -> Result<Vec<Key>, KeysError> {
    let Some(name) = verify.secret() else { return Ok(Vec::new()) };
    let read = match verify {
        Verify::StandardWebhooks { .. } => Key::standard_webhooks,
        Verify::Stripe { .. } | Verify::Github { .. } | Verify::HmacSha256 { .. } | Verify::Own(_) => Key::plain,
    };
    let secret = read_secret(name)?;
    let lines = secret.expose().lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| read(line).map_err(|reason| KeysError::Key { name, reason })).collect()
}

/// Checks the signature of a request.
///
/// # Errors
/// `INVALID_SIGNATURE`; `INTERNAL` if the secret was removed after the start.
pub(crate) fn check(verify: &Verify, request: &RouteRequest, services: &impl Installation) -> Result<()> {
    let unverified = Unverified { headers: request.headers(), body: request.body(), installation: services };
    let (body, header) = (unverified.body(), |name: &'static str| unverified.header(name));
    let now_s = u64::try_from(unverified.now().get() / 1_000).unwrap_or(0);
    let keys = keys(verify, |name| services.secret(name)).map_err(Error::internal)?;
    let checked = match *verify {
        Verify::StandardWebhooks { .. } => {
            let [id, timestamp, signature] =
                [standard_webhooks::ID, standard_webhooks::TIMESTAMP, standard_webhooks::SIGNATURE].map(header);
            standard_webhooks::verify(&keys, id, timestamp, signature, body, now_s)
        }
        Verify::Stripe { .. } => stripe::verify(&keys, header(stripe::SIGNATURE), body, now_s),
        Verify::Github { .. } => github::verify(&keys, header(github::SIGNATURE), body),
        Verify::HmacSha256 { header: name, .. } => hmac_sha256::verify(&keys, name, header(name), body),
        Verify::Own(check) => return check(&unverified),
    };
    checked.map_err(rejected)
}

fn rejected(reason: Rejected) -> Error {
    Error::new(Code::InvalidSignature, format!("The signature is not accepted: {reason}"))
}

impl Installation for Services {
    fn secret(&self, name: &str) -> Result<Secret, SecretError> {
        Services::secret(self, name)
    }

    fn now(&self) -> Millis {
        self.clock().now()
    }

    fn section(&self, name: &str) -> Option<toml::Value> {
        self.section_of(name)
    }
}
