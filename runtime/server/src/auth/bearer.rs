//! From a bearer token to an identity: selects the provider and the key, then checks the claims.
//!
//! Only this module defines the order of these steps. Each step has a module of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use super::claims;
use super::error::AuthError;
use super::key_set::VerifyingKey;
use super::key_source::{Fetcher, differ_by_slash};
use super::keys::Keys;
use super::provider::{AuthConfig, ConfigError, ProviderConfig};
use super::token::{TokenError, Unverified};
use super::token_cache::TokenCache;
use convoke_core::clock::Clock;
use convoke_core::clock::Millis;
use convoke_core::identity::Identity;
use convoke_core::limits::Limits;

/// Verifies the tokens of all configured providers.
pub struct BearerTokens {
    providers: HashMap<String, Provider>,
    cache: TokenCache,
    clock: Arc<dyn Clock>,
    limits: Limits,
    stats: Stats,
    /// Time of the last log line about an issuer that differs by a slash, in milliseconds; 0 = never.
    slash_logged: AtomicI64,
}

/// Shortest time between two log lines about an issuer that differs by a slash.
const SLASH_LOG_INTERVAL_MS: i64 = 60_000;

/// Counters of tokens, for metrics.
#[derive(Debug, Default)]
pub struct Stats {
    /// Cache hits.
    pub hits: AtomicU64,
    /// Tokens that were verified and accepted.
    pub accepted: AtomicU64,
    /// Rejected tokens.
    pub refused: AtomicU64,
}

struct Provider {
    config: ProviderConfig,
    keys: Keys,
}

impl BearerTokens {
    /// Creates a verifier for the providers of `config`. Reads key files, but fetches nothing.
    ///
    /// # Errors
    /// An invalid setting of a provider.
    pub fn new(
        config: &AuthConfig,
        clock: Arc<dyn Clock>,
        limits: &Limits,
        http: reqwest::Client,
    ) -> Result<Self, ConfigError> {
        // If the program links two cryptography backends, the library needs an explicit choice. The call fails only if
        // an earlier call made the choice.
        let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
        let mut providers = HashMap::new();
        for provider in &config.providers {
            let issuer = provider.issuer.clone();
            let fetcher = Fetcher::new(provider, config.environment, limits, http.clone())?;
            let at_hand = fetcher
                .at_hand()
                .map_err(|error| ConfigError::Keys { issuer: issuer.clone(), reason: error.to_string() })?;
            let keys = Keys::new(&issuer, fetcher, at_hand, Arc::clone(&clock), limits);
            providers.insert(issuer, Provider { config: provider.clone(), keys });
        }
        Ok(Self {
            providers,
            cache: TokenCache::new(limits),
            clock,
            limits: limits.clone(),
            stats: Stats::default(),
            slash_logged: AtomicI64::new(0),
        })
    }

    /// Returns the keys of all providers.
    pub fn keys(&self) -> impl Iterator<Item = &Keys> {
        self.providers.values().map(|provider| &provider.keys)
    }

    /// Returns the issuers whose keys were never fetched: their users cannot be authenticated yet.
    pub fn without_keys(&self) -> Vec<&str> {
        let without = self.providers.iter().filter(|(_, provider)| provider.keys.current().is_none());
        without.map(|(issuer, _)| issuer.as_str()).collect()
    }

    /// Returns true if there are providers, but none has keys.
    pub fn has_no_keys(&self) -> bool {
        !self.providers.is_empty() && self.providers.iter().all(|(_, provider)| provider.keys.current().is_none())
    }

    /// Returns the identity of a cached token.
    pub fn cached(&self, token: &[u8]) -> Option<Arc<Identity>> {
        self.cache.get(token, self.clock.now()).inspect(|_| {
            self.stats.hits.fetch_add(1, Relaxed);
        })
    }

    /// Returns the counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns the number of cached tokens.
    pub fn cached_count(&self) -> usize {
        self.cache.len()
    }

    /// Verifies a token and returns its identity. Waits only if the signing key is not known.
    ///
    /// # Errors
    /// The first failed check; [`AuthError::KeysUnreachable`] if the provider's keys were never fetched.
    pub async fn verify(&self, token: &str) -> Result<Arc<Identity>, AuthError> {
        let verified = self.check(token).await;
        let counter = if verified.is_ok() { &self.stats.accepted } else { &self.stats.refused };
        counter.fetch_add(1, Relaxed);
        verified
    }

    async fn check(&self, token: &str) -> Result<Arc<Identity>, AuthError> {
        let unverified = Unverified::parse(token, self.limits.token_bytes_max)?;
        let provider = self.providers.get(&unverified.issuer).ok_or_else(|| {
            self.log_unknown_issuer(&unverified.issuer);
            TokenError::Issuer
        })?;
        if !provider.config.algorithms.contains(&unverified.algorithm) {
            return Err(TokenError::Algorithm.into());
        }
        let key = provider.signing_key(&unverified).await?;
        let leeway = self.limits.token_leeway;
        let (times, claims) = unverified.accept(&provider.config, self.clock.now(), leeway)?;
        let identity = Arc::new(claims::identity(&provider.config, times, claims)?);
        let until = Millis(times.expires_at) + leeway;
        self.cache.insert(token.as_bytes(), key, Arc::clone(&identity), until);
        Ok(identity)
    }
}

impl BearerTokens {
    /// Logs, at most once per minute, an issuer that differs from a configured issuer only by a slash at the end.
    fn log_unknown_issuer(&self, issuer: &str) {
        let Some(configured) = self.providers.keys().find(|known| differ_by_slash(known, issuer)) else { return };
        let now = self.clock.now().0;
        let before = self.slash_logged.load(Relaxed);
        if before == 0 || now - before >= SLASH_LOG_INTERVAL_MS {
            self.slash_logged.store(now, Relaxed);
            tracing::warn!(
                token_issuer = issuer,
                configured_issuer = configured,
                "tokens are rejected: their issuer and the configured one differ by the slash at the end"
            );
        }
    }
}

impl Provider {
    /// Returns the key that signed the token. If no known key did, fetches the keys again, at most once per interval.
    async fn signing_key(&self, token: &Unverified<'_>) -> Result<Arc<VerifyingKey>, AuthError> {
        if let Some(keys) = self.keys.current() {
            match token.signed_by(&keys) {
                Err(TokenError::KeyNotKnown) => {}
                // Without a key id, a new key is noticed only by a signature that no known key made.
                Err(TokenError::Signature) if token.key_id.is_none() => {}
                known => return Ok(known?),
            }
        }
        self.keys.refresh().await;
        match self.keys.current() {
            Some(keys) => Ok(token.signed_by(&keys)?),
            None => Err(AuthError::KeysUnreachable { retry_after: self.keys.retry_after() }),
        }
    }
}
