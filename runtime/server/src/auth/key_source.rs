//! Fetches a provider's key set: from its discovery document, an address, a file, or the settings themselves.
//!
//! Every fetch is limited in bytes and time. Outside loopback and development, only https is trusted. `keys` decides
//! when to fetch.

use std::io::Read as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{StatusCode, Url};
use serde::Deserialize;

use super::environment::Environment;
use super::key_set::{KeySet, KeySetError};
use super::provider::{Algorithm, ConfigError, KeySource, ProviderConfig};
use convoke_core::limits::Limits;

/// Fetches the keys of one provider from a checked location.
pub struct Fetcher {
    location: Location,
    transport: Transport,
    reader: KeyReader,
}

enum Location {
    Discovery { document: Url, issuer: String },
    Url(Url),
    File(PathBuf),
    Set(Vec<u8>),
}

struct Transport {
    http: reqwest::Client,
    environment: Environment,
}

/// Parses fetched bytes within limits.
#[derive(Clone)]
struct KeyReader {
    bytes_max: usize,
    keys_max: usize,
    timeout: Duration,
    /// The algorithms that the provider's tokens may have.
    algorithms: Vec<Algorithm>,
}

/// The reason why a fetch failed. For the log; clients do not see it.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The connection failed.
    #[error("the request failed: {0}")]
    Request(String),
    /// A response whose status is not 200.
    #[error("the response was {0}")]
    Status(StatusCode),
    /// A response that exceeds the limit.
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    /// No response in time.
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// An address that is not trusted.
    #[error("{0} is not https")]
    Insecure(Url),
    /// An invalid discovery document.
    #[error("the discovery document cannot be read: {0}")]
    Document(#[source] serde_json::Error),
    /// The discovery document of another issuer (OpenID Connect Discovery §4.3).
    #[error(
        "the discovery document has the issuer {named:?}, but {configured:?} is configured; they must be identical{}",
        slash(named, configured)
    )]
    OtherIssuer {
        /// The issuer in the document.
        named: String,
        /// The issuer in the settings.
        configured: String,
    },
    /// An invalid `jwks_uri`.
    #[error("the discovery document's jwks_uri is not an address")]
    NoAddress,
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    File(#[from] std::io::Error),
    /// An invalid key set.
    #[error(transparent)]
    KeySet(#[from] KeySetError),
    /// A set without a usable key. It is treated as a mistake, not as a revocation of all keys, which would lock out
    /// all users.
    #[error("none of its keys can check a token: expected at least one for signatures by {}", names(.0))]
    NoUsableKey(Vec<Algorithm>),
}

/// Returns the likely cause if the two differ only by a slash at the end.
fn slash(named: &str, configured: &str) -> &'static str {
    if differ_by_slash(named, configured) { "; only the slash at the end differs" } else { "" }
}

/// Returns true if two issuers differ only by a slash at the end.
pub(super) fn differ_by_slash(one: &str, other: &str) -> bool {
    one.strip_suffix('/') == Some(other) || other.strip_suffix('/') == Some(one)
}

fn names(algorithms: &[Algorithm]) -> String {
    let names: Vec<_> = algorithms.iter().map(|algorithm| format!("{algorithm:?}")).collect();
    names.join(", ")
}

/// Returns a builder for clients that fetch keys. They follow no redirects, so that https cannot end in http.
pub fn http_client() -> reqwest::ClientBuilder {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none())
}

