//! The command line of `dev`.

use super::channel::Watcher;
use super::server;
use super::sources::Sources;
use super::watched::Watch;
use crate::failure::Failure;
use convoke_server::config::Flags;
use convoke_store::Engines;

/// Serve on this machine with a development issuer of tokens, and rebuild when the sources change
///
/// Creates the data folder and a signing key on first start, and prints a `curl` command with a valid token. A user who
/// can read the data folder can create tokens: do not serve other people with it.
///
/// Watches the sources of the program and of its path dependencies. When a file is saved, `dev` builds with Cargo, and
/// the new program replaces the server: new connections wait for it, and data, tokens and keys stay. If the build or the
/// new program fails, the former server goes on. The setting `dev.clients` names typed clients that are written as well.
#[derive(clap::Args)]
pub(crate) struct Dev {
    #[command(flatten)]
    flags: Flags,
    /// Do not watch the sources of the program
    #[arg(long)]
    no_watch: bool,
    /// Serve for a process that watches; standard input is its channel
    #[arg(long, hide = true, conflicts_with = "no_watch")]
    under_watch: bool,
}

impl Dev {
    /// Runs the command. `matches` are those of this command: they show which values come from the environment.
    pub(crate) fn run(self, engines: &Engines, matches: Option<&clap::ArgMatches>) -> Result<(), Failure> {
        if self.under_watch {
            return Watcher::connect()?.report(|watcher| server::run(self.flags, engines, matches, Some(watcher)));
        }
        if !self.no_watch {
            match Sources::of_this_program(self.flags.config.as_deref()).and_then(Watch::begin) {
                Ok(watch) => return watch.serve(&self.flags),
                Err(reason) => note!("not watching: {reason}"),
            }
        }
        server::run(self.flags, engines, matches, None)
    }
}
