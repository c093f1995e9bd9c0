//! The engines of a program: the embedded engine, and engines that an address selects.

use std::fmt;
use std::sync::Arc;

use super::engine::EngineFactory;

/// The engines in a program.
#[derive(Clone, Debug)]
pub struct Engines {
    embedded: (&'static str, Arc<dyn EngineFactory>),
    by_scheme: Vec<(&'static str, Make)>,
}

/// Creates an engine for an address and its password.
pub type Make = fn(&str, Option<&str>) -> Result<Arc<dyn EngineFactory>, String>;

/// Reason why there is no engine for an address.
#[derive(Debug)]
pub struct NoEngine(String);

impl fmt::Display for NoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store: {}", self.0)
    }
}

impl std::error::Error for NoEngine {}

impl Engines {
    /// Creates the list with the embedded engine, which stores its database in the data folder.
    pub fn embedded(name: &'static str, engine: Arc<dyn EngineFactory>) -> Self {
        Self { embedded: (name, engine), by_scheme: Vec::new() }
    }

    /// Adds an engine for addresses that begin with `scheme://`.
    #[must_use]
    pub fn with(mut self, scheme: &'static str, make: Make) -> Self {
        self.by_scheme.push((scheme, make));
        self
    }

    /// Returns the names of the engines in this program.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names = vec![self.embedded.0];
        for (place, (scheme, make)) in self.by_scheme.iter().enumerate() {
            // An engine may have several schemes; the first is its name.
            if !self.by_scheme[..place].iter().any(|(_, other)| std::ptr::fn_addr_eq(*other, *make)) {
                names.push(scheme);
            }
        }
        names
    }

    /// Returns the engine for an address. Without an address, returns the embedded engine.
    ///
    /// # Errors
    /// [`NoEngine`]: this program has no engine for such an address, or the address is invalid.
    pub fn at(&self, address: Option<&str>, password: Option<&str>) -> Result<Arc<dyn EngineFactory>, NoEngine> {
        let Some(address) = address else { return Ok(self.embedded.1.clone()) };
        let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
        match self.by_scheme.iter().find(|(known, _)| *known == scheme) {
            Some((_, make)) => make(address, password).map_err(NoEngine),
            None if matches!(scheme, "postgres" | "postgresql") => Err(NoEngine(format!(
                "this program was built without an engine for {scheme}://; build it with --features postgres"
            ))),
            None => {
                Err(NoEngine("must be the address of a database, such as postgres://user@host/database".to_owned()))
            }
        }
    }
}
