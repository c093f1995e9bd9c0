//! One request to an endpoint.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use reqwest::Url;

use super::address::{CheckedResolver, RefusedAddress};
use super::delivery::{Attempt, Delivery};
use super::settings::WebhookSettings;
use super::target;
use crate::outbound::retry;
use crate::signatures::{Key, standard_webhooks};
use convoke_core::clock::{Clock, Millis};
use convoke_core::error::{Error, Result};

/// Timeout of one try, from the resolution of the name to the last byte of the response.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of a response that are kept.
const ANSWER_BYTES_MAX: usize = 1_024;
/// Maximum bytes of the reason of a failure.
const ERROR_BYTES_MAX: usize = 512;

/// Sends deliveries.
pub(super) struct Sender {
    client: reqwest::Client,
    settings: Arc<WebhookSettings>,
    is_development: bool,
}

/// The response of an endpoint.
struct Answer {
    status: u16,
    retry_after: Option<Duration>,
    body: String,
}

impl Sender {
    pub(super) fn new(settings: Arc<WebhookSettings>, is_development: bool) -> Result<Self> {
        let client = reqwest::Client::builder()
            .dns_resolver(CheckedResolver(settings.clone()))
            // A proxy would connect to addresses that were not checked.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(Error::internal)?;
        Ok(Self { client, settings, is_development })
    }

    /// Sends a delivery once. Any status other than 2xx is a failure.
    pub(super) async fn send(&self, url: &str, keys: &[Key], delivery: &Delivery, clock: &dyn Clock) -> Attempt {
        let (tried_at, began) = (clock.now(), clock.monotonic());
        let sent = self.exchange(url, keys, delivery, tried_at).await;
        let took = clock.monotonic().saturating_sub(began);
        match sent {
            Ok(Answer { status, retry_after, body }) => {
                let error = match status {
                    200..=299 => None,
                    300..=399 => Some(format!("the endpoint responded with {status}; redirects are not followed")),
                    _ => Some(format!("the endpoint responded with {status}")),
                };
                Attempt { tried_at, took, status: Some(status), answer: Some(body), error, cause: None, retry_after }
            }
            Err(Failed { reason, cause }) => {
                let (error, cause) = (Some(reason), Some(cause));
                Attempt { tried_at, took, status: None, answer: None, error, cause, retry_after: None }
            }
        }
    }

    async fn exchange(&self, url: &str, keys: &[Key], delivery: &Delivery, now: Millis) -> Result<Answer, Failed> {
        // The settings may have changed since the endpoint was created.
        let url: Url =
            target::read(url, &self.settings, self.is_development).map_err(|error| Failed::of_url(error.message()))?;
        let timestamp_s = u64::try_from(now.0 / 1_000).unwrap_or(0);
        let body = delivery.body.as_bytes();
        let request = self
            .client
            .post(url)
            .header("content-type", "application/json")
            .header(standard_webhooks::ID, &delivery.message)
            .header(standard_webhooks::TIMESTAMP, timestamp_s)
            .header(standard_webhooks::SIGNATURE, standard_webhooks::sign(keys, &delivery.message, timestamp_s, body))
            .body(delivery.body.clone());
        let mut response = request.send().await.map_err(Failed::of)?;
        let retry_after = response.headers().get("retry-after").and_then(|field| field.to_str().ok());
        let retry_after = retry_after.and_then(|field| retry::retry_after(field, now));
        let mut body = BytesMut::new();
        while body.len() < ANSWER_BYTES_MAX {
            match response.chunk().await.map_err(Failed::of)? {
                Some(chunk) => body.extend_from_slice(&chunk[..chunk.len().min(ANSWER_BYTES_MAX - body.len())]),
                None => break,
            }
        }
        Ok(Answer { status: response.status().as_u16(), retry_after, body: text(&body) })
    }
}

/// Converts bytes to text that the database can store. A character that the limit cuts is left out.
fn text(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
    text.truncate(text.floor_char_boundary(ANSWER_BYTES_MAX));
    text
}

/// A request without a response.
struct Failed {
    /// The reason for the owner of the endpoint.
    reason: String,
    /// The cause for the log.
    cause: String,
}

impl Failed {
    fn of_url(message: &str) -> Self {
        Self { reason: message.to_owned(), cause: message.to_owned() }
    }

    /// The cause has no URL, which may contain a secret.
    fn of(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut cause = convoke_core::error::chain(&error);
        cause.truncate(cause.floor_char_boundary(ERROR_BYTES_MAX));
        let reason = if error.is_timeout() {
            format!("the endpoint did not respond within {} s", TIMEOUT.as_secs())
        } else if convoke_core::error::causes(&error).any(|source| source.is::<RefusedAddress>()) {
            "the name of the endpoint leads to addresses that webhooks may not reach; the setting webhooks.allow allows ranges"
                .to_owned()
        } else if cause.contains("dns error") {
            "the name of the endpoint cannot be resolved".to_owned()
        } else if cause.contains("certificate") {
            "the TLS certificate of the endpoint is not valid".to_owned()
        } else if error.is_connect() {
            "the endpoint accepts no connection".to_owned()
        } else {
            "the endpoint closed the connection before the end of its response".to_owned()
        };
        Self { reason, cause }
    }
}
