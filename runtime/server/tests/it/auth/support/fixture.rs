//! An authenticator with one provider whose keys a local server lists.

use std::sync::Arc;
use std::time::Duration;

use convoke::embed::Limits;
use convoke::{Caller, Identity};
use convoke_server::auth::{AuthConfig, AuthError, Authenticator, Environment, KeySource, ProviderConfig};
use serde_json::{Value, json};

use super::{KeyServer, Signer, TestClock};

pub(crate) const ISSUER: &str = "https://id.example";
pub(crate) const AUDIENCE: &str = "api";
/// Start of the clocks, in seconds.
pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) struct Fixture {
    pub auth: Authenticator,
    pub clock: Arc<TestClock>,
}

impl Fixture {
    /// With the default limits and this provider.
    pub(crate) fn new(provider: ProviderConfig) -> Self {
        Self::with(vec![provider], &Limits::default())
    }

    /// With the keys that the server lists at `/jwks`.
    pub(crate) fn of(server: &KeyServer) -> Self {
        Self::new(provider(server))
    }

    pub(crate) fn with(providers: Vec<ProviderConfig>, limits: &Limits) -> Self {
        let clock = Arc::new(TestClock::at(NOW));
        let config = AuthConfig { providers, environment: Environment::Production, ..AuthConfig::default() };
        let auth = Authenticator::new(config, clock.clone(), limits, http()).unwrap();
        Self { auth, clock }
    }

    pub(crate) async fn authenticate(&self, token: &str) -> Result<Arc<Identity>, AuthError> {
        match self.auth.authenticate(Some(format!("Bearer {token}").as_bytes())).await? {
            Caller::User(identity) => Ok(identity),
            other => panic!("not a user: {other:?}"),
        }
    }

    pub(crate) fn cached(&self, token: &str) -> Option<Arc<Identity>> {
        let caller = self.auth.cached(format!("Bearer {token}").as_bytes())?;
        Some(caller.identity().unwrap().clone())
    }
}

/// The provider whose keys the server lists at `/jwks`.
pub(crate) fn provider(server: &KeyServer) -> ProviderConfig {
    ProviderConfig { keys: KeySource::Url(server.url("/jwks")), ..ProviderConfig::new(ISSUER, AUDIENCE) }
}

/// As the server's own client, but a proxy of the machine that runs the tests has no part in it.
pub(crate) fn http() -> reqwest::Client {
    convoke_server::auth::key_source::http_client().no_proxy().build().unwrap()
}

/// Claims of a token that is accepted for an hour.
pub(crate) fn claims() -> Value {
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": NOW, "exp": NOW + 3600})
}

/// The refusal's sentence, after a look at the rest of a 401.
pub(crate) fn message<T: std::fmt::Debug>(result: Result<T, AuthError>) -> String {
    let error = result.unwrap_err();
    assert_eq!((error.status(), error.code().as_str()), (401, "INVALID_CREDENTIALS"), "{error}");
    assert!(error.challenge().unwrap().contains(&error.to_string()), "{:?}", error.challenge());
    error.to_string()
}

/// Waits until it holds; what happens in the background has no other sign.
pub(crate) async fn eventually(mut holds: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not come to hold within a minute");
}

/// A token of `signer` for everybody.
impl Signer {
    pub(crate) fn good(&self) -> String {
        self.token(&claims())
    }

    /// A token that no test has shown before.
    pub(crate) fn fresh(&self, number: usize) -> String {
        let mut claims = claims();
        claims["jti"] = json!(number);
        self.token(&claims)
    }
}
