//! The signature of a LiveKit server's webhooks: a token in `Authorization`, signed with an API key of the server, with
//! the SHA-256 of the body in its claim `sha256`.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use convoke::prelude::*;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use crate::meetings::provider::{API_SECRET, LiveKit, PREVIOUS_API_SECRET};

/// Accepted difference between the clocks of the two servers, s.
const LEEWAY_S: i64 = 30;

#[derive(Deserialize)]
struct Claims {
    /// Name of the key.
    iss: String,
    /// End of the validity, s.
    exp: i64,
    /// Begin of the validity, s.
    nbf: Option<i64>,
    /// SHA-256 of the body, in base64.
    sha256: String,
}

/// Checks that the configured LiveKit server sent the request.
///
/// # Errors
/// `INVALID_SIGNATURE`.
pub fn signed_by_livekit(request: &Unverified<'_>) -> Result<()> {
    let settings = request.settings::<LiveKit>();
    let server = settings.server().ok_or_else(|| rejected("no media server is configured"))?;
    let field = request.header("authorization").ok_or_else(|| rejected("the header authorization is missing"))?;
    let token = field.strip_prefix("Bearer ").unwrap_or(field);
    let previous = server.previous_api_key.iter().map(|key| (key, PREVIOUS_API_SECRET));
    let verified = [(&server.api_key, API_SECRET)].into_iter().chain(previous).find_map(|(key, name)| {
        let secret = request.secret(name).ok()?;
        claims(token, secret.expose()).filter(|claims| claims.iss == **key)
    });
    let claims = verified.ok_or_else(|| rejected("no configured key signs this token"))?;
    let now_s = request.now().get() / 1_000;
    if claims.exp + LEEWAY_S < now_s || claims.nbf.is_some_and(|nbf| nbf - LEEWAY_S > now_s) {
        return Err(rejected("the token is not valid at this time"));
    }
    match claims.sha256 == STANDARD.encode(digest::digest(&digest::SHA256, request.body())) {
        true => Ok(()),
        false => Err(rejected("the token is for another body")),
    }
}

/// Returns the claims of a token that this secret signs. The caller checks the times: only the runtime knows the time.
fn claims(token: &str, secret: &str) -> Option<Claims> {
    let mut validation = Validation::new(Algorithm::HS256);
    (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
    validation.required_spec_claims.clear();
    let key = DecodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::decode(token, &key, &validation).ok().map(|token| token.claims)
}

fn rejected(reason: &str) -> Error {
    Error::new(Code::InvalidSignature, format!("The signature is not accepted: {reason}"))
}
