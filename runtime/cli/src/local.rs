//! Commands that work on a data folder whose server is stopped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::failure::Failure;
use convoke_core::clock::{Clock, SystemClock};
use convoke_server::auth::Environment;
use convoke_server::auth::development::KEY_FILE;
use convoke_server::config::{Config, DATA, Flags};
use convoke_store::{Engines, Installation, OpenError, SubmittedTable, TableDef};

/// Which data folder.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Which installation")]
pub(crate) struct LocalArgs {
    /// Folder of the database, keys and secrets [default: ./data]
    #[arg(long, value_name = "DIR", env = "CONVOKE_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Address of the database, where it is not in the data folder
    #[arg(long, value_name = "URL", env = "CONVOKE_STORE")]
    pub(crate) store: Option<String>,
    /// File of settings [default: convoke.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Which deployment it is [default: production]
    #[arg(long, value_name = "NAME", env = "CONVOKE_ENV")]
    pub(crate) env: Option<Environment>,
}

impl LocalArgs {
    /// The settings of the installation.
    ///
    /// # Errors
    /// A file of settings that cannot be read or does not fit.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        self.config_of(Environment::Production)
    }

    /// As [`LocalArgs::config`]; it is this deployment unless something else is said.
    ///
    /// # Errors
    /// As [`LocalArgs::config`].
    pub(crate) fn config_of(&self, unless_told: Environment) -> Result<Config, Failure> {
        let flags = Flags {
            config: self.config.clone(),
            data: self.data.clone(),
            store: self.store.clone(),
            ..Flags::default()
        };
        Ok(Config::resolve(&flags, self.env, unless_told)?)
    }

    /// The data folder, locked: no server runs on it as long as this is held.
    ///
    /// # Errors
    /// A server that runs; a folder that cannot be had.
    pub(crate) fn lock(&self, engines: &Engines) -> Result<(Config, Box<dyn Installation>), Failure> {
        let config = self.config()?;
        require_folder(&config, self.data.as_deref())?;
        match config.engine(engines)?.lock(&config.data, clock()) {
            Ok(installation) => Ok((config, installation)),
            Err(OpenError::Locked { process, .. }) if config.store.is_some() => {
                let place = config.store.as_deref().unwrap_or_default();
                Err(Failure(format!(
                    "{place} is served by {process}; stop all nodes first, this replaces their database"
                )))
            }
            Err(error @ OpenError::Locked { .. }) => {
                Err(Failure(format!("{error}; stop the server first, this replaces its database")))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// True for a folder of `convoke dev`: it has an issuer of tokens of its own, and no settings name another one.
pub(crate) fn development_without_a_provider(config: &Config) -> bool {
    config.auth.providers.is_empty() && config.data.join(KEY_FILE).exists()
}

/// Rejects a data folder that is named and does not exist. Only a server makes one: another command would make an empty
/// installation of a mistyped path. `named` is the value of `--data`; settings name another one than the default.
///
/// # Errors
/// There is no such folder.
pub(crate) fn require_folder(config: &Config, named: Option<&Path>) -> Result<(), Failure> {
    let is_named = named.is_some() || config.data != Path::new(DATA);
    if !is_named || config.data.is_dir() {
        return Ok(());
    }
    Err(Failure(format!(
        "there is no data folder {}: name the one that the server uses with --data; `convoke serve` and `convoke dev` \
         make it at their first start",
        config.data.display()
    )))
}

/// The machine's clock.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::new())
}

/// The tables of this program, by name.
///
/// # Errors
/// A program that links no functions.
pub(crate) fn tables() -> Result<Vec<&'static TableDef>, Failure> {
    // It says what to do about a program whose functions are not linked; its tables would be missing too.
    convoke_calls::registry::Registry::collect()?;
    let mut tables: Vec<&'static TableDef> = inventory::iter::<SubmittedTable>().map(|table| table.0).collect();
    tables.sort_unstable_by_key(|table| table.name);
    Ok(tables)
}
