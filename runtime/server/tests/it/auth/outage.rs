//! A key server that fails: known keys go on, never-fetched ones are 503.

use std::time::Duration;

use convoke::embed::Limits;
use convoke_server::auth::{KeySource, ProviderConfig};
use serde_json::json;

use super::support::{AUDIENCE, Fixture, ISSUER, KeyServer, Reply, Signer, eventually, message, provider};

#[tokio::test]
async fn outage_keeps_the_fetched_keys() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    let limits = Limits { key_refresh_interval: Duration::from_millis(10), ..Limits::default() };
    let fixture = Fixture::with(vec![provider(&server)], &limits);
    fixture.auth.start().await;
    let token = signer.good();
    fixture.authenticate(&token).await.unwrap();

    for reply in [Reply::status(503), Reply { status: 200, headers: String::new(), body: "oops".into() }] {
        server.reply("/jwks", reply);
        let before = server.hits("/jwks");
        eventually(|| server.hits("/jwks") > before).await;
        fixture.clock.advance(60);
        let unknown = Signer::es256("unknown").good();
        assert_eq!(message(fixture.authenticate(&unknown).await), "signing key not known");
        assert!(fixture.cached(&token).is_some());
        fixture.authenticate(&signer.fresh(before)).await.unwrap();
    }
}

#[tokio::test]
async fn missing_keys_are_503_with_a_retry_time() {
    let signer = Signer::es256("k");
    let server = KeyServer::start().await;
    server.reply("/jwks", Reply::status(500));
    let fixture = Fixture::of(&server);
    assert_eq!(fixture.auth.issuers_without_keys(), [ISSUER]);
    for _ in 0..20 {
        let error = fixture.authenticate(&signer.good()).await.unwrap_err();
        assert_eq!((error.status(), error.code().as_str(), error.challenge()), (503, "NOT_READY", None));
        assert!((1..=30).contains(&error.retry_after_seconds().unwrap()), "{error:?}");
    }
    assert_eq!(server.hits("/jwks"), 1);

    server.list(&[&signer]);
    fixture.clock.advance(30);
    fixture.authenticate(&signer.good()).await.unwrap();
    assert_eq!(server.hits("/jwks"), 2);
    assert!(fixture.auth.issuers_without_keys().is_empty());
}

#[tokio::test]
async fn unreachable_key_server_is_503() {
    let server = KeyServer::start().await;
    let provider = provider(&server);
    drop(server);
    let fixture = Fixture::new(provider);
    assert_eq!(fixture.authenticate(&Signer::es256("k").good()).await.unwrap_err().status(), 503);
}

// The time is virtual: it moves only while all tasks wait.
#[tokio::test(start_paused = true)]
async fn silent_key_server_costs_only_the_timeout() {
    let server = KeyServer::start().await;
    server.delay(Duration::from_secs(60));
    let limits = Limits { key_fetch_timeout: Duration::from_millis(50), ..Limits::default() };
    let fixture = Fixture::with(vec![provider(&server)], &limits);
    let token = Signer::es256("k").good();
    let begun = tokio::time::Instant::now();
    assert_eq!(fixture.authenticate(&token).await.unwrap_err().status(), 503);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn failing_provider_does_not_affect_another() {
    let (down, up) = (KeyServer::start().await, Signer::es256("k"));
    let set = KeySource::Set(json!({ "keys": [up.jwk] }));
    let other = ProviderConfig { issuer: "https://down.example".into(), ..provider(&down) };
    let fixture = Fixture::with(
        vec![other, ProviderConfig { keys: set, ..ProviderConfig::new(ISSUER, AUDIENCE) }],
        &Limits::default(),
    );
    fixture.authenticate(&up.good()).await.unwrap();
    assert_eq!(fixture.auth.issuers_without_keys(), ["https://down.example"]);
}

#[tokio::test]
async fn background_fetch_recovers_after_a_failed_start() {
    let signer = Signer::es256("k");
    let server = KeyServer::start().await;
    server.reply("/jwks", Reply::status(500));
    let fixture = Fixture::of(&server);
    fixture.auth.start().await;
    eventually(|| server.hits("/jwks") == 1).await;
    server.list(&[&signer]);
    // Not a second of the calls' interval has passed: the clock of the test stands still.
    eventually(|| fixture.auth.issuers_without_keys().is_empty()).await;
    fixture.authenticate(&signer.good()).await.unwrap();
}

#[tokio::test]
async fn background_fetch_ends_with_the_authenticator() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    let limits = Limits { key_refresh_interval: Duration::from_millis(5), ..Limits::default() };
    let fixture = Fixture::with(vec![provider(&server)], &limits);
    fixture.auth.start().await;
    eventually(|| server.hits("/jwks") > 2).await;
    drop(fixture);
    // A request that was on its way still counts.
    for _ in 0..600 {
        let before = server.hits("/jwks");
        tokio::time::sleep(Duration::from_millis(100)).await;
        if server.hits("/jwks") == before {
            return;
        }
    }
    panic!("the fetches go on");
}
