//! Authentication: from an `Authorization` header to a caller or a rejection.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::bearer::{self, BearerTokens};
use super::deploy_key::{DeployKeys, KeyProof, NoDeployKeys, Scope};
use super::environment::Environment;
use super::error::AuthError;
use super::header::{self, Credentials};
use super::provider::{AuthConfig, ConfigError};
use convoke_core::clock::Clock;
use convoke_core::identity::{Caller, Identity};
use convoke_core::limits::Limits;

/// Authenticates callers. Cheap to clone; clones share all state.
#[derive(Clone)]
pub struct Authenticator {
    config: Arc<AuthConfig>,
    bearer: Arc<BearerTokens>,
    deploy_keys: Arc<dyn DeployKeys>,
    clock: Arc<dyn Clock>,
    /// Tasks that refresh the keys. They end when the last clone is dropped.
    tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Authenticator {
    /// Creates an authenticator. It fetches nothing before [`Authenticator::start`] or the first call.
    ///
    /// `http` fetches the keys; [`super::key_source::http_client`] returns a builder for a suitable client.
    ///
    /// # Errors
    /// The first invalid setting. The message says what to write instead.
    pub fn new(
        config: AuthConfig,
        clock: Arc<dyn Clock>,
        limits: &Limits,
        http: reqwest::Client,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let bearer = BearerTokens::new(&config, Arc::clone(&clock), limits, http)?;
        Ok(Self {
            config: Arc::new(config),
            bearer: Arc::new(bearer),
            deploy_keys: Arc::new(NoDeployKeys),
            clock,
            tasks: Arc::default(),
        })
    }

    /// Adds a table of deploy keys. Without a table, every deploy key is rejected.
    #[must_use]
    pub fn with_deploy_keys(self, deploy_keys: Arc<dyn DeployKeys>) -> Self {
        Self { deploy_keys, ..self }
    }

    /// Starts to fetch and refresh the keys of all providers in the background. Does not wait for them.
    pub async fn start(&self) {
        let mut tasks = self.tasks.lock();
        for keys in self.bearer.keys() {
            tasks.spawn(keys.clone().keep_current());
        }
    }

    /// Returns the caller of this header if the token cache has its bearer token. Does not wait. On a miss, call
    /// [`Authenticator::authenticate`].
    pub fn cached(&self, authorization: &[u8]) -> Option<Caller> {
        self.bearer.cached(header::bearer_token(authorization)?).map(Caller::User)
    }

    /// Returns the caller of this header; without a header, [`Caller::No one`]. The HTTP layer rejects requests with
    /// more than one header.
    ///
    /// # Errors
    /// The reason why the credentials are rejected.
    pub async fn authenticate(&self, authorization: Option<&[u8]>) -> Result<Caller, AuthError> {
        let Some(value) = authorization else { return Ok(Caller::Nobody) };
        match Credentials::parse(value, &self.config.deploy_key_schemes)? {
            Credentials::Bearer(token) => match self.bearer.cached(token.as_bytes()) {
                Some(identity) => Ok(Caller::User(identity)),
                None => self.bearer.verify(token).await.map(Caller::User),
            },
            Credentials::DeployKey { scheme, key } => {
                let now = self.clock.now();
                let accepted = super::deploy_key::accept(key, self.config.environment, &*self.deploy_keys, now);
                accepted
                    .map(|caller| Caller::DeployKey(Arc::new(caller)))
                    .map_err(|refusal| AuthError::of_deploy_key(scheme, refusal))
            }
        }
    }

    /// Returns the proof of the deploy key in a header, for later checks of the key. Returns `None` for other
    /// credentials.
    pub fn key_proof(&self, authorization: &[u8]) -> Option<KeyProof> {
        match Credentials::parse(authorization, &self.config.deploy_key_schemes) {
            Ok(Credentials::DeployKey { key, .. }) => KeyProof::of(key).ok(),
            Ok(Credentials::Bearer(_)) | Err(_) => None,
        }
    }

    /// Returns the caller of a deploy key that was presented earlier. `acting_as` is the user that it acts as.
    ///
    /// # Errors
    /// The reason why the key is no longer accepted.
    pub fn accept_proof(&self, proof: &KeyProof, acting_as: Option<Identity>) -> Result<Caller, AuthError> {
        let accepted = proof.accept(self.config.environment, &*self.deploy_keys, self.clock.now(), || Ok(acting_as));
        let accepted = accepted.map(|caller| Caller::DeployKey(Arc::new(caller)));
        accepted.map_err(|refusal| AuthError::of_deploy_key(self.config.deploy_key_schemes.first(), refusal))
    }

    /// Returns the counters of bearer tokens and the number of cached tokens.
    pub fn stats(&self) -> (&bearer::Stats, usize) {
        (self.bearer.stats(), self.bearer.cached_count())
    }

    /// Returns the issuer of users that are named without one: the first provider's, else the development issuer.
    pub fn default_issuer(&self) -> &str {
        self.config.providers.first().map_or(super::development::ISSUER, |provider| &provider.issuer)
    }

    /// Returns the deployment.
    pub fn environment(&self) -> Environment {
        self.config.environment
    }

    /// Returns the rejection of the valid key in this header, which lacks `scope`.
    pub fn insufficient(&self, authorization: &[u8], scope: Scope) -> AuthError {
        let scheme = match Credentials::parse(authorization, &self.config.deploy_key_schemes) {
            Ok(Credentials::DeployKey { scheme, .. }) => scheme,
            Ok(Credentials::Bearer(_)) | Err(_) => self.config.deploy_key_schemes.first(),
        };
        AuthError::InsufficientScope { scheme: scheme.into(), scope }
    }

    /// Returns the scheme of deploy keys in challenges.
    pub(crate) fn deploy_key_scheme(&self) -> &str {
        self.config.deploy_key_schemes.first()
    }

    /// Returns the rejection of a request that needs a deploy key.
    pub fn deploy_key_required(&self) -> AuthError {
        AuthError::DeployKeyRequired { scheme: self.config.deploy_key_schemes.first().into() }
    }

    /// Returns true if there are providers, but the keys of none were ever fetched: no user can be authenticated.
    pub fn has_no_keys(&self) -> bool {
        self.bearer.has_no_keys()
    }

    /// Returns the issuers whose keys were never fetched, for the log and the metrics.
    pub fn issuers_without_keys(&self) -> Vec<&str> {
        self.bearer.without_keys()
    }
}
