//! `completions` and `man`: what a shell and `man` know of the commands.
//!
//! The shell's script asks this program at each tab, so that it never grows old and knows this program's functions.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap_complete::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};

use super::failure::Failure;
use super::program;
use convoke_calls::registry::Registry;

/// Set by the shell's script when it asks for completions.
const VARIABLE: &str = "CONVOKE_COMPLETE";

/// Print the completions of a shell, which know commands, flags and the paths of functions
///
/// The program must be found on the PATH under the name it has now.
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

/// Write the manual pages, one a command, into a folder
///
///   convoke man /usr/local/share/man/man1
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Man {
    /// The folder, which is made
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Answers a shell that asks for completions, and ends the process then.
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
        shell.write_registration(VARIABLE, name, name, name, &mut script)?;
        // A reader that had enough is no failure.
        let _ = std::io::Write::write_all(&mut std::io::stdout().lock(), &script);
        Ok(())
    }
}

impl Man {
    pub(super) fn run(self, command: clap::Command) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.folder)?;
        clap_mangen::generate_to(command, &self.folder)?;
        Ok(())
    }
}

/// The paths of this program's functions that begin so.
pub(super) fn functions(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let Ok(registry) = Registry::collect() else { return Vec::new() };
    let found = registry.all().filter(|function| function.path.starts_with(&*begun));
    found.map(|function| CompletionCandidate::new(&*function.path).help(Some(function.summary().into()))).collect()
}
