//! The command line of every program with functions: `convoke::cli::main()`.
//!
//! Each command has one file. Exit codes: 0 success, 1 failure, 2 invalid command line.

#![warn(clippy::print_stderr)]

#[macro_use]
mod output;
pub mod agents;
pub(crate) mod asked_node;
mod complete_file;
pub mod completions;
pub mod config;
pub mod console;
pub mod codegen;
pub mod deploy_key;
pub mod backup;
pub mod data;
mod copies;
mod data_change;
pub mod dev;
pub mod doctor;
mod durations;
mod executor;
pub mod export;
mod failure;
mod follow;
mod interrupt;
mod files;
pub mod functions;
pub mod jobs;
pub mod migrate;
pub mod openapi;
pub mod health;
pub mod import;
pub mod live;
mod local;
mod logs;
mod mcp;
mod operator_log;
mod program;
mod progress;
mod promote;
pub mod restore;
pub(crate) mod connect;
pub mod run;
mod secret;
pub mod serve;
mod sockets;
mod supervisor;
pub(crate) mod table;
pub mod token;
mod webhooks;
mod workflows;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use convoke_store::Engines;

use failure::Failure;

pub use program::Program;

/// Serves functions: HTTP calls as JSON, one binary, one data folder
#[derive(Parser)]
#[command(
    version,
    arg_required_else_help = true,
    propagate_version = true,
    after_help = "\
Start here:
  convoke dev                                  everything on this machine, with a token to paste
  convoke console                              the same server in a browser
  convoke functions                            the functions of this program
  convoke run users/queries/getCurrentUser '{}' --as ada
  convoke help serve                           every setting of a production start
  convoke config example                       the same settings as a commented file

Settings come from flags, then from CONVOKE_… in the environment, then from convoke.toml.
Exit codes: 0 success; 1 failure, with the reason on standard error; 2 the command line is not valid."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The commands by subject, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Serve", &["dev", "serve", "health", "doctor", "config"]),
    ("Call and watch", &["functions", "run", "console", "logs", "live", "jobs", "workflows", "webhooks"]),
    ("Data", &["data", "files", "migrate", "export", "import", "backup", "restore", "copies", "promote"]),
    ("Access", &["token", "deploy-key", "secret"]),
    ("Agents", &["mcp", "agents"]),
    ("Generate", &["codegen", "openapi", "completions", "man"]),
];

/// Returns the command line with its help: commands in groups, and the program's own name and functions in the
/// examples.
fn command() -> clap::Command {
    let command = program::owned(Cli::command());
    let commands = grouped(&command);
    command.name(program::name()).bin_name(program::name()).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}Options:\n{{options}}{{after-help}}"
    ))
}

/// Returns the list of commands with a heading for each group. A command without a group is in the last one.
fn grouped(command: &clap::Command) -> String {
    let all: Vec<_> = command.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let width = all.iter().map(|command| command.get_name().len()).max().unwrap_or_default();
    let line = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        format!("  {:width$}  {about}\n", command.get_name())
    };
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let found = names.iter().filter_map(|name| all.iter().find(|command| command.get_name() == *name));
        let _ = writeln!(text, "{heading}:\n{}", found.map(|command| line(command)).collect::<String>());
    }
    let rest = all.iter().filter(|command| !GROUPS.iter().any(|(_, names)| names.contains(&command.get_name())));
    let rest: String = rest.map(|command| line(command)).collect();
    if !rest.is_empty() {
        let _ = writeln!(text, "Other:\n{rest}");
    }
    text
}

/// Keeps only the most similar command: for an unknown command, clap names all similar ones.
fn with_one_suggestion(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    // clap lists the most similar one last.
    if let Some(ContextValue::Strings(similar)) = error.get(ContextKind::SuggestedSubcommand)
        && let Some(best) = similar.last().cloned()
    {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![best]));
    }
    error
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
    Files(files::Files),
    Export(export::Export),
    Import(import::Import),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Copies(copies::Copies),
    Promote(promote::Promote),
    Doctor(doctor::Doctor),
    Health(health::Health),
    Config(config::ConfigCommand),
    Completions(completions::Completions),
    Man(completions::Man),
    DeployKey(deploy_key::DeployKey),
    Secret(secret::Secret),
    Jobs(jobs::Jobs),
    Webhooks(webhooks::Webhooks),
    Workflows(workflows::Workflows),
    Migrate(migrate::Migrate),
    Logs(logs::Logs),
    Live(live::Live),
    Mcp(mcp::Mcp),
    Agents(agents::Agents),
}

