//! Deploy keys through the same door.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use convoke::embed::Limits;
use convoke::{Caller, Millis};
use convoke_server::auth::deploy_key::{DeployKeys, NewKey, Scope, StoredKey, mint};
use convoke_server::auth::schemes::Schemes;
use convoke_server::auth::{AuthConfig, Authenticator, ConfigError, Environment};

use super::support::{NOW, TestClock, http, message};

#[derive(Default)]
struct Table {
    keys: Mutex<HashMap<String, StoredKey>>,
    used: Mutex<Vec<(String, Millis)>>,
}

impl DeployKeys for Table {
    fn find(&self, name: &str) -> Option<StoredKey> {
        self.keys.lock().unwrap().get(name).cloned()
    }

    fn used(&self, name: &str, at: Millis) {
        self.used.lock().unwrap().push((name.to_owned(), at));
    }
}

fn setup(scopes: &[Scope]) -> (Authenticator, Arc<Table>, NewKey) {
    let (key, stored) = mint(Environment::Staging, "ci", scopes, None).unwrap();
    let table = Arc::new(Table::default());
    table.keys.lock().unwrap().insert("ci".into(), stored);
    let config = AuthConfig { environment: Environment::Staging, ..AuthConfig::default() };
    let auth = Authenticator::new(config, Arc::new(TestClock::at(NOW)), &Limits::default(), http()).unwrap();
    (auth.with_deploy_keys(table.clone()), table, key)
}

#[tokio::test]
async fn deploy_key_is_accepted_under_both_keywords_in_any_case() {
    let (auth, table, key) = setup(&[Scope::Functions]);
    for scheme in ["Convoke", "convoke", "Convex", "CONVEX"] {
        let value = format!("{scheme} {}", key.reveal());
        let Ok(Caller::DeployKey(caller)) = auth.authenticate(Some(value.as_bytes())).await else { panic!("{scheme}") };
        assert_eq!((caller.name.as_str(), &caller.scopes[..]), ("ci", &["functions".to_owned()][..]));
        assert!(auth.cached(value.as_bytes()).is_none(), "a deploy key is asked for at every call");
    }
    assert_eq!(table.used.lock().unwrap().len(), 4);
    assert_eq!(table.used.lock().unwrap()[0], ("ci".to_owned(), Millis(NOW * 1000)));
}

#[tokio::test]
async fn deploy_key_is_not_a_bearer_token() {
    let (auth, _, key) = setup(&[]);
    let value = format!("Bearer {}", key.reveal());
    assert_eq!(message(auth.authenticate(Some(value.as_bytes())).await), "token is not a signed JWT");
}

#[tokio::test]
async fn revoked_deploy_key_is_rejected_with_a_challenge() {
    let (auth, table, key) = setup(&[]);
    let value = format!("convex {}", key.reveal());
    auth.authenticate(Some(value.as_bytes())).await.unwrap();
    table.keys.lock().unwrap().get_mut("ci").unwrap().revoked = true;
    let error = auth.authenticate(Some(value.as_bytes())).await.unwrap_err();
    assert_eq!(error.status(), 401);
    let challenge = r#"Convex realm="convoke", error="invalid_token", error_description="deploy key was revoked""#;
    assert_eq!(error.challenge().as_deref(), Some(challenge));
    assert_eq!(table.used.lock().unwrap().len(), 1, "a refusal is no use");
}

#[tokio::test]
async fn acting_as_a_user_needs_the_scope() {
    let user = STANDARD.encode(r#"{"issuer":"https://id.example","subject":"ada"}"#);
    let (auth, _, key) = setup(&[Scope::Functions]);
    let value = format!("Convoke {}:{user}", key.reveal());
    let error = auth.authenticate(Some(value.as_bytes())).await.unwrap_err();
    assert_eq!((error.status(), error.code().as_str()), (403, "INSUFFICIENT_SCOPE"));
    assert_eq!(error.to_string(), "deploy key lacks the scope `act-as`");

    let (auth, _, key) = setup(&[Scope::ActAs]);
    let value = format!("Convoke {}:{user}", key.reveal());
    let caller = auth.authenticate(Some(value.as_bytes())).await.unwrap();
    assert_eq!(caller.identity().unwrap().token_identifier(), "https://id.example|ada");
    assert!(caller.deploy_key().is_some());
}

#[tokio::test]
async fn deploy_keys_need_a_table_and_a_keyword() {
    let (_, _, key) = setup(&[]);
    let value = format!("Convoke {}", key.reveal());
    let auth = |config: AuthConfig| {
        Authenticator::new(config, Arc::new(TestClock::at(NOW)), &Limits::default(), http()).unwrap()
    };
    let staging = AuthConfig { environment: Environment::Staging, ..AuthConfig::default() };
    let refusal = auth(staging.clone()).authenticate(Some(value.as_bytes())).await.unwrap_err();
    assert_eq!(refusal.to_string(), "deploy key not accepted");
    let production = AuthConfig { environment: Environment::Production, ..AuthConfig::default() };
    let refusal = auth(production).authenticate(Some(value.as_bytes())).await.unwrap_err();
    assert_eq!(refusal.to_string(), "deploy key is of another environment");
    let none = AuthConfig { deploy_key_schemes: Schemes::new([""; 0]), ..staging };
    let refusal = auth(none).authenticate(Some(value.as_bytes())).await.unwrap_err();
    assert_eq!(refusal.to_string(), "Authorization scheme not supported: expected `Bearer <token>`");
}

#[test]
fn keyword_that_hides_bearer_tokens_is_rejected() {
    let config = AuthConfig { deploy_key_schemes: Schemes::new(["BEARER"]), ..AuthConfig::default() };
    let new = Authenticator::new(config, Arc::new(TestClock::at(NOW)), &Limits::default(), http());
    assert!(matches!(new.map(|_| ()), Err(ConfigError::Scheme { .. })));
}
