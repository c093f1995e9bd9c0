//! Commands that work on a data folder whose server is stopped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::failure::Failure;
use convoke_copies::follower::note::FollowNote;
use convoke_core::clock::{Clock, SystemClock};
use convoke_server::auth::Environment;
use convoke_server::auth::development::KEY_FILE;
use convoke_server::config::{Config, DATA, Flags};
use convoke_store::{Engines, Installation, OpenError, SubmittedTable, TableDef};

/// The data folder of a command.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Which installation")]
pub(crate) struct LocalArgs {
    /// Folder of the database, keys and secrets [default: ./data]
    #[arg(long, value_name = "DIR", env = "CONVOKE_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Address of the database, if it is not in the data folder
    #[arg(long, value_name = "URL", env = "CONVOKE_STORE")]
    pub(crate) store: Option<String>,
    /// Settings file [default: convoke.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Deployment [default: production]
    #[arg(long, value_name = "NAME", env = "CONVOKE_ENV")]
    pub(crate) env: Option<Environment>,
}

impl LocalArgs {
    /// Returns the settings of the installation.
    ///
    /// # Errors
    /// A settings file cannot be read, or is invalid.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        self.config_of(Environment::Production)
    }

    /// As [`LocalArgs::config`], with another default deployment.
    pub(crate) fn config_of(&self, unless_told: Environment) -> Result<Config, Failure> {
        let flags = Flags {
            config: self.config.clone(),
            data: self.data.clone(),
            store: self.store.clone(),
            ..Flags::default()
        };
        Ok(Config::resolve(&flags, self.env, unless_told)?)
    }

    /// Locks the data folder: no server runs on it as long as the lock is held.
    ///
    /// # Errors
    /// A server runs; the folder cannot be locked, or it follows copies.
    pub(crate) fn lock(&self, engines: &Engines) -> Result<(Config, Box<dyn Installation>), Failure> {
        let config = self.config()?;
        require_folder(&config, self.data.as_deref())?;
        require_no_follower(&config)?;
        match config.engine(engines)?.lock(&config.data, clock()) {
            Ok(installation) => Ok((config, installation)),
            Err(OpenError::Locked { process, .. }) if config.store.is_some() => {
                let place = config.store.as_deref().unwrap_or_default();
                Err(Failure(format!(
                    "{place} is served by {process}; stop all nodes first, because this replaces their database"
                )))
            }
            Err(error @ OpenError::Locked { .. }) => {
                Err(Failure(format!("{error}; stop the server first, because this changes its data")))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Rejects the data folder of a follower: its database is replaced only by its copies.
///
/// # Errors
/// The folder follows copies.
fn require_no_follower(config: &Config) -> Result<(), Failure> {
    match FollowNote::read(&config.data).map_err(Failure::at(&config.data))? {
        Some(note) if note.promoted.is_none() => Err(Failure(format!(
            "{} follows the copies in {}, so its database is theirs; use another data folder, or `convoke promote` first",
            config.data.display(),
            note.url
        ))),
        _ => Ok(()),
    }
}

/// Returns true for a folder of `convoke dev`: it has its own issuer of tokens, and the settings name no provider.
pub(crate) fn development_without_a_provider(config: &Config) -> bool {
    config.auth.providers.is_empty() && config.data.join(KEY_FILE).exists()
}

/// Rejects a data folder that is named and does not exist. Only a server creates one: another command would create an
/// empty installation at a mistyped path. `named` is the value of `--data`; the settings may also name a folder other
/// than the default.
///
/// # Errors
/// There is no such folder.
pub(crate) fn require_folder(config: &Config, named: Option<&Path>) -> Result<(), Failure> {
    let is_named = named.is_some() || config.data != Path::new(DATA);
    if !is_named || config.data.is_dir() {
        return Ok(());
    }
    if config.data.exists() {
        let data = config.data.display();
        return Err(Failure(format!("{data} is a file: name the data folder of the server with --data")));
    }
    Err(Failure(format!(
        "there is no data folder {}: name the one that the server uses with --data; `convoke serve` and `convoke dev` \
         create it at their first start",
        config.data.display()
    )))
}

/// Returns true for a named data folder without a database. The default folder is created by the first command that uses
/// it; a folder with a name may be a mistyped one. `named` is the value of `--data`.
///
/// # Errors
/// The address of the database is invalid.
pub(crate) fn lacks_database(config: &Config, named: Option<&Path>, engines: &Engines) -> Result<bool, Failure> {
    if config.store.is_some() || (named.is_none() && config.data == Path::new(DATA)) {
        return Ok(false);
    }
    let files = config.engine(engines)?.files(&config.data);
    Ok(files.bytes() == 0 && !files.is_half_replaced)
}

/// Returns the machine's clock.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::new())
}

/// Returns the tables of this program, by name.
///
/// # Errors
/// A program that links no functions.
pub(crate) fn tables() -> Result<Vec<&'static TableDef>, Failure> {
    // The check explains what to do about a program whose functions are not linked; its tables would be missing too.
    convoke_calls::registry::Registry::collect()?;
    let mut tables: Vec<&'static TableDef> = inventory::iter::<SubmittedTable>().map(|table| table.0).collect();
    tables.sort_unstable_by_key(|table| table.name);
    Ok(tables)
}
