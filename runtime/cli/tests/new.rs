//! The tool `convoke` as authors run it. `e2e/new.sh` also builds the programs that it makes.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const TOOL: &str = env!("CARGO_BIN_EXE_convoke");

fn convoke(folder: &Path, args: &[&str]) -> Output {
    Command::new(TOOL).args(args).current_dir(folder).env_remove("CONVOKE_CHECKOUT").output().unwrap()
}

/// Asserts that the command failed with this exit code and advice.
fn assert_refused(output: &Output, code: i32, advice: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(advice), "{text}");
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn program_has_its_name_and_depends_on_the_given_checkout() {
    let folder = TempDir::new().unwrap();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let output = convoke(folder.path(), &["new", "shelf", "--template", "react", "--path", checkout.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |path: &str| fs::read_to_string(folder.path().join("shelf").join(path)).unwrap();
    assert!(read("README.md").starts_with("# shelf\n"));
    assert!(read("Dockerfile").contains("CMD [\"shelf\", \"health\"]"));
    assert!(read("web/package.json").contains("\"shelf-web\""));
    let dependency = format!("convoke = {{ path = \"{}/runtime/convoke\" }}", checkout.display());
    assert!(read("Cargo.toml").contains(&dependency), "{}", read("Cargo.toml"));
}

#[test]
fn invalid_name_existing_folder_and_wrong_checkout_are_refused() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    assert_refused(&convoke(here, &["new", "2shelf"]), 2, "begins with a letter, such as `shelf`");
    assert_refused(&convoke(here, &["new", "a/shelf"]), 2, "change to the folder that will contain the program");
    assert_refused(&convoke(here, &["new", "shelf", "--template", "vue"]), 2, "[possible values: minimal, react]");
    assert_refused(&convoke(here, &["new", "shelf", "--path", "."]), 1, "is not a checkout of Convoke");
    assert_eq!(entries(here), 0);
    fs::create_dir(here.join("shelf")).unwrap();
    assert_refused(&convoke(here, &["new", "shelf"]), 1, "`shelf` exists in this folder; choose another name");
    assert_eq!((entries(here), entries(&here.join("shelf"))), (1, 0));
}

#[test]
fn failed_write_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    // The system refuses to write more than the first kilobyte of a file.
    let script = format!("trap '' XFSZ; ulimit -f 1; exec '{TOOL}' new shelf");
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert_refused(&output, 1, "`shelf` cannot be written: File too large");
    assert_eq!(entries(folder.path()), 0);
}

#[test]
fn missing_or_old_node_is_reported_and_the_program_is_created() {
    let folder = TempDir::new().unwrap();
    let (here, tools) = (folder.path(), folder.path().join("tools"));
    fs::create_dir(&tools).unwrap();
    let new = |name: &str, template: &str| {
        let mut command = Command::new(TOOL);
        command.args(["new", name, "--template", template]).current_dir(here).env("PATH", &tools);
        let output = command.output().unwrap();
        assert!(output.status.success() && here.join(name).join("Cargo.toml").is_file());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = new("without", "react");
    assert!(said.contains("needs Node.js 20.19 or later") && said.contains("no `node` on the PATH"), "{said}");
    assert!(!new("minimal", "minimal").contains("Node.js"));
    let node = tools.join("node");
    fs::write(&node, "#!/bin/sh\necho v18.20.4\n").unwrap();
    fs::set_permissions(&node, fs::Permissions::from_mode(0o755)).unwrap();
    let said = new("old", "react");
    assert!(said.contains("`node --version` says \"v18.20.4\""), "{said}");
    fs::write(&node, "#!/bin/sh\necho v20.19.0\n").unwrap();
    assert!(!new("enough", "react").contains("Node.js"));
}

#[test]
fn command_of_a_program_needs_a_program() {
    let folder = TempDir::new().unwrap();
    let advice = "`dev` is a command of a program, and this folder has none";
    assert_refused(&convoke(folder.path(), &["dev"]), 1, advice);
}

#[test]
fn command_of_a_program_is_passed_to_cargo_with_its_arguments() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("Cargo.toml"), "").unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    let output = Command::new(TOOL)
        .args(["run", "books/list", "--json"])
        .current_dir(folder.path().join("src"))
        .env("CARGO", "/bin/echo")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "run -- run books/list --json\n");
}
