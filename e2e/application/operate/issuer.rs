//! The identity provider of the test: discovery, keys and tokens, over a real socket.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::SystemTime;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// A provider that serves until the process of the test ends.
pub(crate) struct Issuer {
    /// The issuer, with a trailing slash.
    pub url: String,
    key: Vec<u8>,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let key = key.as_ref().to_vec();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key).unwrap();
        // An uncompressed point: the byte 4, then x and y with 32 bytes each.
        let point = pair.public_key().as_ref();
        let part = |range: std::ops::Range<usize>| URL_SAFE_NO_PAD.encode(&point[range]);
        let keys = json!({ "keys": [
            { "kty": "EC", "crv": "P-256", "kid": "one", "alg": "ES256", "use": "sig", "x": part(1..33), "y": part(33..65) },
        ] });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let document = json!({ "issuer": url, "jwks_uri": format!("{url}keys") });
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                // A client that has disconnected gets no response.
                let _ = answer(socket, &document, &keys);
            }
        });
        Self { url, key }
    }

    /// Returns a token for a user, valid for one hour.
    pub(crate) fn token(&self, subject: &str, audience: &str) -> String {
        #[expect(clippy::disallowed_methods, reason = "the real server judges the token by the real time")]
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": self.url, "aud": audience, "sub": subject, "iat": now, "exp": now + 3_600,
            "email": format!("{subject}@example.com"), "email_verified": true,
        });
        let mut header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::ES256);
        header.kid = Some("one".to_owned());
        jsonwebtoken::encode(&header, &claims, &jsonwebtoken::EncodingKey::from_ec_der(&self.key)).unwrap()
    }
}

fn answer(mut socket: TcpStream, document: &Value, keys: &Value) -> std::io::Result<()> {
    let mut lines = BufReader::new(socket.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let (status, body) = match request.split(' ').nth(1) {
        Some("/.well-known/openid-configuration") => ("200 OK", document.to_string()),
        Some("/keys") => ("200 OK", keys.to_string()),
        _ => ("404 Not Found", "{}".to_owned()),
    };
    write!(
        socket,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
