//! Tokens that are accepted, and what is then remembered.

use std::sync::Arc;

use convoke::Caller;
use convoke::embed::Limits;
use convoke_server::auth::provider::Algorithm;
use convoke_server::auth::{Authenticator, KeySource, ProviderConfig};
use serde_json::json;

use super::support::{AUDIENCE, Fixture, ISSUER, KeyServer, NOW, Signer, claims, message, provider};

#[tokio::test]
async fn token_of_each_algorithm_is_accepted() {
    let signers = [Signer::rs256("rsa"), Signer::es256("ec"), Signer::ed25519("ed")];
    let server = KeyServer::listing(&signers.each_ref()).await;
    let fixture = Fixture::of(&server);
    for signer in &signers {
        let identity = fixture.authenticate(&signer.good()).await.unwrap();
        assert_eq!(identity.token_identifier(), format!("{ISSUER}|ada"));
        assert_eq!((identity.issued_at, identity.expires_at), (Some(NOW), Some(NOW + 3600)));
    }
    assert_eq!(server.hits("/jwks"), 1, "one fetch serves them all");
}

#[tokio::test]
async fn missing_header_is_anonymous_without_a_fetch() {
    let server = KeyServer::start().await;
    let fixture = Fixture::of(&server);
    assert!(matches!(fixture.auth.authenticate(None).await, Ok(Caller::Nobody)));
    assert_eq!(server.hits("/jwks"), 0);
}

#[tokio::test]
async fn verified_token_is_cached_with_its_identity() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    let fixture = Fixture::of(&server);
    let token = signer.good();
    assert!(fixture.cached(&token).is_none());

    let identity = fixture.authenticate(&token).await.unwrap();

    assert!(Arc::ptr_eq(&identity, &fixture.cached(&token).unwrap()));
    assert!(Arc::ptr_eq(&identity, &fixture.authenticate(&token).await.unwrap()));
    assert!(fixture.auth.cached(format!("bearer {token}").as_bytes()).is_some());
    assert!(fixture.cached(&format!("{token}A")).is_none());
    assert!(fixture.cached(&token[..token.len() - 1]).is_none());
    let clone: Authenticator = fixture.auth.clone();
    assert!(clone.cached(format!("Bearer {token}").as_bytes()).is_some(), "clones share their memory");
}

#[tokio::test]
async fn rejected_token_is_not_cached() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    let fixture = Fixture::of(&server);
    let mut claims = claims();
    claims["aud"] = json!("other");
    let token = signer.token(&claims);
    message(fixture.authenticate(&token).await);
    assert!(fixture.cached(&token).is_none());
}

#[tokio::test]
async fn cached_token_is_evicted_at_its_expiry() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    let fixture = Fixture::of(&server);
    let token = signer.good();
    fixture.authenticate(&token).await.unwrap();

    fixture.clock.advance(3604);
    assert!(fixture.cached(&token).is_some(), "four seconds late are forgiven");
    fixture.clock.advance(1);
    assert!(fixture.cached(&token).is_none());
    assert_eq!(message(fixture.authenticate(&token).await), "token expired 5 s ago");
}

#[tokio::test]
async fn issuer_selects_the_provider() {
    let (here, there) = (Signer::es256("k"), Signer::es256("k"));
    let server = KeyServer::listing(&[&here]).await;
    let set = json!({ "keys": [there.jwk] });
    let other =
        ProviderConfig { keys: KeySource::Set(set), ..ProviderConfig::new("https://other.example", "other-api") };
    let fixture = Fixture::with(vec![provider(&server), other], &Limits::default());
    let mut theirs = claims();
    theirs["iss"] = json!("https://other.example");
    theirs["aud"] = json!("other-api");

    assert_eq!(fixture.authenticate(&here.good()).await.unwrap().issuer, ISSUER);
    assert_eq!(fixture.authenticate(&there.token(&theirs)).await.unwrap().issuer, "https://other.example");
    assert_eq!(message(fixture.authenticate(&here.token(&theirs)).await), "token signature does not match");
    assert_eq!(message(fixture.authenticate(&there.good()).await), "token signature does not match");
    theirs["aud"] = json!(AUDIENCE);
    assert_eq!(message(fixture.authenticate(&there.token(&theirs)).await), "audience not accepted");
}

#[tokio::test]
async fn provider_accepts_only_its_listed_algorithms() {
    let (ec, ed) = (Signer::es256("ec"), Signer::ed25519("ed"));
    let server = KeyServer::listing(&[&ec, &ed]).await;
    let fixture = Fixture::new(ProviderConfig { algorithms: vec![Algorithm::ES256], ..provider(&server) });
    fixture.authenticate(&ec.good()).await.unwrap();
    assert_eq!(message(fixture.authenticate(&ed.good()).await), "token algorithm not accepted");
}

#[tokio::test]
async fn two_keys_with_one_id_are_both_tried() {
    let signers = [Signer::es256("k"), Signer::es256("k"), Signer::ed25519("k")];
    let server = KeyServer::listing(&signers.each_ref()).await;
    let fixture = Fixture::of(&server);
    for signer in &signers {
        fixture.authenticate(&signer.good()).await.unwrap();
    }
    assert_eq!(message(fixture.authenticate(&Signer::es256("k").good()).await), "token signature does not match");
}

#[tokio::test]
async fn token_cache_is_bounded() {
    let signer = Signer::ed25519("k");
    let server = KeyServer::listing(&[&signer]).await;
    let limits = Limits { tokens_remembered_max: 32, ..Limits::default() };
    let fixture = Fixture::with(vec![provider(&server)], &limits);
    let tokens: Vec<String> = (0..100).map(|number| signer.fresh(number)).collect();
    for token in &tokens {
        fixture.authenticate(token).await.unwrap();
    }
    let remembered = tokens.iter().filter(|token| fixture.cached(token).is_some()).count();
    assert!((1..=32).contains(&remembered), "{remembered}");
    for token in &tokens {
        fixture.authenticate(token).await.unwrap();
    }
}