/// Runs the command line of this process with these engines.
pub fn main_with(engines: Engines, program: Program) -> ExitCode {
    completions::answer_shell(command);
    let version = program::version(program, &engines);
    let matches = command().version(version).try_get_matches();
    let matches = matches.unwrap_or_else(|error| with_one_suggestion(error).exit());
    let command = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli.command,
        Err(error) => error.exit(),
    };
    match run(command, &matches, &engines) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            note!("{}: {}", program::name(), program::own_commands(&failure.to_string(), &self::command()));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, matches: &clap::ArgMatches, engines: &Engines) -> Result<(), Failure> {
    match command {
        Command::Serve(serve) => serve.run(engines, matches.subcommand().map(|(_, matches)| matches)),
        Command::Dev(dev) => dev.run(engines, matches.subcommand().map(|(_, matches)| matches)),
        Command::Console(console) => console.run(engines),
        Command::Token(token) => token.run(engines),
        Command::Functions(functions) => functions.run(),
        Command::OpenApi(openapi) => openapi.run(),
        Command::Codegen(codegen) => codegen.run(),
        Command::Run(run) => run.run(engines),
        Command::Data(data) => data.run(engines),
        Command::Files(files) => files.run(engines),
        Command::Export(export) => export.run(engines),
        Command::Import(import) => import.run(engines),
        Command::Backup(backup) => backup.run(engines),
        Command::Restore(restore) => restore.run(engines),
        Command::Promote(promote) => promote.run(engines),
        Command::Copies(copies) => copies.run(engines),
        Command::Doctor(doctor) => doctor.run(engines),
        Command::Health(health) => health.run(),
        Command::Config(config) => config.run(engines, matches.subcommand().map(|(_, matches)| matches)),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(self::command()),
        Command::DeployKey(key) => key.run(engines),
        Command::Secret(secret) => secret.run(engines),
        Command::Jobs(jobs) => jobs.run(engines),
        Command::Webhooks(webhooks) => webhooks.run(engines),
        Command::Workflows(workflows) => workflows.run(engines),
        Command::Migrate(migrate) => migrate.run(engines),
        Command::Logs(logs) => logs.run(engines),
        Command::Live(live) => live.run(engines),
        Command::Mcp(mcp) => mcp.run(engines, self::command()),
        Command::Agents(agents) => agents.run(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use convoke_core::clock::Clock;
    use convoke_store::{Engine, EngineFactory, EngineStart, Files, Installation, OpenError};

    use super::*;

    /// An engine that no command may reach: the data folder is rejected first.
    #[derive(Debug)]
    struct OutOfReach;

    impl EngineFactory for OutOfReach {
        fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError> {
            panic!("a command opened {}", start.data.display())
        }
        fn lock(&self, data: &Path, _: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
            panic!("a command locked {}", data.display())
        }
        fn look(&self, data: &Path, _: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
            panic!("a command looked at {}", data.display())
        }
        fn files(&self, data: &Path) -> Files {
            panic!("a command listed {}", data.display())
        }
    }

    /// The words of each command that has no commands below it, with its definition.
    fn leaves(command: &clap::Command, words: &[String], found: &mut Vec<(Vec<String>, clap::Command)>) {
        let inner: Vec<_> = command.get_subcommands().collect();
        if !command.is_subcommand_required_set() || inner.is_empty() {
            found.push((words.to_vec(), command.clone()));
        }
        for one in inner {
            leaves(one, &[words, &[one.get_name().to_owned()]].concat(), found);
        }
    }

    /// A value that the argument accepts.
    fn value(argument: &clap::Arg) -> String {
        let choices = argument.get_possible_values();
        choices.first().map_or_else(|| "1".to_owned(), |choice| choice.get_name().to_owned())
    }

    #[test]
    fn command_that_starts_no_server_rejects_a_data_folder_that_does_not_exist() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let engines = Engines::embedded("none", Arc::new(OutOfReach));
        let mut found = Vec::new();
        leaves(&Cli::command(), &["convoke".to_owned()], &mut found);
        let mut tried = Vec::new();
        for (mut words, command) in found {
            let has_data =
                command.get_arguments().any(|argument| argument.get_id() == "data" && !argument.is_hide_set());
            if !has_data || matches!(&*words[1], "serve" | "dev") {
                continue;
            }
            let name = words.join(" ");
            // `deploy-key create` asks for scopes itself, to list them. `restore` needs a file unless it has --from.
            let is_restore = words[1] == "restore";
            let is_needed = |argument: &&clap::Arg| {
                let id = argument.get_id();
                argument.is_required_set() || id == "scope" || (id == "file" && is_restore)
            };
            for argument in command.get_arguments().filter(is_needed) {
                words.extend(argument.get_long().map(|long| format!("--{long}")));
                words.push(value(argument));
            }
            words.extend(["--data".to_owned(), missing.display().to_string()]);
            let matches =
                Cli::command().try_get_matches_from(&words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
            let command = Cli::from_arg_matches(&matches).unwrap().command;
            let failure = run(command, &matches, &engines).err().unwrap_or_else(|| panic!("{name} succeeded"));
            assert!(failure.to_string().contains("there is no data folder"), "{name}: {failure}");
            assert!(!missing.exists(), "{name} made the folder");
            tried.push(name);
        }
        for wanted in ["convoke run", "convoke restore", "convoke token", "convoke doctor", "convoke jobs retry"] {
            assert!(tried.iter().any(|name| name == wanted), "{wanted} was not tried: {tried:?}");
        }
    }

    #[test]
    fn each_command_is_in_one_group_of_the_help() {
        let command = command();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut all: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn examples_in_help_have_separate_lines() {
        let mut pending: Vec<_> = command().get_subcommands().cloned().collect();
        while let Some(command) = pending.pop() {
            pending.extend(command.get_subcommands().cloned());
            let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
            for line in about.lines().filter(|line| line.contains(&format!("{} ", program::name()))) {
                assert!(line.starts_with("  ") || line.contains('`'), "{}: {line}", command.get_name());
            }
        }
    }
}
