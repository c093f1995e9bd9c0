//! Fetching a provider's key set: from its discovery document, an address, a file, or the settings themselves.
//!
//! Every way is bounded in bytes and time, and nothing but https is trusted outside loopback and development. When to
//! fetch is decided in `keys`.

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

/// Where one provider's keys are, checked and ready to be asked.
pub struct Fetcher {
    place: Place,
    transport: Transport,
    reading: Reading,
}

enum Place {
    Discovery { document: Url, issuer: String },
    Url(Url),
    File(PathBuf),
    Set(Vec<u8>),
}

struct Transport {
    http: reqwest::Client,
    environment: Environment,
}

/// What becomes of the bytes that came.
#[derive(Clone)]
struct Reading {
    bytes_max: usize,
    keys_max: usize,
    timeout: Duration,
    /// Those that the provider's tokens may have.
    algorithms: Vec<Algorithm>,
}

/// Why a fetch brought no keys. For the log: no client sees it.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The connection failed.
    #[error("the request failed: {0}")]
    Request(String),
    /// An answer that is not 200.
    #[error("the answer was {0}")]
    Status(StatusCode),
    /// An answer that never ends.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// No answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// An address that must not be asked.
    #[error("{0} is not https")]
    Insecure(Url),
    /// No discovery document.
    #[error("the discovery document cannot be read: {0}")]
    Document(#[source] serde_json::Error),
    /// The discovery document of somebody else (OpenID Connect Discovery §4.3).
    #[error(
        "the discovery document is of issuer {named:?}, and {configured:?} is configured: they must be the same to the letter{}",
        slash(named, configured)
    )]
    OtherIssuer {
        /// The issuer that it names.
        named: String,
        /// The issuer of the settings.
        configured: String,
    },
    /// A `jwks_uri` that is no address.
    #[error("the discovery document's jwks_uri is not an address")]
    NoAddress,
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    File(#[from] std::io::Error),
    /// What came is no key set.
    #[error(transparent)]
    KeySet(#[from] KeySetError),
    /// A set with which no token could be accepted. It is taken for a mistake and not for a revocation of all keys: it
    /// would lock everybody out.
    #[error("none of its keys can check a token: expected at least one for signatures by {}", names(.0))]
    NoUsableKey(Vec<Algorithm>),
}

/// The likely cause, where the two differ by a slash at the end only.
fn slash(named: &str, configured: &str) -> &'static str {
    if differ_by_slash(named, configured) { "; only the slash at the end differs" } else { "" }
}

/// True if one of two issuers is the other one with a slash at its end.
pub(super) fn differ_by_slash(one: &str, other: &str) -> bool {
    one.strip_suffix('/') == Some(other) || other.strip_suffix('/') == Some(one)
}

fn names(algorithms: &[Algorithm]) -> String {
    let names: Vec<_> = algorithms.iter().map(|algorithm| format!("{algorithm:?}")).collect();
    names.join(", ")
}

/// The beginnings of a client fit for asking key servers: it follows no redirect, so that https cannot end in http.
pub fn http_client() -> reqwest::ClientBuilder {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none())
}

impl Fetcher {
    /// Where `provider` says its keys are.
    ///
    /// # Errors
    /// An address that is none or that is not https where it must be.
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
        let place = match &provider.keys {
            KeySource::Discovery => {
                let document = format!("{}/.well-known/openid-configuration", provider.issuer.trim_end_matches('/'));
                Place::Discovery { document: address(&document)?, issuer: provider.issuer.clone() }
            }
            KeySource::Url(text) => Place::Url(address(text)?),
            KeySource::File(path) => Place::File(path.clone()),
            KeySource::Set(set) => Place::Set(set.to_string().into_bytes()),
        };
        let reading = Reading {
            bytes_max: limits.key_set_bytes_max,
            keys_max: limits.key_set_keys_max,
            timeout: limits.key_fetch_timeout,
            algorithms: provider.algorithms.clone(),
        };
        Ok(Self { place, transport: Transport { http, environment }, reading })
    }

    /// The keys that need no waiting: those of a file and those in the settings.
    ///
    /// # Errors
    /// When there is a file or set, and it holds no key that can be used.
    pub fn at_hand(&self) -> Result<Option<KeySet>, FetchError> {
        match &self.place {
            Place::Discovery { .. } | Place::Url(_) => Ok(None),
            Place::File(path) => self.reading.file(path).map(Some),
            Place::Set(bytes) => self.reading.keys(bytes).map(Some),
        }
    }

    /// Whether the keys can be other ones later.
    pub fn can_change(&self) -> bool {
        !matches!(self.place, Place::Set(_))
    }

    /// Whether the keys are in a file, which can be looked at far more often than a server can be asked.
    pub fn is_file(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// Fetches the keys as they are now.
    ///
    /// # Errors
    /// Whatever went wrong on the way, after the time limit at the latest.
    pub async fn fetch(&self) -> Result<KeySet, FetchError> {
        let reading = &self.reading;
        let fetched = async {
            match &self.place {
                Place::Discovery { document, issuer } => {
                    let bytes = self.transport.get(document.clone(), reading.bytes_max).await?;
                    let keys = jwks_uri(&bytes, issuer)?;
                    reading.keys(&self.transport.get(keys, reading.bytes_max).await?)
                }
                Place::Url(url) => reading.keys(&self.transport.get(url.clone(), reading.bytes_max).await?),
                Place::File(path) => {
                    let (path, reading) = (path.clone(), reading.clone());
                    let read = tokio::task::spawn_blocking(move || reading.file(&path)).await;
                    read.map_err(|stopped| FetchError::File(std::io::Error::other(stopped)))?
                }
                Place::Set(bytes) => reading.keys(bytes),
            }
        };
        let timeout = reading.timeout;
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

/// The innermost cause, which is where "connection refused" stands.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
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

impl Reading {
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

/// Whether keys from this address can be believed: over TLS, or from this machine, or where nothing is at stake.
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
    fn a_discovery_document_must_name_the_issuer_that_was_asked() {
        let document = br#"{"issuer":"https://id.example","jwks_uri":"https://id.example/keys","more":1}"#;
        assert_eq!(jwks_uri(document, "https://id.example").unwrap().as_str(), "https://id.example/keys");
        assert_eq!(
            jwks_uri(document, "https://id.example/").unwrap_err().to_string(),
            "the discovery document is of issuer \"https://id.example\", and \"https://id.example/\" is configured: they \
             must be the same to the letter; only the slash at the end differs"
        );
        assert!(matches!(jwks_uri(b"{}", "i"), Err(FetchError::Document(_))));
        assert!(matches!(jwks_uri(br#"{"issuer":"i","jwks_uri":"keys"}"#, "i"), Err(FetchError::NoAddress)));
    }

    #[test]
    fn an_address_that_cannot_be_asked_is_a_setting_at_fault() {
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
