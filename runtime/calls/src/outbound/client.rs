//! The HTTP client of actions.
//!
//! Every request has a timeout, and its response a size limit. A request that may be sent twice (by its method, or
//! because the author allows it) is retried when the server is busy, fails or is unreachable. When its action is
//! dropped, a request is cancelled. Only the method, host and outcome of a request are logged.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::address::reason;
use super::retry;
use super::secret::Secret;
use crate::trace::{Failure, Span, SpanKind};
use convoke_core::clock::Clock;
use convoke_core::error::{Error, IntoError, Result};

/// The header with the position in the caller's trace (W3C Trace Context).
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Timeout of one attempt, from its first byte to the last byte of the response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Default maximum bytes of a response body.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Default number of retries of a request that may be sent twice.
const RETRIES: u32 = 2;
/// Maximum number of redirects.
const REDIRECTS_MAX: usize = 5;

/// The client. Each runtime has one, with its connection pool.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    clock: Arc<dyn Clock>,
    /// The span of the action that sends.
    span: Span,
}

/// Reason why a request has no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address, a header or the body is invalid.
    #[error("the request cannot be sent: {0}")]
    Request(String),
    /// The response did not arrive completely within the timeout.
    #[error("{host} did not respond in time")]
    TimedOut {
        /// The server.
        host: String,
    },
    /// The connection failed or broke.
    #[error("{host} cannot be reached: {cause}")]
    Unreachable {
        /// The server.
        host: String,
        /// The failure, without the address.
        cause: String,
    },
    /// The redirect changes the scheme, or there are too many redirects.
    #[error("{host} redirects where requests do not follow: {cause}")]
    Redirect {
        /// The server.
        host: String,
        /// Problem of the redirect.
        cause: String,
    },
    /// The response exceeds the size limit of the request.
    #[error("the response of {host} is larger than {limit} bytes")]
    TooLarge {
        /// The server.
        host: String,
        /// The limit.
        limit: usize,
    },
    /// The response does not have the expected type.
    #[error("the response of {host} cannot be read: {cause}")]
    Answer {
        /// The server.
        host: String,
        /// The mistake.
        cause: String,
    },
    /// The response has a status other than success ([`Reply::success`]).
    #[error("{host} responded with status {status}")]
    Status {
        /// The server.
        host: String,
        /// The status.
        status: u16,
    },
}

impl HttpError {
    /// Returns the name of the kind, for traces.
    fn name(&self) -> &'static str {
        match self {
            HttpError::Request(_) => "Request",
            HttpError::TimedOut { .. } => "TimedOut",
            HttpError::Unreachable { .. } => "Unreachable",
            HttpError::Redirect { .. } => "Redirect",
            HttpError::TooLarge { .. } => "TooLarge",
            HttpError::Answer { .. } => "Answer",
            HttpError::Status { .. } => "Status",
        }
    }
}

impl IntoError for HttpError {
    fn into_error(self) -> Error {
        let error = self;
        match &error {
            HttpError::Request(_) => Error::internal(error),
            HttpError::TimedOut { .. } => {
                Error::timeout("An external service did not respond in time").caused_by(error)
            }
            HttpError::Unreachable { .. }
            | HttpError::Redirect { .. }
            | HttpError::TooLarge { .. }
            | HttpError::Answer { .. }
            | HttpError::Status { .. } => Error::provider("An external service failed").caused_by(error),
        }
    }
}

