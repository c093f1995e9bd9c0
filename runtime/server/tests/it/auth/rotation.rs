//! Keys that come and go.

use std::time::Duration;

use convoke::embed::Limits;
use convoke_server::auth::ProviderConfig;
use convoke_server::auth::provider::Algorithm;
use serde_json::{Value, json};

use super::support::{Fixture, KeyServer, Reply, Signer, eventually, message, provider};

#[tokio::test]
async fn new_key_is_fetched_for_its_first_token() {
    let (old, new) = (Signer::es256("old"), Signer::es256("new"));
    let server = KeyServer::listing(&[&old]).await;
    let fixture = Fixture::of(&server);
    fixture.authenticate(&old.good()).await.unwrap();

    server.list(&[&old, &new]);
    fixture.clock.advance(30);

    fixture.authenticate(&new.good()).await.unwrap();
    assert!(fixture.cached(&old.good()).is_none(), "another token of the old key");
    fixture.authenticate(&old.good()).await.unwrap();
    assert_eq!(server.hits("/jwks"), 2);
}

#[tokio::test]
async fn removed_key_evicts_only_its_tokens() {
    let (stays, goes) = (Signer::es256("stays"), Signer::ed25519("goes"));
    let server = KeyServer::listing(&[&stays, &goes]).await;
    let fixture = Fixture::of(&server);
    let (kept, lost) = (stays.good(), goes.good());
    fixture.authenticate(&kept).await.unwrap();
    fixture.authenticate(&lost).await.unwrap();

    server.list(&[&stays]);
    fixture.clock.advance(30);
    message(fixture.authenticate(&Signer::es256("unknown").good()).await);

    assert!(fixture.cached(&kept).is_some());
    assert!(fixture.cached(&lost).is_none());
    assert_eq!(message(fixture.authenticate(&lost).await), "signing key not known");
}

#[tokio::test]
async fn background_fetch_detects_a_removed_key() {
    let (first, second) = (Signer::es256("1"), Signer::es256("2"));
    let server = KeyServer::listing(&[&first]).await;
    let limits = Limits { key_refresh_interval: Duration::from_millis(20), ..Limits::default() };
    let fixture = Fixture::with(vec![provider(&server)], &limits);
    fixture.auth.start().await;
    let token = first.good();
    fixture.authenticate(&token).await.unwrap();

    server.list(&[&second]);

    eventually(|| fixture.cached(&token).is_none()).await;
    fixture.authenticate(&second.good()).await.unwrap();
}

#[tokio::test]
async fn replaced_key_evicts_the_old_tokens() {
    let (old, new) = (Signer::es256("k"), Signer::es256("k"));
    let server = KeyServer::listing(&[&old]).await;
    let limits = Limits { key_refresh_interval: Duration::from_millis(20), ..Limits::default() };
    let fixture = Fixture::with(vec![provider(&server)], &limits);
    fixture.auth.start().await;
    let token = old.good();
    fixture.authenticate(&token).await.unwrap();

    server.list(&[&new]);

    eventually(|| fixture.cached(&token).is_none()).await;
    assert_eq!(message(fixture.authenticate(&token).await), "token signature does not match");
    fixture.authenticate(&new.good()).await.unwrap();
}

#[tokio::test]
async fn rotation_works_without_key_ids() {
    let (old, new) = (Signer::es256("1").nameless(), Signer::es256("2").nameless());
    let server = KeyServer::listing(&[&old]).await;
    let fixture = Fixture::of(&server);
    fixture.authenticate(&old.good()).await.unwrap();

    server.list(&[&new]);
    fixture.clock.advance(30);

    fixture.authenticate(&new.good()).await.unwrap();
    assert_eq!(message(fixture.authenticate(&old.fresh(1)).await), "token signature does not match");
}

#[tokio::test]
async fn renamed_key_counts_as_a_different_key() {
    let old = Signer::es256("old");
    let new = old.clone().named("new");
    let server = KeyServer::listing(&[&old]).await;
    let fixture = Fixture::of(&server);
    let token = old.good();
    fixture.authenticate(&token).await.unwrap();
    server.list(&[&new]);
    fixture.clock.advance(30);
    fixture.authenticate(&new.good()).await.unwrap();
    assert!(fixture.cached(&token).is_none());
}

#[tokio::test]
async fn unusable_key_set_keeps_the_known_keys() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    // Ed25519 keys are of no use to this provider.
    let provider = ProviderConfig { algorithms: vec![Algorithm::ES256, Algorithm::RS256], ..provider(&server) };
    let fixture = Fixture::new(provider);
    let token = signer.good();
    fixture.authenticate(&token).await.unwrap();
    let for_others: [Value; 3] = [
        json!([]),
        json!([{"kty": "oct", "k": "c2VjcmV0", "kid": "k", "alg": "HS256"}, {"kty": "EC"}]),
        json!([Signer::ed25519("k").jwk]),
    ];
    for (number, keys) in for_others.into_iter().enumerate() {
        server.reply("/jwks", Reply::json(&json!({ "keys": keys })));
        fixture.clock.advance(30);
        let asked = server.hits("/jwks");
        message(fixture.authenticate(&Signer::es256("unknown").good()).await);
        assert_eq!(server.hits("/jwks"), asked + 1);
        assert!(fixture.cached(&token).is_some(), "{keys}");
        fixture.authenticate(&signer.fresh(number)).await.unwrap();
    }

    let next = Signer::es256("next");
    server.list(&[&next]);
    fixture.clock.advance(30);
    fixture.authenticate(&next.good()).await.unwrap();
    assert!(fixture.cached(&token).is_none(), "a set with another key takes this one out");
}
