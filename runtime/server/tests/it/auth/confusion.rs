//! Attacks that make a verifier use another algorithm or another key than the provider's.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::EncodingKey;
use serde_json::{Value, json};

use super::support::{Fixture, KeyServer, Reply, Signer, claims, message};

fn unsigned(header: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(&claims()))
}

#[tokio::test]
async fn algorithm_none_is_rejected() {
    let signer = Signer::es256("k");
    let server = KeyServer::listing(&[&signer]).await;
    let fixture = Fixture::of(&server);
    let signature = signer.good().rsplit_once('.').unwrap().1.to_owned();
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let message_part = unsigned(&json!({"alg": alg, "kid": "k"}));
        assert_eq!(message(fixture.authenticate(&format!("{message_part}.")).await), "token algorithm not accepted");
        let signed = format!("{message_part}.{signature}");
        assert_eq!(message(fixture.authenticate(&signed).await), "token algorithm not accepted");
    }
}

#[tokio::test]
async fn hmac_with_the_public_key_is_rejected() {
    let signer = Signer::rs256("k");
    let server = KeyServer::listing(&[&signer]).await;
    let fixture = Fixture::of(&server);
    fixture.authenticate(&signer.good()).await.unwrap();
    let modulus = signer.jwk["n"].as_str().unwrap();
    let secrets =
        [modulus.as_bytes().to_vec(), URL_SAFE_NO_PAD.decode(modulus).unwrap(), signer.jwk.to_string().into_bytes()];
    for secret in secrets {
        let message_part = unsigned(&json!({"alg": "HS256", "kid": "k", "typ": "JWT"}));
        let key = EncodingKey::from_secret(&secret);
        let signature =
            jsonwebtoken::crypto::sign(message_part.as_bytes(), &key, jsonwebtoken::Algorithm::HS256).unwrap();
        let refusal = message(fixture.authenticate(&format!("{message_part}.{signature}")).await);
        assert_eq!(refusal, "token algorithm not accepted");
    }
}

#[tokio::test]
async fn algorithm_of_another_key_type_is_rejected() {
    let (rsa, ec) = (Signer::rs256("rsa"), Signer::es256("ec"));
    let server = KeyServer::listing(&[&rsa, &ec]).await;
    let fixture = Fixture::of(&server);
    fixture.authenticate(&ec.good()).await.unwrap();
    let hits = server.hits("/jwks");
    for (signer, alg, kid) in
        [(&rsa, "ES256", "rsa"), (&rsa, "RS256", "ec"), (&ec, "EdDSA", "ec"), (&ec, "ES256", "rsa")]
    {
        let token = signer.token_with(&json!({"alg": alg, "kid": kid}), &claims());
        let refusal = message(fixture.authenticate(&token).await);
        assert_eq!(refusal, "token algorithm does not match its signing key", "{alg} {kid}");
    }
    assert_eq!(server.hits("/jwks"), hits, "such a token fetches nothing");
}

#[tokio::test]
async fn symmetric_key_in_the_set_is_ignored() {
    let signer = Signer::es256("k");
    let server = KeyServer::start().await;
    let secret = URL_SAFE_NO_PAD.encode([7; 32]);
    server.reply(
        "/jwks",
        Reply::json(&json!({"keys": [{"kty": "oct", "k": secret, "kid": "k", "alg": "HS256"}, signer.jwk]})),
    );
    let fixture = Fixture::of(&server);
    let message_part = unsigned(&json!({"alg": "HS256", "kid": "k"}));
    let key = EncodingKey::from_secret(&[7; 32]);
    let signature = jsonwebtoken::crypto::sign(message_part.as_bytes(), &key, jsonwebtoken::Algorithm::HS256).unwrap();
    let refusal = message(fixture.authenticate(&format!("{message_part}.{signature}")).await);
    assert_eq!(refusal, "token algorithm not accepted");
    fixture.authenticate(&signer.good()).await.unwrap();
}

#[tokio::test]
async fn keys_in_the_token_header_are_ignored() {
    let (signer, attacker) = (Signer::es256("k"), Signer::es256("k"));
    let server = KeyServer::listing(&[&signer]).await;
    server.reply("/evil", Reply::json(&json!({"keys": [attacker.jwk]})));
    let fixture = Fixture::of(&server);
    for (name, value) in [
        ("jwk", attacker.jwk.clone()),
        ("jku", json!(server.url("/evil"))),
        ("x5u", json!(server.url("/evil"))),
        ("x5c", json!(["AAAA"])),
    ] {
        let mut header = attacker.header();
        header[name] = value.clone();
        let refusal = message(fixture.authenticate(&attacker.token_with(&header, &claims())).await);
        assert_eq!(refusal, "token signature does not match", "{name}");
        let mut header = signer.header();
        header[name] = value;
        fixture.authenticate(&signer.token_with(&header, &claims())).await.unwrap();
    }
    assert_eq!(server.hits("/evil"), 0);
}

#[tokio::test]
async fn key_for_encryption_or_another_algorithm_is_ignored() {
    for change in [json!({"use": "enc"}), json!({"key_ops": ["encrypt"]}), json!({"alg": "ES384"})] {
        let mut signer = Signer::es256("k");
        signer.jwk.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let server = KeyServer::listing(&[&signer, &Signer::es256("another")]).await;
        let fixture = Fixture::of(&server);
        assert_eq!(message(fixture.authenticate(&signer.good()).await), "signing key not known", "{change}");
    }
}