impl Fetcher {
    /// Creates a fetcher for the keys of `provider`.
    ///
    /// # Errors
    /// An invalid address, or an address that must be https and is not.
    pub fn new(
        provider: &ProviderConfig,
        environment: Environment,
        limits: &Limits,
        http: reqwest::Client,
    ) -> Result<Self, ConfigError> {
        let address = |text: &str| {
            let refused = |address| ConfigError::Address { issuer: provider.issuer.clone(), address };
            let url = Url::parse(text).map_err(|_| refused(text.to_owned()))?;
            if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
                return Err(refused(text.to_owned()));
            }
            if !is_trusted(&url, environment) {
                return Err(ConfigError::Insecure { issuer: provider.issuer.clone(), address: text.to_owned() });
            }
            Ok(url)
        };
        let location = match &provider.keys {
            KeySource::Discovery => {
                let document = format!("{}/.well-known/openid-configuration", provider.issuer.trim_end_matches('/'));
                Location::Discovery { document: address(&document)?, issuer: provider.issuer.clone() }
            }
            KeySource::Url(text) => Location::Url(address(text)?),
            KeySource::File(path) => Location::File(path.clone()),
            KeySource::Set(set) => Location::Set(set.to_string().into_bytes()),
        };
        let reader = KeyReader {
            bytes_max: limits.key_set_bytes_max,
            keys_max: limits.key_set_keys_max,
            timeout: limits.key_fetch_timeout,
            algorithms: provider.algorithms.clone(),
        };
        Ok(Self { location, transport: Transport { http, environment }, reader })
    }

    /// Returns the keys of a file or of the settings, which need no request.
    ///
    /// # Errors
    /// The file or the set has no usable key.
    pub fn at_hand(&self) -> Result<Option<KeySet>, FetchError> {
        match &self.location {
            Location::Discovery { .. } | Location::Url(_) => Ok(None),
            Location::File(path) => self.reader.file(path).map(Some),
            Location::Set(bytes) => self.reader.keys(bytes).map(Some),
        }
    }

    /// Returns true if the keys can change.
    pub fn can_change(&self) -> bool {
        !matches!(self.location, Location::Set(_))
    }

    /// Returns true if the keys are in a file, which can be read far more often than a server.
    pub fn is_file(&self) -> bool {
        matches!(self.location, Location::File(_))
    }

    /// Fetches the current keys.
    ///
    /// # Errors
    /// Any failure, at the latest after the timeout.
    pub async fn fetch(&self) -> Result<KeySet, FetchError> {
        let reader = &self.reader;
        let fetched = async {
            match &self.location {
                Location::Discovery { document, issuer } => {
                    let bytes = self.transport.get(document.clone(), reader.bytes_max).await?;
                    let keys = jwks_uri(&bytes, issuer)?;
                    reader.keys(&self.transport.get(keys, reader.bytes_max).await?)
                }
                Location::Url(url) => reader.keys(&self.transport.get(url.clone(), reader.bytes_max).await?),
                Location::File(path) => {
                    let (path, reader) = (path.clone(), reader.clone());
                    let read = tokio::task::spawn_blocking(move || reader.file(&path)).await;
                    read.map_err(|stopped| FetchError::File(std::io::Error::other(stopped)))?
                }
                Location::Set(bytes) => reader.keys(bytes),
            }
        };
        let timeout = reader.timeout;
        tokio::time::timeout(timeout, fetched).await.unwrap_or(Err(FetchError::Timeout(timeout)))
    }
}

