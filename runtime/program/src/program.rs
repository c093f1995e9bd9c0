//! The running program's own name, version and functions, for help, messages and generated files.
//!
//! The help texts of this crate name the program `convoke`. An author's program has another name, so each text is
//! converted here before it is shown.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{LazyLock, OnceLock};

use clap::{Arg, Command};
use regex_lite::{Captures, Regex};

use convoke_calls::registry::Registry;
use convoke_store::Engines;

/// The version of a program, for `--version`.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The version of the program's crate.
    pub version: &'static str,
    /// The commit that it was built from.
    pub commit: Option<&'static str>,
}

/// The version of the runtime.
const RUNTIME: &str = env!("CARGO_PKG_VERSION");
/// Program name in the help texts.
const WRITTEN: &str = "convoke";
/// Function that the help texts call.
const WRITTEN_FUNCTION: &str = "users/queries/getCurrentUser";

/// Returns the file name of the running program.
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
        called.file_stem().and_then(OsStr::to_str).unwrap_or(WRITTEN).to_owned()
    })
}

/// Returns `0.2.0 (commit 1a2b3c4; sqlite, postgres)`; with the runtime's version if the program has another name.
pub(crate) fn version(program: Program, engines: &Engines) -> String {
    let mut parts = Vec::new();
    if name() != WRITTEN {
        parts.push(format!("{WRITTEN} {RUNTIME}"));
    }
    parts.extend(program.commit.map(|commit| format!("commit {commit}")));
    parts.push(engines.names().join(", "));
    format!("{} ({})", program.version, parts.join("; "))
}

/// Returns a text of this crate with the program's own name in its commands, and its own function in its examples.
pub(crate) fn own(text: &str) -> String {
    let text = renamed(text, |_| true);
    match text.contains(WRITTEN_FUNCTION).then(example_function).flatten() {
        Some(function) => text.replace(WRITTEN_FUNCTION, &function),
        None => text,
    }
}

/// Returns a message with the program's own name in its commands. What the user wrote in it stays as it is.
pub(crate) fn own_commands(message: &str, commands: &Command) -> String {
    renamed(message, |word| commands.find_subcommand(word).is_some())
}

fn renamed(text: &str, is_command: impl Fn(&str) -> bool) -> String {
    /// Matches `convoke` before a command, but not as a part of a file's or folder's name.
    static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(^|[\s`(])convoke ([a-z-]+)").ok());
    let (Some(command), name) = (&*COMMAND, name()) else { return text.to_owned() };
    let rename = |found: &Captures<'_>| match is_command(&found[2]) {
        true => format!("{}{name} {}", &found[1], &found[2]),
        false => found[0].to_owned(),
    };
    command.replace_all(text, rename).into_owned()
}

fn example_function() -> Option<String> {
    Some(Registry::collect().ok()?.example()?.path.to_string())
}

/// Returns the command and all commands below it with [`own`] applied to their help.
pub(crate) fn owned(command: Command) -> Command {
    let (about, long_about) = (command.get_about().map(own_of), command.get_long_about().map(own_of));
    let (before, after) = (command.get_before_help().map(own_of), command.get_after_help().map(own_of));
    let mut command = command.mut_args(owned_arg).mut_subcommands(owned);
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(about) = long_about {
        command = command.long_about(about);
    }
    if let Some(before) = before {
        command = command.before_help(before);
    }
    match after {
        Some(after) => command.after_help(after),
        None => command,
    }
}

fn owned_arg(arg: Arg) -> Arg {
    let (help, long) = (arg.get_help().map(own_of), arg.get_long_help().map(own_of));
    let arg = match help {
        Some(help) => arg.help(help),
        None => arg,
    };
    match long {
        Some(long) => arg.long_help(long),
        None => arg,
    }
}

fn own_of(text: &clap::builder::StyledStr) -> String {
    own(&text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_get_the_name_of_the_program_and_files_keep_theirs() {
        let name = name();
        assert_eq!(own("see `convoke config check`"), format!("see `{name} config check`"));
        assert_eq!(own("  convoke backup --keep 7"), format!("  {name} backup --keep 7"));
        for text in ["/etc/convoke/convoke.toml", "convoke.toml takes", "Convoke serves", "_convoke is"] {
            assert_eq!(own(text), text);
        }
    }

    #[test]
    fn message_keeps_what_the_user_wrote() {
        let (name, commands) = (name(), Command::new("convoke").subcommand(Command::new("restore")));
        let own = |message| own_commands(message, &commands);
        assert_eq!(own("see `convoke restore --help`"), format!("see `{name} restore --help`"));
        let message = format!("convoke x.db cannot be read by {WRITTEN_FUNCTION}");
        assert_eq!(own(&message), message);
    }
}
