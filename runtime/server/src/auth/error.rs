//! Why a caller is rejected, and what they are told (RFC 6750 §3).

use std::sync::Arc;
use std::time::Duration;

use super::deploy_key::{DeployKeyError, Rejection, Scope};
use super::token::TokenError;
use convoke_core::error::{Code, Error, IntoError};

/// Credentials were sent and did not let anyone in. `Display` is for the client and never repeats what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The header is no scheme followed by credentials.
    #[error("Authorization header cannot be read: expected `Bearer <token>`")]
    Malformed,
    /// A scheme that is none of ours.
    #[error("Authorization scheme not supported: expected `Bearer <token>`")]
    SchemeNotSupported,
    /// The bearer token is refused.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The provider's keys were never fetched, so nothing can be said about the token.
    #[error("identity keys cannot be reached now; try again later")]
    KeysUnreachable {
        /// When to try again.
        retry_after: Duration,
    },
    /// The deploy key is refused.
    #[error("{problem}")]
    DeployKey {
        /// The keyword it was sent with.
        scheme: Arc<str>,
        /// What is wrong with it.
        problem: DeployKeyError,
    },
    /// What only a deploy key may ask, and none was sent.
    #[error("a deploy key is required: expected `{scheme} <key>`")]
    DeployKeyRequired {
        /// The keyword to send it with.
        scheme: Arc<str>,
    },
    /// The deploy key is good and lacks the scope.
    #[error("deploy key lacks the scope `{scope}`")]
    InsufficientScope {
        /// The keyword it was sent with.
        scheme: Arc<str>,
        /// What it would need.
        scope: Scope,
    },
}

impl AuthError {
    /// The rejection of a deploy key that the client sent under this keyword.
    pub fn of_deploy_key(scheme: &str, rejection: Rejection) -> Self {
        match rejection {
            Rejection::Key(problem) => AuthError::DeployKey { scheme: scheme.into(), problem },
            Rejection::Scope(scope) => AuthError::InsufficientScope { scheme: scheme.into(), scope },
        }
    }

    /// The code, which has the HTTP status.
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

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.code().status()
    }

    /// The value of `WWW-Authenticate`, which a 401 and a 403 carry.
    pub fn challenge(&self) -> Option<String> {
        let challenge = |scheme: &str, error: &str| {
            format!(r#"{scheme} realm="{REALM}", error="{error}", error_description="{}""#, quotable(&self.to_string()))
        };
        match self {
            AuthError::Malformed => Some(challenge("Bearer", "invalid_request")),
            // RFC 6750 §3.1: who did not know the scheme gets no error code, only the scheme.
            AuthError::SchemeNotSupported => Some(format!(r#"Bearer realm="{REALM}""#)),
            AuthError::Token(_) => Some(challenge("Bearer", "invalid_token")),
            AuthError::KeysUnreachable { .. } => None,
            AuthError::DeployKeyRequired { scheme } => Some(format!(r#"{scheme} realm="{REALM}""#)),
            AuthError::DeployKey { scheme, .. } => Some(challenge(scheme, "invalid_token")),
            AuthError::InsufficientScope { scheme, .. } => Some(challenge(scheme, "insufficient_scope")),
        }
    }

    /// The value of `Retry-After` in whole seconds, which a 503 carries.
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

/// Only what may stand in `error_description` (RFC 6750 §3): printable ASCII without `"` and `\`.
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
    fn a_refused_token_is_401_with_the_reason_in_the_challenge() {
        let error = AuthError::from(TokenError::Expired(12));
        assert_eq!((error.status(), error.code().as_str()), (401, "INVALID_CREDENTIALS"));
        assert_eq!(
            error.challenge().unwrap(),
            r#"Bearer realm="convoke", error="invalid_token", error_description="token expired 12 s ago""#
        );
        assert_eq!(Error::from(error).message(), "token expired 12 s ago");
    }

    #[test]
    fn another_scheme_is_told_the_scheme_only() {
        assert_eq!(AuthError::SchemeNotSupported.challenge().unwrap(), r#"Bearer realm="convoke""#);
    }

    #[test]
    fn unreachable_keys_are_503_with_a_time_to_wait_and_no_challenge() {
        let error = AuthError::KeysUnreachable { retry_after: Duration::from_millis(1200) };
        assert_eq!((error.status(), error.code().as_str()), (503, "NOT_READY"));
        assert_eq!((error.challenge(), error.retry_after_seconds()), (None, Some(2)));
    }

    #[test]
    fn a_missing_scope_is_403_under_the_keyword_that_was_sent() {
        let error = AuthError::InsufficientScope { scheme: "Convoke".into(), scope: Scope::ActAs };
        assert_eq!((error.status(), error.code().as_str()), (403, "INSUFFICIENT_SCOPE"));
        let challenge = error.challenge().unwrap();
        assert!(challenge.starts_with(r#"Convoke realm="convoke", error="insufficient_scope""#), "{challenge}");
    }

    #[test]
    fn a_description_holds_no_character_that_would_end_it() {
        assert_eq!(quotable("a \"b\" \\ é\r\n"), "a 'b' ' '''");
    }
}
