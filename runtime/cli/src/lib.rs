//! The command line that every program with functions gets: `convoke::cli::main()`.
//!
//! One command, one file. Exit codes: 0 done, 1 it failed, 2 the command line was not understood.

pub(crate) mod asked_node;
pub mod completions;
pub mod config;
pub mod console;
pub mod codegen;
pub mod deploy_key;
pub mod backup;
pub mod data;
mod data_change;
pub mod dev;
pub mod doctor;
pub mod export;
pub mod functions;
pub mod jobs;
pub mod migrate;
pub mod openapi;
pub mod health;
pub mod import;
pub mod live;
mod local;
mod logs;
mod operator_log;
mod progress;
pub mod restore;
pub(crate) mod connect;
pub mod run;
mod secret;
pub mod serve;
mod supervisor;
pub(crate) mod table;
pub mod token;

use std::fmt;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use convoke_store::Engines;

/// Serves functions: HTTP calls as JSON, one binary, one data folder.
#[derive(Parser)]
#[command(
    version,
    arg_required_else_help = true,
    propagate_version = true,
    after_help = "\
Start here:
  convoke dev                                  everything on this machine, with a token to paste
  convoke console                              the same server in a browser
  convoke functions                            what can be called
  convoke run users/queries/getCurrentUser '{}' --as ada
  convoke help serve                           every setting of a production start
  convoke config example                       the same as a file, commented

Settings come from flags, then from CONVOKE_… in the environment, then from convoke.toml.
Exit codes: 0 done; 1 it failed, and standard error says why; 2 the command line was not understood."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Dev(dev::Dev),
    Console(console::Console),
    Token(token::Token),
    Functions(functions::Functions),
    #[command(name = "openapi")]
    OpenApi(openapi::OpenApi),
    Codegen(codegen::Codegen),
    Run(run::Run),
    Data(data::Data),
    Export(export::Export),
    Import(import::Import),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Doctor(doctor::Doctor),
    Health(health::Health),
    Config(config::ConfigCommand),
    Completions(completions::Completions),
    Man(completions::Man),
    DeployKey(deploy_key::DeployKey),
    Secret(secret::Secret),
    Jobs(jobs::Jobs),
    Migrate(migrate::Migrate),
    Logs(logs::Logs),
    Live(live::Live),
}

/// Runs the command line of this process; databases are kept by these engines.
pub fn main_with(engines: Engines) -> ExitCode {
    completions::answer_shell();
    let matches = Cli::command().get_matches();
    let command = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli.command,
        Err(error) => error.exit(),
    };
    let done = match command {
        Command::Serve(serve) => serve.run(&engines, matches.subcommand().map(|(_, matches)| matches)),
        Command::Dev(dev) => dev.run(&engines, matches.subcommand().map(|(_, matches)| matches)),
        Command::Console(console) => console.run(&engines),
        Command::Token(token) => token.run(),
        Command::Functions(functions) => functions.run(),
        Command::OpenApi(openapi) => openapi.run(),
        Command::Codegen(codegen) => codegen.run(),
        Command::Run(run) => run.run(&engines),
        Command::Data(data) => data.run(&engines),
        Command::Export(export) => export.run(&engines),
        Command::Import(import) => import.run(&engines),
        Command::Backup(backup) => backup.run(&engines),
        Command::Restore(restore) => restore.run(&engines),
        Command::Doctor(doctor) => doctor.run(&engines),
        Command::Health(health) => health.run(),
        Command::Config(config) => config.run(matches.subcommand().map(|(_, matches)| matches)),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
        Command::DeployKey(key) => key.run(&engines),
        Command::Secret(secret) => secret.run(&engines),
        Command::Jobs(jobs) => jobs.run(&engines),
        Command::Migrate(migrate) => migrate.run(&engines),
        Command::Logs(logs) => logs.run(&engines),
        Command::Live(live) => live.run(&engines),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("convoke: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Why a command failed: one sentence, or a few lines that say what to do.
pub(crate) struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            next = cause.source();
        }
        Self(text)
    }
}

/// The multi-threaded executor of a serving process.
fn executor() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("convoke").build()
}
