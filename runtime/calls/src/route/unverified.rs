//! A request before its signature is checked, for a check that the author writes.

use bytes::Bytes;
use http::HeaderMap;

use crate::outbound::{Secret, SecretError};
use convoke_core::clock::Millis;
use convoke_core::sections::Section;

/// The parts of the installation that a check uses.
pub(crate) trait Installation {
    fn secret(&self, name: &str) -> Result<Secret, SecretError>;
    /// Returns the time.
    fn now(&self) -> Millis;
    /// Returns a section of `convoke.toml`.
    fn section(&self, name: &str) -> Option<toml::Value>;
}

/// A request whose sender is not known yet.
pub struct Unverified<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a Bytes,
    pub(crate) installation: &'a dyn Installation,
}

impl Unverified<'_> {
    /// Returns a header. `None` if it is missing, sent more than once, or not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        if values.next().is_some() { None } else { value.to_str().ok() }
    }

    /// Returns the body as it was sent.
    pub fn body(&self) -> &[u8] {
        self.body
    }

    /// Returns the time.
    pub fn now(&self) -> Millis {
        self.installation.now()
    }

    /// Returns a secret of the installation.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn secret(&self, name: &str) -> Result<Secret, SecretError> {
        self.installation.secret(name)
    }

    /// Returns the settings of one section of `convoke.toml`.
    pub fn settings<S: Section>(&self) -> S {
        // The sections were checked at start; a mistake would have stopped it.
        self.installation.section(S::NAME).and_then(|value| value.try_into().ok()).unwrap_or_default()
    }
}
