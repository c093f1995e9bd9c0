//! Every clause for which a token is refused, one at a time: a token that is good but for that.

use serde_json::{Value, json};

use super::support::{Fixture, KeyServer, NOW, Signer, claims, message};

struct Bench {
    fixture: Fixture,
    signer: Signer,
    _server: KeyServer,
}

impl Bench {
    async fn new() -> Self {
        let signer = Signer::es256("k");
        let server = KeyServer::listing(&[&signer]).await;
        Self { fixture: Fixture::of(&server), signer, _server: server }
    }

    /// Returns the client's error if header or claims are changed like this; `null` removes a member.
    async fn refusal(&self, header: Value, claims_change: Value) -> String {
        let token = self.signer.token_with(&merged(self.signer.header(), header), &merged(claims(), claims_change));
        message(self.fixture.authenticate(&token).await)
    }

    async fn accepts(&self, header: Value, claims_change: Value) {
        let token = self.signer.token_with(&merged(self.signer.header(), header), &merged(claims(), claims_change));
        self.fixture.authenticate(&token).await.unwrap();
    }
}

fn merged(mut object: Value, change: Value) -> Value {
    let members = object.as_object_mut().unwrap();
    for (name, value) in change.as_object().unwrap() {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    object
}

#[tokio::test]
async fn allowed_claims_are_accepted() {
    let bench = Bench::new().await;
    bench.accepts(json!({}), json!({})).await;
    bench.accepts(json!({"typ": null}), json!({"iat": null})).await;
    bench.accepts(json!({"typ": "at+jwt"}), json!({"aud": ["other", "api"]})).await;
    bench.accepts(json!({"b64": true}), json!({"nbf": NOW + 5, "iat": NOW + 5, "exp": NOW - 4})).await;
}

#[tokio::test]
async fn the_issuer() {
    let bench = Bench::new().await;
    assert_eq!(bench.refusal(json!({}), json!({"iss": null})).await, "token has no issuer");
    assert_eq!(bench.refusal(json!({}), json!({"iss": ["https://id.example"]})).await, "token has no issuer");
    assert_eq!(bench.refusal(json!({}), json!({"iss": "https://id.example/"})).await, "issuer not accepted");
}

#[tokio::test]
async fn the_audience() {
    let bench = Bench::new().await;
    assert_eq!(bench.refusal(json!({}), json!({"aud": null})).await, "token has no audience");
    assert_eq!(bench.refusal(json!({}), json!({"aud": []})).await, "token has no audience");
    assert_eq!(bench.refusal(json!({}), json!({"aud": ["web", "apis"]})).await, "audience not accepted");
}

#[tokio::test]
async fn the_times() {
    let bench = Bench::new().await;
    assert_eq!(bench.refusal(json!({}), json!({"exp": null})).await, "token has no expiry");
    assert_eq!(bench.refusal(json!({}), json!({"exp": "soon"})).await, "token claim `exp` must be a number of seconds");
    assert_eq!(bench.refusal(json!({}), json!({"exp": NOW - 12})).await, "token expired 12 s ago");
    let beyond = "token claim `exp` must be from 0 to 2^53 seconds";
    assert_eq!(bench.refusal(json!({}), json!({"exp": 1e308})).await, beyond);
    assert_eq!(bench.refusal(json!({}), json!({"exp": -1})).await, beyond);
    assert_eq!(bench.refusal(json!({}), json!({"nbf": NOW + 6})).await, "token is not valid for another 6 s");
    assert_eq!(bench.refusal(json!({}), json!({"iat": NOW + 6})).await, "token was issued 6 s in the future");
}

#[tokio::test]
async fn the_subject() {
    let bench = Bench::new().await;
    assert_eq!(bench.refusal(json!({}), json!({"sub": null})).await, "token has no subject");
    assert_eq!(bench.refusal(json!({}), json!({"sub": ""})).await, "token has no subject");
}

#[tokio::test]
async fn the_header() {
    let bench = Bench::new().await;
    let kind = "token type not accepted; expected JWT or at+jwt";
    assert_eq!(bench.refusal(json!({"typ": "logout+jwt"}), json!({})).await, kind);
    let critical = "token has a critical header parameter that is not understood";
    assert_eq!(bench.refusal(json!({"crit": ["exp"], "exp": 1}), json!({})).await, critical);
    let unencoded = "token with an unencoded payload not accepted";
    assert_eq!(bench.refusal(json!({"b64": false}), json!({})).await, unencoded);
    assert_eq!(bench.refusal(json!({"kid": "other"}), json!({})).await, "signing key not known");
    assert_eq!(bench.refusal(json!({"zip": "DEF"}), json!({})).await, "compressed token not accepted");
    assert_eq!(bench.refusal(json!({"cty": "JWT"}), json!({})).await, "token with a content type not accepted");
}

#[tokio::test]
async fn duplicate_member_names() {
    let bench = Bench::new().await;
    let (header, claims) = (bench.signer.header().to_string(), claims().to_string());
    bench.fixture.authenticate(&bench.signer.token_of(&header, &claims)).await.unwrap();
    let with = |json: &str, member: &str| format!("{{{member},{}", &json[1..]);
    for token in [
        bench.signer.token_of(&header, &with(&claims, r#""sub":"eve""#)),
        bench.signer.token_of(&with(&header, r#""kid":"k""#), &claims),
        bench.signer.token_of(&header, &with(&claims, r#""realm":{"roles":[],"roles":["admin"]}"#)),
    ] {
        let said = message(bench.fixture.authenticate(&token).await);
        assert_eq!(said, "token has a name twice in its header or claims");
    }
}

#[tokio::test]
async fn the_size() {
    let bench = Bench::new().await;
    let long = |bytes: usize| json!({ "filler": "x".repeat(bytes) });
    bench.accepts(json!({}), long(5500)).await;
    assert_eq!(bench.refusal(json!({}), long(6200)).await, "token is larger than 8192 bytes");
}

#[tokio::test]
async fn the_signature() {
    let bench = Bench::new().await;
    let token = bench.signer.good();
    let (message_part, signature) = token.rsplit_once('.').unwrap();
    let other = Signer::es256("k").good();
    let swapped = format!("{message_part}.{}", other.rsplit_once('.').unwrap().1);
    let admin = bench.signer.token(&merged(claims(), json!({"roles": ["admin"]})));
    let grafted = format!("{}.{signature}", admin.rsplit_once('.').unwrap().0);
    for forged in [
        swapped,
        grafted,
        other,
        format!("{message_part}."),
        format!("{token}="),
        format!("{message_part}.{}", "A".repeat(86)),
    ] {
        assert_eq!(message(bench.fixture.authenticate(&forged).await), "token signature does not match");
    }
}

#[tokio::test]
async fn the_form() {
    let bench = Bench::new().await;
    for text in ["x", "a.b", "a.b.c", "..", "a.b.c.d.e"] {
        assert_eq!(message(bench.fixture.authenticate(text).await), "token is not a signed JWT");
    }
    let header = |value: &'static str| async { message(bench.fixture.auth.authenticate(Some(value.as_bytes())).await) };
    assert_eq!(header("Bearer").await, "Authorization header cannot be read: expected `Bearer <token>`");
    let error = bench.fixture.auth.authenticate(Some(b"Basic dTpw")).await.unwrap_err();
    assert_eq!((error.status(), error.challenge().as_deref()), (401, Some(r#"Bearer realm="convoke""#)));
}

#[tokio::test]
async fn rejections_do_not_contain_the_token() {
    let bench = Bench::new().await;
    let secret = "c2VjcmV0LXNlY3JldA";
    for value in [
        format!("Bearer {secret}"),
        format!("Bearer {secret}.{secret}.{secret}"),
        format!("Basic {secret}"),
        format!("Convoke {secret}"),
    ] {
        let error = bench.fixture.auth.authenticate(Some(value.as_bytes())).await.unwrap_err();
        let shown = format!("{error} {error:?} {:?}", error.challenge());
        assert!(!shown.contains(secret), "{shown}");
    }
}