impl Http {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Result<Self, HttpError> {
        let redirects = reqwest::redirect::Policy::custom(|attempt| {
            let same_scheme = attempt.previous().last().is_none_or(|from| from.scheme() == attempt.url().scheme());
            if !same_scheme {
                attempt.error("to another scheme")
            } else if attempt.previous().len() > REDIRECTS_MAX {
                attempt.error("too many times")
            } else {
                attempt.follow()
            }
        });
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(redirects)
            .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| HttpError::Request(error.to_string()))?;
        Ok(Self { client, clock, span: Span::default() })
    }

    /// Returns the client for an action. The spans of its requests are inside of `span`.
    pub(crate) fn within(&self, span: Span) -> Self {
        Self { span, ..self.clone() }
    }

    /// Creates a GET request.
    pub fn get(&self, url: &str) -> Request {
        self.request(Method::GET, url)
    }

    /// Creates a POST request. It is not retried unless [`Request::repeatable`] is set.
    pub fn post(&self, url: &str) -> Request {
        self.request(Method::POST, url)
    }

    /// Creates a PUT request.
    pub fn put(&self, url: &str) -> Request {
        self.request(Method::PUT, url)
    }

    /// Creates a DELETE request.
    pub fn delete(&self, url: &str) -> Request {
        self.request(Method::DELETE, url)
    }

    /// Creates a request with any method.
    pub fn request(&self, method: Method, url: &str) -> Request {
        let repeatable = method.is_idempotent();
        Request {
            http: self.clone(),
            method,
            url: parse(url),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            timeout: TIMEOUT,
            body_bytes_max: BODY_BYTES_MAX,
            retries: RETRIES,
            repeatable,
            mistake: None,
        }
    }
}

fn parse(url: &str) -> Result<Url, HttpError> {
    // The message omits the address, which may contain a secret.
    let url = Url::parse(url).map_err(|error| HttpError::Request(format!("the address: {}", reason(error))))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(HttpError::Request(format!("the scheme {other:?} is not http or https"))),
    }
}

/// A request before it is sent.
#[must_use = "a request is sent by `.send().await`"]
pub struct Request {
    http: Http,
    method: Method,
    url: Result<Url, HttpError>,
    headers: HeaderMap,
    body: Bytes,
    timeout: Duration,
    body_bytes_max: usize,
    retries: u32,
    repeatable: bool,
    mistake: Option<String>,
}

impl Request {
    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => {
                self.headers.append(name, value);
            }
            // The message omits the value, which may be a secret.
            _ => self.mistake = Some(format!("the header {name:?} has characters that cannot be sent")),
        }
        self
    }

    /// Sends `Authorization: Bearer <secret>`.
    pub fn bearer(mut self, secret: &Secret) -> Self {
        match HeaderValue::try_from(format!("Bearer {}", secret.expose())) {
            Ok(mut value) => {
                value.set_sensitive(true);
                self.headers.insert(http::header::AUTHORIZATION, value);
            }
            Err(_) => self.mistake = Some("the secret has characters that no header can hold".to_owned()),
        }
        self
    }

    /// Adds a query parameter to the address.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        if let Ok(url) = &mut self.url {
            url.query_pairs_mut().append_pair(name, value);
        }
        self
    }

    /// Sets the body to this value as JSON.
    pub fn json(self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => self.header("content-type", "application/json").body(body),
            Err(error) => Self { mistake: Some(format!("the body: {error}")), ..self },
        }
    }

    /// Sets the body to these bytes.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the timeout of one attempt; 30 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the maximum size of the response body; 8 MiB by default.
    pub fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.body_bytes_max = bytes;
        self
    }

    /// Sets the maximum number of retries, if it may be sent twice; 2 by default.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Allows retries although its method does not: it has an idempotency key, or only reads.
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Sends the request, and reads the whole response. A response with any status is returned; use [`Reply::success`]
    /// to check it. A transient status (429, 502, …) is returned only after the last retry.
    ///
    /// # Errors
    /// [`HttpError`]; `?` in a function makes it `TIMEOUT` or `PROVIDER_ERROR`.
    pub async fn send(mut self) -> Result<Reply, HttpError> {
        if let Some(mistake) = self.mistake.take() {
            return Err(HttpError::Request(mistake));
        }
        let url = std::mem::replace(&mut self.url, Err(HttpError::Request(String::new())))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut attempt = 0;
        loop {
            let outcome = self.traced(&url, &host, attempt).await;
            tracing::debug!(target: "convoke::outbound", method = %self.method, host, attempt, outcome = %shown(&outcome));
            let wanted = match &outcome {
                Ok(reply) if retry::may_pass(reply.status()) => reply.retry_after(&*self.http.clock),
                Err(HttpError::TimedOut { .. } | HttpError::Unreachable { .. }) => None,
                Ok(_) | Err(_) => return outcome,
            };
            let wanted = wanted.unwrap_or_default();
            if !self.repeatable || attempt == self.retries || wanted > retry::RETRY_AFTER_MAX {
                return outcome;
            }
            tokio::time::sleep(wanted.max(retry::pause(attempt, retry::chance()))).await;
            attempt += 1;
        }
    }

    /// Sends the request once, in a span of its own, which the server may continue.
    async fn traced(&self, url: &Url, host: &str, attempt: u32) -> Result<Reply, HttpError> {
        let span = self.http.span.child(self.method.as_str(), SpanKind::Client);
        let outcome = self.once(url, host, &span).await;
        if span.is_recorded() {
            span.set("http.request.method", self.method.as_str());
            span.set("server.address", host);
            span.set("server.port", u64::from(url.port_or_known_default().unwrap_or_default()));
            if attempt > 0 {
                span.set("http.request.resend_count", u64::from(attempt));
            }
            let failure = match &outcome {
                Ok(reply) => {
                    span.set("http.response.status_code", u64::from(reply.status));
                    let message = || format!("{host} responded with status {}", reply.status);
                    (reply.status >= 400).then(|| Failure { kind: reply.status.to_string().into(), message: message() })
                }
                Err(error) => Some(Failure { kind: error.name().into(), message: error.to_string() }),
            };
            span.end(failure);
        }
        outcome
    }

    async fn once(&self, url: &Url, host: &str, span: &Span) -> Result<Reply, HttpError> {
        let mut headers = self.headers.clone();
        if let Some(context) = span.context()
            && let Entry::Vacant(entry) = headers.entry(TRACEPARENT)
            && let Ok(value) = HeaderValue::try_from(context.to_string())
        {
            entry.insert(value);
        }
        let request = self
            .http
            .client
            .request(self.method.clone(), url.clone())
            .headers(headers)
            .body(self.body.clone())
            .timeout(self.timeout);
        let mut answer = request.send().await.map_err(|error| failure(error, host))?;
        let too_large = || HttpError::TooLarge { host: host.to_owned(), limit: self.body_bytes_max };
        if answer.content_length().is_some_and(|bytes| bytes > self.body_bytes_max as u64) {
            return Err(too_large());
        }
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failure(error, host))? {
            if body.len() + chunk.len() > self.body_bytes_max {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let (status, headers) = (answer.status().as_u16(), std::mem::take(answer.headers_mut()));
        Ok(Reply { host: host.to_owned(), status, headers, body: body.freeze() })
    }
}

