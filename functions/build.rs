//! Hands the commit to a release build, for `--version`.
//!
//! A development build does without, so that a commit does not build the application again.

#![allow(clippy::print_stdout, reason = "a build script speaks to Cargo through its standard output")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CONVOKE_COMMIT");
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    let given = std::env::var("CONVOKE_COMMIT").ok().filter(|commit| !commit.is_empty());
    if let Some(commit) = given.or_else(of_the_checkout) {
        println!("cargo::rustc-env=CONVOKE_COMMIT={commit}");
    }
}

fn of_the_checkout() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    // Git writes this file whenever another commit is checked out or made.
    let log = "../.git/logs/HEAD";
    if !output.status.success() || commit.is_empty() || !std::path::Path::new(log).exists() {
        return None;
    }
    println!("cargo::rerun-if-changed={log}");
    Some(commit)
}
