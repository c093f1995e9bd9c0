//! One request to an endpoint.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use reqwest::Url;

use super::address::CheckedResolver;
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
                Attempt { tried_at, took, status: Some(status), answer: Some(body), error, retry_after }
            }
            Err(error) => Attempt { tried_at, took, status: None, answer: None, error: Some(error), retry_after: None },
        }
    }

    async fn exchange(&self, url: &str, keys: &[Key], delivery: &Delivery, now: Millis) -> Result<Answer, String> {
        // The settings may have changed since the endpoint was created.
        let url: Url =
            target::read(url, &self.settings, self.is_development).map_err(|error| error.message().to_owned())?;
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
        let mut response = request.send().await.map_err(reason)?;
        let retry_after = response.headers().get("retry-after").and_then(|field| field.to_str().ok());
        let retry_after = retry_after.and_then(|field| retry::retry_after(field, now));
        let mut body = BytesMut::new();
        while body.len() < ANSWER_BYTES_MAX {
            match response.chunk().await.map_err(reason)? {
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

/// Returns the reason of a failure, without the URL, which may contain a secret.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    if error.is_timeout() {
        return format!("the endpoint did not respond within {} s", TIMEOUT.as_secs());
    }
    let mut reason = error.to_string();
    let mut next = std::error::Error::source(&error);
    while let Some(source) = next {
        reason = format!("{reason}: {source}");
        next = source.source();
    }
    reason.truncate(reason.floor_char_boundary(ERROR_BYTES_MAX));
    reason
}
