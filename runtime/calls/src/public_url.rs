//! The address of the server for clients.

use std::sync::{Arc, OnceLock};

/// The address under which clients reach the server. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct PublicUrl(Arc<OnceLock<String>>);

impl PublicUrl {
    /// Returns the configured address, or one that [`PublicUrl::set`] sets later.
    pub(crate) fn new(configured: Option<String>) -> Self {
        Self(Arc::new(configured.map_or_else(OnceLock::new, OnceLock::from)))
    }

    /// Sets the address if none is set: a scheme and an authority.
    pub(crate) fn set(&self, address: String) {
        let _ = self.0.set(address);
    }

    /// Returns true if the address is set, and so changes no more.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Returns the URL of a path. Without an address, as in a test that starts no server, it is the path.
    pub(crate) fn of(&self, path: &str) -> String {
        format!("{}{path}", self.0.get().map_or("", String::as_str))
    }
}
