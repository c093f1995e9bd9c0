//! The generated clients of the application.
//!
//! The binary generates them, because this test process has additional functions.

use std::path::Path;
use std::process::Command;

fn codegen(args: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_convoke")).arg("codegen").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// The client is generated, compiled outside of the workspace, and calls a real server and failing servers.
#[test]
fn the_rust_client_compiles_and_calls() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = root.join("examples/client");
    let file = folder.join("src/convoke.rs");
    assert!(codegen(&["rust", "--out", file.to_str().unwrap()]).0);
    // The versions of the workspace are available offline.
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_convoke"));
    let target = program.ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--offline", "--quiet"]).current_dir(folder);
    let output = cargo.env("CARGO_TARGET_DIR", target).env("CONVOKE_BIN", program).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn two_runs_print_the_same_and_no_internal_function() {
    for (language, internal) in [("typescript", "concludeIdle"), ("convex", "concludeIdle"), ("rust", "conclude_idle")]
    {
        let (_, text, _) = codegen(&[language]);
        assert!(text.contains("users/") || text.contains("saveOnboarding"), "{language}");
        assert!(!text.contains(internal), "{language}");
        assert_eq!(codegen(&[language]).1, text);
    }
}

#[test]
fn outdated_file_is_reported_with_its_line_and_not_changed() {
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
