//! The generated clients as files, so that every change of the interface shows in the review of a change.
//!
//! They are made by the binary: this test's own process has functions that no client meets.

use std::path::Path;
use std::process::Command;

/// Set to accept the clients as they are now: `CONVOKE_BLESS=1 cargo test -p functions codegen`.
const BLESS: &str = "CONVOKE_BLESS";

fn codegen(args: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_convoke")).arg("codegen").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn assert_is_reviewed(language: &str, file: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let file = file.to_str().unwrap();
    if std::env::var_os(BLESS).is_some() {
        assert!(codegen(&[language, "--out", file]).0);
    }
    let (up_to_date, _, said) = codegen(&[language, "--out", file, "--check"]);
    assert!(up_to_date, "{said}If the interface is meant to change, run the tests with {BLESS}=1 and commit the file");
}

#[test]
fn the_typescript_client_is_the_one_that_was_reviewed() {
    assert_is_reviewed("typescript", "../examples/typescript/convoke.ts");
}

#[test]
fn the_rust_client_is_the_one_that_was_reviewed() {
    assert_is_reviewed("rust", "../examples/src/bin/client/convoke.rs");
}

#[test]
fn two_runs_print_the_same_and_no_internal_function() {
    for (language, internal) in [("typescript", "concludeIdle"), ("rust", "conclude_idle")] {
        let (_, text, _) = codegen(&[language]);
        assert!(text.contains("users/") || text.contains("saveOnboarding"), "{language}");
        assert!(!text.contains(internal), "{language}");
        assert_eq!(codegen(&[language]).1, text);
    }
}

#[test]
fn a_file_that_is_not_up_to_date_is_told_with_its_line_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/convoke.ts");
    let file = path.to_str().unwrap();
    let (missing, _, said) = codegen(&["typescript", "--out", file, "--check"]);
    assert!(!missing && said.contains("cannot be read"), "{said}");
    assert!(codegen(&["typescript", "--out", file]).0, "folders are made");
    assert!(codegen(&["typescript", "--out", file, "--check"]).0);
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replacen("export interface Client {", "export interface Customer {", 1);
    std::fs::write(&path, &changed).unwrap();
    let (stale, _, said) = codegen(&["typescript", "--out", file, "--check"]);
    let line = 1 + text.lines().position(|line| line == "export interface Client {").unwrap();
    assert!(!stale && said.contains(&format!("line {line} on")) && said.contains("--out"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), changed);
}
