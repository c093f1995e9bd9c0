//! The deployment. Conveniences of development are disabled in production.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of the three deployments of the specification. A deploy key belongs to exactly one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// A developer's machine: the development issuer works, and keys may be fetched over plain HTTP.
    Development,
    /// A test of production.
    Staging,
    /// The default, because a forgotten setting must not open anything.
    #[default]
    Production,
}

impl Environment {
    /// All environments, from the least to the most restricted.
    pub const ALL: [Environment; 3] = [Environment::Development, Environment::Staging, Environment::Production];

    /// Returns the spelling in settings and deploy keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Environment::Development => "development",
            Environment::Staging => "staging",
            Environment::Production => "production",
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an environment is development, staging or production")]
pub struct UnknownEnvironment;

impl FromStr for Environment {
    type Err = UnknownEnvironment;

    fn from_str(text: &str) -> Result<Self, UnknownEnvironment> {
        Environment::ALL.into_iter().find(|one| one.as_str() == text).ok_or(UnknownEnvironment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_names_round_trip() {
        for environment in Environment::ALL {
            assert_eq!(environment.as_str().parse(), Ok(environment));
        }
        assert_eq!("prod".parse::<Environment>(), Err(UnknownEnvironment));
    }
}
