//! The schemes of the `Authorization` header.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The scheme of a token.
pub(super) const BEARER: &str = "Bearer";

/// The schemes of deploy keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Schemes(Vec<String>);

/// The platform's own name, and the scheme that existing admin clients send.
impl Default for Schemes {
    fn default() -> Self {
        Self(vec!["Convoke".to_owned(), "Convex".to_owned()])
    }
}

impl Schemes {
    /// Creates a list of schemes. Challenges name the first. An empty list disables deploy keys.
    pub fn new(schemes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(schemes.into_iter().map(Into::into).collect())
    }

    /// Returns the scheme that challenges name.
    pub(super) fn first(&self) -> &str {
        self.0.first().map_or("Convoke", String::as_str)
    }

    /// Returns a scheme in the spelling of the settings.
    pub(super) fn find(&self, scheme: &str) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|own| own.eq_ignore_ascii_case(scheme))
    }

    /// Returns the first invalid scheme, if any.
    pub(super) fn unfit(&self) -> Option<&str> {
        let mut all = self.0.iter().map(String::as_str);
        all.find(|scheme| !is_scheme(scheme) || scheme.eq_ignore_ascii_case(BEARER))
    }
}

/// Returns true if a text can be a scheme of the `Authorization` header.
pub(super) fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_keyword_is_rejected() {
        assert_eq!(Schemes::default().unfit(), None);
        assert_eq!(Schemes::new(["bearer"]).unfit(), Some("bearer"));
        assert_eq!(Schemes::new(["two words"]).unfit(), Some("two words"));
    }
}
