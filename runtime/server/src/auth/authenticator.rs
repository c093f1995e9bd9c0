//! The door: an `Authorization` header in, a caller or a refusal out.

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

/// Tells who calls. Cheap to clone; the clones share their memory.
#[derive(Clone)]
pub struct Authenticator {
    config: Arc<AuthConfig>,
    bearer: Arc<BearerTokens>,
    deploy_keys: Arc<dyn DeployKeys>,
    clock: Arc<dyn Clock>,
    /// Keep the keys current; they end with the last clone.
    tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Authenticator {
    /// An authenticator by these settings. Nothing is fetched before [`Authenticator::start`] or the first call.
    ///
    /// `http` asks the key servers; [`super::key_source::http_client`] begins a fit one.
    ///
    /// # Errors
    /// The first setting that cannot work, with what to write instead.
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

    /// The same with a table of deploy keys; without one, every deploy key is refused.
    #[must_use]
    pub fn with_deploy_keys(self, deploy_keys: Arc<dyn DeployKeys>) -> Self {
        Self { deploy_keys, ..self }
    }

    /// Begins to fetch all providers' keys in the background, and keeps them current. Does not wait for them.
    pub async fn start(&self) {
        let mut tasks = self.tasks.lock();
        for keys in self.bearer.keys() {
            tasks.spawn(keys.clone().keep_current());
        }
    }

    /// Who calls with this header, if it is a bearer token that was verified before: without waiting, for the way that
    /// most calls take. `None` says nothing; then ask [`Authenticator::authenticate`].
    pub fn remembered(&self, authorization: &[u8]) -> Option<Caller> {
        self.bearer.remembered(header::bearer_token(authorization)?).map(Caller::User)
    }

    /// Who calls with this header; without a header, [`Caller::Nobody`]. More than one header is the HTTP layer's to
    /// refuse.
    ///
    /// # Errors
    /// Why the credentials are not accepted.
    pub async fn authenticate(&self, authorization: Option<&[u8]>) -> Result<Caller, AuthError> {
        let Some(value) = authorization else { return Ok(Caller::Nobody) };
        match Credentials::parse(value, &self.config.deploy_key_schemes)? {
            Credentials::Bearer(token) => match self.bearer.remembered(token.as_bytes()) {
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

    /// What is kept of the deploy key in a header, to ask later whether it is still accepted; none for anything else.
    pub fn key_proof(&self, authorization: &[u8]) -> Option<KeyProof> {
        match Credentials::parse(authorization, &self.config.deploy_key_schemes) {
            Ok(Credentials::DeployKey { key, .. }) => KeyProof::of(key).ok(),
            Ok(Credentials::Bearer(_)) | Err(_) => None,
        }
    }

    /// Who calls with a deploy key that was shown before, as this user if one is named.
    ///
    /// # Errors
    /// Why it is not accepted any more.
    pub fn accept_proof(&self, proof: &KeyProof, acting_as: Option<Identity>) -> Result<Caller, AuthError> {
        let accepted = proof.accept(self.config.environment, &*self.deploy_keys, self.clock.now(), || Ok(acting_as));
        let accepted = accepted.map(|caller| Caller::DeployKey(Arc::new(caller)));
        accepted.map_err(|refusal| AuthError::of_deploy_key(self.config.deploy_key_schemes.first(), refusal))
    }

    /// What was counted of bearer tokens, and how many of them are remembered.
    pub fn stats(&self) -> (&bearer::Stats, usize) {
        (self.bearer.stats(), self.bearer.remembered_count())
    }

    /// The issuer of a user that is named without one: the first provider's, else the development issuer.
    pub fn default_issuer(&self) -> &str {
        self.config.providers.first().map_or(super::development::ISSUER, |provider| &provider.issuer)
    }

    /// Which deployment this is.
    pub fn environment(&self) -> Environment {
        self.config.environment
    }

    /// The refusal of a good key that was sent in this header and lacks `scope`.
    pub fn insufficient(&self, authorization: &[u8], scope: Scope) -> AuthError {
        let scheme = match Credentials::parse(authorization, &self.config.deploy_key_schemes) {
            Ok(Credentials::DeployKey { scheme, .. }) => scheme,
            Ok(Credentials::Bearer(_)) | Err(_) => self.config.deploy_key_schemes.first(),
        };
        AuthError::InsufficientScope { scheme: scheme.into(), scope }
    }

    /// The keyword before a deploy key, as challenges name it.
    pub(crate) fn deploy_key_scheme(&self) -> &str {
        self.config.deploy_key_schemes.first()
    }

    /// The refusal of a request that only a deploy key may make.
    pub fn deploy_key_required(&self) -> AuthError {
        AuthError::DeployKeyRequired { scheme: self.config.deploy_key_schemes.first().into() }
    }

    /// Whether there are providers and the keys of none of them were ever fetched: no user can be let in.
    pub fn has_no_keys(&self) -> bool {
        self.bearer.has_no_keys()
    }

    /// The issuers whose keys were never fetched, for the log and the metrics.
    pub fn issuers_without_keys(&self) -> Vec<&str> {
        self.bearer.without_keys()
    }
}
