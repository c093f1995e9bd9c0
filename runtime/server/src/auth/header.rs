//! The parser of the `Authorization` header. It does not verify the credentials.

use super::error::AuthError;
use super::schemes::{BEARER, Schemes, is_scheme};

/// Unverified credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Credentials<'a> {
    /// A bearer token.
    Bearer(&'a str),
    /// A deploy key.
    DeployKey {
        /// The scheme in the spelling of the settings.
        scheme: &'a str,
        /// The key, with the suffix of the user that it acts as.
        key: &'a str,
    },
}

impl<'a> Credentials<'a> {
    /// Parses the value of an `Authorization` header: a case-insensitive scheme, at least one space, and the
    /// credentials (RFC 9110 §11.4).
    ///
    /// # Errors
    /// [`AuthError::Malformed`] and [`AuthError::SchemeNotSupported`].
    pub fn parse(value: &'a [u8], schemes: &'a Schemes) -> Result<Self, AuthError> {
        let text = std::str::from_utf8(value).map_err(|_| AuthError::Malformed)?;
        let text = text.trim_matches([' ', '\t']);
        let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim_start_matches(' ');
        let well_formed = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic());

        if scheme.eq_ignore_ascii_case(BEARER) {
            return if well_formed { Ok(Credentials::Bearer(rest)) } else { Err(AuthError::Malformed) };
        }
        match schemes.find(scheme) {
            Some(scheme) if well_formed => Ok(Credentials::DeployKey { scheme, key: rest }),
            Some(_) => Err(AuthError::Malformed),
            None if is_scheme(scheme) => Err(AuthError::SchemeNotSupported),
            None => Err(AuthError::Malformed),
        }
    }
}

/// Shows only the scheme: the credentials are secrets and must not reach a log.
impl std::fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Credentials::Bearer(_) => f.write_str("Bearer …"),
            Credentials::DeployKey { scheme, .. } => write!(f, "{scheme} …"),
        }
    }
}

/// Returns the token of a bearer header without full validation, for the cache look-up of each call.
pub(super) fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(BEARER.len())?;
    let token = rest.strip_prefix(b" ")?;
    scheme.eq_ignore_ascii_case(BEARER.as_bytes()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_accepts_any_case_and_spaces() {
        let schemes = Schemes::default();
        for value in ["Bearer a.b.c", "bearer a.b.c", "BEARER   a.b.c", " Bearer a.b.c "] {
            assert_eq!(
                Credentials::parse(value.as_bytes(), &schemes).unwrap(),
                Credentials::Bearer("a.b.c"),
                "{value}"
            );
        }
        let key = Credentials::DeployKey { scheme: "Convex", key: "development:ci|s" };
        assert_eq!(Credentials::parse(b"convex development:ci|s", &schemes).unwrap(), key);
    }

    #[test]
    fn header_without_or_with_several_credentials_is_malformed() {
        let schemes = Schemes::default();
        for value in
            ["", " ", "Bearer", "Bearer ", "Bearer a b", "Bearer a,b c", "Convoke", "Bea(rer x", "Bearer \u{e9}"]
        {
            assert_eq!(Credentials::parse(value.as_bytes(), &schemes), Err(AuthError::Malformed), "{value:?}");
        }
        assert_eq!(Credentials::parse(b"Bearer \xff", &schemes), Err(AuthError::Malformed));
    }

    #[test]
    fn another_scheme_is_not_supported() {
        assert_eq!(Credentials::parse(b"Basic dTpw", &Schemes::default()), Err(AuthError::SchemeNotSupported));
        let own = Schemes::new(["Admin"]);
        assert_eq!(Credentials::parse(b"Convex k", &own), Err(AuthError::SchemeNotSupported));
        assert_eq!(Credentials::parse(b"admin k", &own), Ok(Credentials::DeployKey { scheme: "Admin", key: "k" }));
    }

    #[test]
    fn fast_parser_finds_the_same_token() {
        assert_eq!(bearer_token(b"Bearer a.b.c"), Some(b"a.b.c".as_slice()));
        assert_eq!(bearer_token(b"bearer a.b.c"), Some(b"a.b.c".as_slice()));
        assert_eq!(bearer_token(b"Bearer"), None);
        assert_eq!(bearer_token(b"Convoke a"), None);
    }

    #[test]
    fn credentials_are_not_shown() {
        assert_eq!(format!("{:?}", Credentials::Bearer("secret")), "Bearer …");
    }
}
