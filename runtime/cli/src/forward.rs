//! Commands of the program in the current folder.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Replaces this process with `cargo run -- WORDS`, so that signals reach the program.
///
/// # Errors
/// There is no `Cargo.toml` in this folder or above it, or cargo cannot be started.
pub(crate) fn run(words: &[OsString]) -> Result<(), String> {
    let command = words.first().map(|word| word.display().to_string()).unwrap_or_default();
    let here = std::env::current_dir().map_err(|error| format!("the current folder cannot be read: {error}"))?;
    if !here.ancestors().any(|folder| folder.join("Cargo.toml").is_file()) {
        return Err(format!(
            "`{command}` is a command of a program, and this folder has none: there is no Cargo.toml here or above. \
             Change to the folder of your program, or make one with `convoke new NAME`"
        ));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let error = Command::new(cargo).args(["run", "--"]).args(words).exec();
    Err(format!("cargo cannot be started: {error}. Install Rust from https://rustup.rs"))
}