fn shown(outcome: &Result<Reply, HttpError>) -> String {
    match outcome {
        Ok(reply) => reply.status.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Converts a failure. The message omits the address, which may contain a secret.
fn failure(error: reqwest::Error, host: &str) -> HttpError {
    let error = error.without_url();
    let (host, cause) = (host.to_owned(), convoke_core::error::chain(&error));
    if error.is_timeout() {
        HttpError::TimedOut { host }
    } else if error.is_redirect() {
        HttpError::Redirect { host, cause }
    } else if error.is_builder() {
        HttpError::Request(cause)
    } else if error.is_decode() {
        HttpError::Answer { host, cause }
    } else {
        HttpError::Unreachable { host, cause }
    }
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct Reply {
    host: String,
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Reply {
    /// Returns the status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns a header, if it is present and text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the body.
    pub fn bytes(&self) -> &Bytes {
        &self.body
    }

    /// Returns the body as text. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Decodes the body as JSON.
    ///
    /// # Errors
    /// [`HttpError::Answer`] if it is not a value of this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| HttpError::Answer { host: self.host.clone(), cause: error.to_string() })
    }

    /// Returns the response if its status is 2xx.
    ///
    /// # Errors
    /// [`HttpError::Status`].
    pub fn success(self) -> Result<Self, HttpError> {
        match self.status {
            200..=299 => Ok(self),
            status => Err(HttpError::Status { host: self.host, status }),
        }
    }

    /// Returns the time for which the server asks clients to wait.
    pub fn retry_after(&self, clock: &dyn Clock) -> Option<Duration> {
        retry::retry_after(self.header("retry-after")?, clock.now())
    }
}
