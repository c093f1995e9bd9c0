//! A webhook that receives batches of lines.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use crate::outbound::address::reason;
use crate::signatures::{Key, standard_webhooks};
use convoke_core::clock::Clock;

/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A webhook. Unlike the endpoints of users, its URL is a setting of the operator, so it may be an internal address.
pub(super) struct Webhook {
    client: reqwest::Client,
    url: Url,
    key: Key,
    clock: Arc<dyn Clock>,
}

impl Webhook {
    /// Creates a webhook.
    ///
    /// # Errors
    /// A sentence about the URL or the secret.
    pub(super) fn new(url: &str, secret: &str, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("webhook: {}; write https://HOST/PATH", reason(error)))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("webhook must begin with https:// or http:// (got {}://)", url.scheme()));
        }
        let key = Key::standard_webhooks(secret).map_err(|error| error.to_string())?;
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { client, url, key, clock })
    }

    /// Sends a batch. `id` is the same for each try.
    ///
    /// # Errors
    /// The reason, without the URL, which may contain a secret.
    pub(super) async fn send(&self, id: &str, lines: &[u8]) -> Result<(), String> {
        let timestamp_s = u64::try_from(self.clock.now().0 / 1_000).unwrap_or(0);
        let signature = standard_webhooks::sign(std::slice::from_ref(&self.key), id, timestamp_s, lines);
        let request = self
            .client
            .post(self.url.clone())
            .header("content-type", "application/x-ndjson")
            .header(standard_webhooks::ID, id)
            .header(standard_webhooks::TIMESTAMP, timestamp_s)
            .header(standard_webhooks::SIGNATURE, signature)
            .body(lines.to_vec());
        let response = request.send().await.map_err(|error| error.without_url().to_string())?;
        match response.status().as_u16() {
            200..=299 => Ok(()),
            status => Err(format!("it responded with {status}")),
        }
    }
}
