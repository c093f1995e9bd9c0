//! Sources of keys: discovery, a URL, a file; and documents that are rejected.

use std::time::Duration;

use convoke::embed::Limits;
use convoke_server::auth::{AuthConfig, Authenticator, ConfigError, KeySource, ProviderConfig};
use serde_json::json;

use super::support::{
    AUDIENCE, Fixture, ISSUER, KeyServer, NOW, Reply, Signer, TestClock, claims, http, message, provider,
};

const DISCOVERY: &str = "/.well-known/openid-configuration";

fn discovered(server: &KeyServer, issuer: &str) -> (Fixture, String) {
    let limits = Limits { key_fetch_timeout: Duration::from_secs(600), ..Limits::default() };
    let fixture = Fixture::with(vec![ProviderConfig::new(issuer, AUDIENCE)], &limits);
    server.reply(DISCOVERY, Reply::json(&json!({"issuer": issuer, "jwks_uri": server.url("/jwks")})));
    let mut claims = claims();
    claims["iss"] = json!(issuer);
    (fixture, claims.to_string())
}

#[tokio::test]
async fn discovery_works_with_a_trailing_slash_in_the_issuer() {
    for end in ["", "/"] {
        let signer = Signer::es256("k");
        let server = KeyServer::listing(&[&signer]).await;
        let (fixture, claims) = discovered(&server, &server.url(end));
        let token = signer.token(&serde_json::from_str(&claims).unwrap());
        assert_eq!(fixture.authenticate(&token).await.unwrap().issuer, server.url(end));
        assert_eq!((server.hits(DISCOVERY), server.hits("/jwks")), (1, 1));
    }
}

#[tokio::test]
async fn discovery_document_of_another_issuer_is_rejected() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    let (fixture, claims) = discovered(&server, &server.url(""));
    server.reply(DISCOVERY, Reply::json(&json!({"issuer": ISSUER, "jwks_uri": server.url("/jwks")})));
    let token = signer.token(&serde_json::from_str(&claims).unwrap());
    assert_eq!(fixture.authenticate(&token).await.unwrap_err().status(), 503);
    assert_eq!(server.hits("/jwks"), 0);
}

#[tokio::test]
async fn discovery_document_with_a_remote_plain_http_url_is_rejected() {
    let server = KeyServer::start().await;
    let (fixture, claims) = discovered(&server, &server.url(""));
    server.reply(DISCOVERY, Reply::json(&json!({"issuer": server.url(""), "jwks_uri": "http://192.0.2.1/jwks"})));
    let token = Signer::es256("k").token(&serde_json::from_str(&claims).unwrap());
    // Asking that address would only end with the time limit of the fetch.
    let refusal = tokio::time::timeout(Duration::from_secs(60), fixture.authenticate(&token)).await.unwrap();
    assert_eq!(refusal.unwrap_err().status(), 503);
}

