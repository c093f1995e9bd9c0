//! The tool `convoke`: `convoke new` makes a program, and any other command runs the program of the current folder.
//!
//! A program has its own command line, in the crate `convoke-program`. The tool contains no runtime, so that it is
//! installed within seconds.

mod dependency;
mod folder;
mod forward;
mod name;
mod new;
mod node;
mod template;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Makes a program with functions, and runs its commands
#[derive(Parser)]
#[command(
    name = "convoke",
    version = version(),
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Any other command is one of your program. In its folder, `convoke dev` runs `cargo run -- dev`.

Start here:
  convoke new shelf
  cd shelf
  convoke dev"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    New(new::New),
    #[command(external_subcommand)]
    OfProgram(Vec<OsString>),
}

/// Returns the version, with the commit if the variable `CONVOKE_COMMIT` is set at build time.
fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    option_env!("CONVOKE_COMMIT").map_or_else(|| version.to_owned(), |commit| format!("{version} (commit {commit})"))
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::New(new) => new.run(),
        Command::OfProgram(words) => forward::run(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("convoke: {reason}");
            ExitCode::FAILURE
        }
    }
}