impl Transport {
    async fn get(&self, url: Url, bytes_max: usize) -> Result<Vec<u8>, FetchError> {
        if !is_trusted(&url, self.environment) {
            return Err(FetchError::Insecure(url));
        }
        let failed = |error: reqwest::Error| FetchError::Request(cause(&error.without_url()));
        let request = self.http.get(url).header("accept", "application/json");
        let mut response = request.send().await.map_err(failed)?;
        // A client that follows redirects may have ended elsewhere.
        if !is_trusted(response.url(), self.environment) {
            return Err(FetchError::Insecure(response.url().clone()));
        }
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > bytes_max {
                return Err(FetchError::TooLarge(bytes_max));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Returns the innermost cause, for example "connection refused".
fn cause(error: &reqwest::Error) -> String {
    convoke_core::error::causes(error).last().map(ToString::to_string).unwrap_or_default()
}

fn jwks_uri(document: &[u8], issuer: &str) -> Result<Url, FetchError> {
    #[derive(Deserialize)]
    struct Document {
        issuer: String,
        jwks_uri: String,
    }
    let document: Document = serde_json::from_slice(document).map_err(FetchError::Document)?;
    if document.issuer != issuer {
        return Err(FetchError::OtherIssuer { named: document.issuer, configured: issuer.to_owned() });
    }
    Url::parse(&document.jwks_uri).map_err(|_| FetchError::NoAddress)
}

impl KeyReader {
    fn file(&self, path: &Path) -> Result<KeySet, FetchError> {
        let mut bytes = Vec::new();
        let limit = u64::try_from(self.bytes_max).unwrap_or(u64::MAX);
        std::fs::File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() > self.bytes_max {
            return Err(FetchError::TooLarge(self.bytes_max));
        }
        self.keys(&bytes)
    }

    fn keys(&self, json: &[u8]) -> Result<KeySet, FetchError> {
        let keys = KeySet::parse(json, self.keys_max)?;
        if !keys.iter().any(|key| self.algorithms.contains(&key.algorithm())) {
            return Err(FetchError::NoUsableKey(self.algorithms.clone()));
        }
        Ok(keys)
    }
}

/// Returns true if keys from this address can be trusted: over TLS, from this machine, or in development.
fn is_trusted(url: &Url, environment: Environment) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => environment == Environment::Development || is_loopback(url.host_str().unwrap_or_default()),
        _ => false,
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted(address: &str, environment: Environment) -> bool {
        is_trusted(&Url::parse(address).unwrap(), environment)
    }

    #[test]
    fn plain_http_is_for_this_machine_and_for_development() {
        assert!(trusted("https://id.example/keys", Environment::Production));
        for local in [
            "http://localhost:1/k",
            "http://127.0.0.1/k",
            "http://127.9.9.9/k",
            "http://[::1]:8/k",
            "http://a.localhost/",
        ] {
            assert!(trusted(local, Environment::Production), "{local}");
        }
        for remote in
            ["http://id.example/k", "http://10.0.0.1/k", "http://localhost.example/k", "http://127.0.0.1.example/k"]
        {
            assert!(!trusted(remote, Environment::Production), "{remote}");
            assert!(!trusted(remote, Environment::Staging), "{remote}");
            assert!(trusted(remote, Environment::Development), "{remote}");
        }
        assert!(!trusted("file:///etc/keys", Environment::Development));
    }

    #[test]
    fn discovery_document_must_name_the_configured_issuer() {
        let document = br#"{"issuer":"https://id.example","jwks_uri":"https://id.example/keys","more":1}"#;
        assert_eq!(jwks_uri(document, "https://id.example").unwrap().as_str(), "https://id.example/keys");
        assert_eq!(
            jwks_uri(document, "https://id.example/").unwrap_err().to_string(),
            "the discovery document has the issuer \"https://id.example\", but \"https://id.example/\" is configured; they \
             must be identical; only the slash at the end differs"
        );
        assert!(matches!(jwks_uri(b"{}", "i"), Err(FetchError::Document(_))));
        assert!(matches!(jwks_uri(br#"{"issuer":"i","jwks_uri":"keys"}"#, "i"), Err(FetchError::NoAddress)));
    }

    #[test]
    fn invalid_key_address_is_a_configuration_error() {
        let new = |issuer: &str, keys: KeySource, environment| {
            let provider = ProviderConfig { keys, ..ProviderConfig::new(issuer, "api") };
            Fetcher::new(&provider, environment, &Limits::default(), reqwest::Client::new())
        };
        let production = Environment::Production;
        assert!(new("https://id.example", KeySource::Discovery, production).is_ok());
        assert!(matches!(new("id", KeySource::Discovery, production), Err(ConfigError::Address { .. })));
        assert!(matches!(
            new("http://id.example", KeySource::Discovery, production),
            Err(ConfigError::Insecure { .. })
        ));
        assert!(new("http://id.example", KeySource::Discovery, Environment::Development).is_ok());
        assert!(matches!(new("id", KeySource::Url("ftp://k".into()), production), Err(ConfigError::Address { .. })));
        assert!(new("id", KeySource::Url("https://k.example/jwks".into()), production).is_ok());
    }
}
