//! The rejections of credentials and their responses (RFC 6750 §3).

use std::sync::Arc;
use std::time::Duration;

use super::deploy_key::{DeployKeyError, Rejection, Scope};
use super::token::TokenError;
use convoke_core::error::{Code, Error, IntoError};

/// A rejection of credentials. `Display` is for the client and never repeats the credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The header is not a scheme followed by credentials.
    #[error("Authorization header cannot be read: expected `Bearer <token>`")]
    Malformed,
    /// An unknown scheme.
    #[error("Authorization scheme not supported: expected `Bearer <token>`")]
    SchemeNotSupported,
    /// The bearer token is rejected.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The provider's keys were never fetched, so the token cannot be verified.
    #[error("identity keys cannot be reached now; try again later")]
    KeysUnreachable {
        /// Time until a retry makes sense.
        retry_after: Duration,
    },
    /// The deploy key is rejected.
    #[error("{problem}")]
    DeployKey {
        /// The scheme of the request.
        scheme: Arc<str>,
        /// The reason.
        problem: DeployKeyError,
    },
    /// The request needs a deploy key and has none.
    #[error("a deploy key is required: expected `{scheme} <key>`")]
    DeployKeyRequired {
        /// The scheme of deploy keys.
        scheme: Arc<str>,
    },
    /// The deploy key is valid but lacks the scope.
    #[error("deploy key lacks the scope `{scope}`")]
    InsufficientScope {
        /// The scheme of the request.
        scheme: Arc<str>,
        /// The missing scope.
        scope: Scope,
    },
}

impl AuthError {
    /// Adds the scheme of the request to the rejection of a deploy key.
    pub fn of_deploy_key(scheme: &str, rejection: Rejection) -> Self {
        match rejection {
            Rejection::Key(problem) => AuthError::DeployKey { scheme: scheme.into(), problem },
            Rejection::Scope(scope) => AuthError::InsufficientScope { scheme: scheme.into(), scope },
        }
    }

    /// Returns the error code.
    pub fn code(&self) -> Code {
        match self {
            AuthError::Malformed
            | AuthError::SchemeNotSupported
            | AuthError::Token(_)
            | AuthError::DeployKey { .. }
            | AuthError::DeployKeyRequired { .. } => Code::InvalidCredentials,
            AuthError::KeysUnreachable { .. } => Code::NotReady,
            AuthError::InsufficientScope { .. } => Code::InsufficientScope,
        }
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        self.code().status()
    }

    /// Returns the value of `WWW-Authenticate`, for a 401 and a 403.
    pub fn challenge(&self) -> Option<String> {
        let challenge = |scheme: &str, error: &str| {
            format!(r#"{scheme} realm="{REALM}", error="{error}", error_description="{}""#, quotable(&self.to_string()))
        };
        match self {
            AuthError::Malformed => Some(challenge("Bearer", "invalid_request")),
            // RFC 6750 §3.1: a client that used another scheme gets the scheme without an error code.
            AuthError::SchemeNotSupported => Some(format!(r#"Bearer realm="{REALM}""#)),
            AuthError::Token(_) => Some(challenge("Bearer", "invalid_token")),
            AuthError::KeysUnreachable { .. } => None,
            AuthError::DeployKeyRequired { scheme } => Some(format!(r#"{scheme} realm="{REALM}""#)),
            AuthError::DeployKey { scheme, .. } => Some(challenge(scheme, "invalid_token")),
            AuthError::InsufficientScope { scheme, .. } => Some(challenge(scheme, "insufficient_scope")),
        }
    }

    /// Returns the value of `Retry-After` in whole seconds, for a 503.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match self {
            AuthError::KeysUnreachable { retry_after } => Some(retry_after.as_millis().div_ceil(1000).max(1) as u64),
            AuthError::Malformed
            | AuthError::SchemeNotSupported
            | AuthError::Token(_)
            | AuthError::DeployKey { .. }
            | AuthError::DeployKeyRequired { .. }
            | AuthError::InsufficientScope { .. } => None,
        }
    }
}

const REALM: &str = "convoke";

/// Replaces characters that `error_description` must not contain (RFC 6750 §3): all but printable ASCII without `"` and
/// `\`.
fn quotable(text: &str) -> String {
    text.chars().map(|c| if matches!(c, ' ' | '!' | '#'..='[' | ']'..='~') { c } else { '\'' }).collect()
}

impl IntoError for AuthError {
    fn into_error(self) -> Error {
        Error::new(self.code(), self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_token_is_401_with_the_reason_in_the_challenge() {
        let error = AuthError::from(TokenError::Expired(12));
        assert_eq!((error.status(), error.code().as_str()), (401, "INVALID_CREDENTIALS"));
        assert_eq!(
            error.challenge().unwrap(),
            r#"Bearer realm="convoke", error="invalid_token", error_description="token expired 12 s ago""#
        );
        assert_eq!(Error::from(error).message(), "token expired 12 s ago");
    }

    #[test]
    fn unknown_scheme_gets_a_challenge_without_an_error() {
        assert_eq!(AuthError::SchemeNotSupported.challenge().unwrap(), r#"Bearer realm="convoke""#);
    }

    #[test]
    fn unreachable_keys_are_503_with_a_time_to_wait_and_no_challenge() {
        let error = AuthError::KeysUnreachable { retry_after: Duration::from_millis(1200) };
        assert_eq!((error.status(), error.code().as_str()), (503, "NOT_READY"));
        assert_eq!((error.challenge(), error.retry_after_seconds()), (None, Some(2)));
    }

    #[test]
    fn missing_scope_is_403_with_the_scheme_of_the_request() {
        let error = AuthError::InsufficientScope { scheme: "Convoke".into(), scope: Scope::ActAs };
        assert_eq!((error.status(), error.code().as_str()), (403, "INSUFFICIENT_SCOPE"));
        let challenge = error.challenge().unwrap();
        assert!(challenge.starts_with(r#"Convoke realm="convoke", error="insufficient_scope""#), "{challenge}");
    }

    #[test]
    fn description_has_no_terminating_characters() {
        assert_eq!(quotable("a \"b\" \\ é\r\n"), "a 'b' ' '''");
    }
}
