//! Many callers at once: one fetch, and no one waits for others' unknown keys.

use std::sync::Arc;
use std::time::Duration;

use convoke::embed::Limits;
use futures_util::future::join_all;

use super::support::{Fixture, KeyServer, Signer, eventually, message, provider};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_first_calls_share_one_fetch() {
    let signer = Arc::new(Signer::ed25519("k"));
    let server = KeyServer::listing(&[&signer]).await;
    server.delay(Duration::from_millis(100));
    let fixture = Arc::new(Fixture::of(&server));
    let calls = (0..100).map(|number| {
        let (fixture, token) = (Arc::clone(&fixture), signer.fresh(number));
        tokio::spawn(async move { fixture.authenticate(&token).await })
    });
    for result in join_all(calls.collect::<Vec<_>>()).await {
        result.unwrap().unwrap();
    }
    assert_eq!(server.hits("/jwks"), 1);
}

#[tokio::test]
async fn unknown_keys_cause_one_fetch_per_thirty_seconds() {
    let signer = Signer::ed25519("k");
    let server = KeyServer::listing(&[&signer]).await;
    let fixture = Fixture::of(&server);
    fixture.authenticate(&signer.good()).await.unwrap();
    let flood = |round: usize| {
        let tokens: Vec<String> =
            (0..300).map(|n| signer.clone().named(&format!("unknown-{round}-{n}")).fresh(n)).collect();
        let fixture = &fixture;
        async move {
            for result in join_all(tokens.iter().map(|token| fixture.authenticate(token))).await {
                assert_eq!(message(result), "signing key not known");
            }
        }
    };
    flood(0).await;
    assert_eq!(server.hits("/jwks"), 1, "the first fetch was just now");
    fixture.clock.advance(29);
    flood(1).await;
    assert_eq!(server.hits("/jwks"), 1);
    fixture.clock.advance(1);
    flood(2).await;
    flood(3).await;
    assert_eq!(server.hits("/jwks"), 2);
}

#[tokio::test]
async fn known_key_does_not_wait_for_a_fetch() {
    const LONG: Duration = Duration::from_secs(600);
    let signer = Signer::ed25519("k");
    let server = KeyServer::listing(&[&signer]).await;
    let limits = Limits { key_fetch_timeout: LONG, ..Limits::default() };
    let fixture = Arc::new(Fixture::with(vec![provider(&server)], &limits));
    fixture.authenticate(&signer.good()).await.unwrap();
    fixture.clock.advance(30);
    server.delay(LONG);
    let flood: Vec<_> = (0..50)
        .map(|n| {
            let (fixture, token) = (Arc::clone(&fixture), signer.clone().named(&format!("unknown-{n}")).good());
            tokio::spawn(async move { fixture.authenticate(&token).await })
        })
        .collect();
    eventually(|| server.hits("/jwks") == 2).await;

    // Verified for the first time, not remembered, while the fetch hangs.
    let known = async {
        for number in 0..20 {
            fixture.authenticate(&signer.fresh(number)).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), known).await.expect("it does not wait for the fetch");
    assert!(flood.iter().all(|call| !call.is_finished()), "the flood itself waits");
}

#[tokio::test]
async fn disconnected_caller_does_not_cancel_the_fetch() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    server.delay(Duration::from_millis(100));
    let fixture = Arc::new(Fixture::of(&server));
    let (first, token) = (Arc::clone(&fixture), signer.fresh(1));
    let gone = tokio::spawn(async move { first.authenticate(&token).await });
    eventually(|| server.hits("/jwks") == 1).await;
    gone.abort();

    fixture.authenticate(&signer.fresh(2)).await.unwrap();
    assert_eq!(server.hits("/jwks"), 1);
}
