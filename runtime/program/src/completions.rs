//! `completions` and `man`: the commands for shells and for `man`.
//!
//! The shell's script runs this program at each tab, so that it is always current and knows this program's functions.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap_complete::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};

use super::failure::Failure;
use super::output;
use super::program;
use convoke_calls::registry::Registry;

/// Variable that the shell's script sets to request completions.
const VARIABLE: &str = "CONVOKE_COMPLETE";

/// Print the completions of a shell, including commands, flags and the paths of functions
///
/// The program must be on the PATH under its present name.
///
///   bash   convoke completions bash > /etc/bash_completion.d/convoke
///   zsh    convoke completions zsh > ~/.zfunc/_convoke
///   fish   convoke completions fish > ~/.config/fish/completions/convoke.fish
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

/// Write the manual pages, one per command, into a folder
///
///   convoke man /usr/local/share/man/man1
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Man {
    /// The folder; it is created if necessary
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Responds to a shell that requests completions, and then ends the process.
pub(super) fn answer_shell(command: fn() -> clap::Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

impl Completions {
    pub(super) fn run(self) -> Result<(), Failure> {
        let shells = Shells::builtins();
        let shell =
            shells.completer(&self.shell).ok_or_else(|| Failure(format!("no completions for {}", self.shell)))?;
        let name = program::name();
        let mut script = Vec::new();
        shell
            .write_registration(VARIABLE, name, name, name, &mut script)
            .map_err(Failure::of_system("the script cannot be made"))?;
        output::text(&String::from_utf8_lossy(&script))
    }
}

impl Man {
    pub(super) fn run(self, command: clap::Command) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.folder).map_err(Failure::at(&self.folder))?;
        clap_mangen::generate_to(command, &self.folder).map_err(Failure::at(&self.folder))?;
        Ok(())
    }
}

/// Returns the paths of this program's functions with this prefix.
pub(super) fn functions(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let Ok(registry) = Registry::collect() else { return Vec::new() };
    let found = registry.all().filter(|function| function.def.route.is_none() && function.path.starts_with(&*begun));
    found.map(|function| CompletionCandidate::new(&*function.path).help(Some(function.summary().into()))).collect()
}