#[tokio::test]
async fn invalid_key_set_counts_as_unreachable() {
    let many = json!({"keys": vec![json!({}); 101]});
    let replies = [
        Reply { status: 200, headers: String::new(), body: "<html>".into() },
        Reply { status: 200, headers: String::new(), body: format!("{{\"keys\":[]}}{}", " ".repeat(256 * 1024)) },
        Reply::json(&many),
        Reply::json(&json!({"keys": []})),
        Reply::json(&json!({"keys": [{"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}]})),
        Reply::status(500),
        Reply { status: 302, headers: "location: /moved\r\n".into(), body: String::new() },
    ];
    for reply in replies {
        let signer = Signer::es256("k");
        let server = KeyServer::start().await;
        server.reply("/moved", Reply::json(&json!({"keys": [signer.jwk]})));
        server.reply("/jwks", reply);
        let fixture = Fixture::of(&server);
        assert_eq!(fixture.authenticate(&signer.good()).await.unwrap_err().status(), 503);
        assert_eq!(server.hits("/moved"), 0, "a redirect is not followed");
    }
}

#[tokio::test]
async fn key_file_is_read_at_start_and_for_an_unknown_key() {
    let (first, second) = (Signer::es256("1"), Signer::ed25519("2"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, json!({"keys": [first.jwk]}).to_string()).unwrap();
    let fixture =
        Fixture::new(ProviderConfig { keys: KeySource::File(path.clone()), ..ProviderConfig::new(ISSUER, AUDIENCE) });
    fixture.authenticate(&first.good()).await.unwrap();
    assert_eq!(message(fixture.authenticate(&second.good()).await), "signing key not known");

    std::fs::write(&path, json!({"keys": [second.jwk]}).to_string()).unwrap();
    fixture.clock.advance(1);

    fixture.authenticate(&second.good()).await.unwrap();
    assert!(fixture.cached(&first.good()).is_none(), "its key left the file");
    assert_eq!(message(fixture.authenticate(&first.good()).await), "signing key not known");
}

#[tokio::test(start_paused = true)]
async fn changed_key_file_is_reloaded_and_an_invalid_one_keeps_the_known_keys() {
    let (first, second) = (Signer::es256("1"), Signer::es256("2"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, json!({"keys": [first.jwk]}).to_string()).unwrap();
    let fixture =
        Fixture::new(ProviderConfig { keys: KeySource::File(path.clone()), ..ProviderConfig::new(ISSUER, AUDIENCE) });
    let token = first.good();
    fixture.authenticate(&token).await.unwrap();
    fixture.auth.start().await;

    std::fs::write(&path, "{").unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(fixture.cached(&token).is_some());

    std::fs::write(&path, json!({"keys": [second.jwk]}).to_string()).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(fixture.cached(&token).is_none());
    fixture.authenticate(&second.good()).await.unwrap();
}

#[test]
fn unreadable_key_file_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let new = || {
        let keys = KeySource::File(path.clone());
        let providers = vec![ProviderConfig { keys, ..ProviderConfig::new(ISSUER, AUDIENCE) }];
        let config = AuthConfig { providers, ..AuthConfig::default() };
        Authenticator::new(config, std::sync::Arc::new(TestClock::at(NOW)), &Limits::default(), http()).map(|_| ())
    };
    assert!(matches!(new(), Err(ConfigError::Keys { .. })));
    std::fs::write(&path, "{}").unwrap();
    assert!(matches!(new(), Err(ConfigError::Keys { .. })));
    std::fs::write(&path, r#"{"keys":[]}"#).unwrap();
    let Err(ConfigError::Keys { reason, .. }) = new() else { panic!("a provider without keys must be rejected") };
    assert_eq!(
        reason,
        "none of its keys can check a token: expected at least one for signatures by RS256, ES256, EdDSA"
    );
    std::fs::write(&path, json!({"keys": [Signer::es256("k").jwk]}).to_string()).unwrap();
    new().unwrap();
}

#[tokio::test]
async fn redirect_to_remote_plain_http_is_rejected() {
    let signer = Signer::es256("k");
    let server = KeyServer::start().await;
    server.reply("/moved", Reply::json(&json!({"keys": [signer.jwk]})));
    let elsewhere = server.url("/moved").replace("127.0.0.1", "keys.example");
    let following = reqwest::Client::builder().no_proxy().resolve("keys.example", server.address()).build().unwrap();
    let value = format!("Bearer {}", signer.good());
    for (target, expected) in [(elsewhere, Some(503)), (server.url("/moved"), None)] {
        let headers = format!("location: {target}\r\n");
        server.reply("/jwks", Reply { status: 302, headers, body: String::new() });
        let config = AuthConfig { providers: vec![provider(&server)], ..AuthConfig::default() };
        let clock = std::sync::Arc::new(TestClock::at(NOW));
        let auth = Authenticator::new(config, clock, &Limits::default(), following.clone()).unwrap();
        let status = auth.authenticate(Some(value.as_bytes())).await.err().map(|error| error.status());
        assert_eq!(status, expected, "{target}");
    }
    assert_eq!(server.hits("/moved"), 2);
}
