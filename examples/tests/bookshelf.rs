//! The crates outside the workspace build with only `convoke`, and their tests pass. The bookshelf's binary has every
//! command, its generated files are unchanged, and the commands of the tutorial run.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the build folder of this test. The crate is built there too, so that both share the compiled dependencies.
fn target() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_hello")).ancestors().nth(2).unwrap().to_owned()
}

fn cargo(name: &str, args: &[&str]) -> Output {
    let folder = root().join("examples").join(name);
    // The crate gets the versions of the workspace, which are downloaded already. Cargo removes unused ones from the copy.
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(args).args(["--offline", "--quiet"]).current_dir(folder).env("CARGO_TARGET_DIR", target());
    command.output().unwrap()
}

fn succeeded(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stderr}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn it_builds_alone_and_runs_the_commands_of_the_guide() {
    succeeded(&cargo("bookshelf", &["test"]));
    succeeded(&cargo("bookshelf", &["build"]));
    let folder = TempDir::new().unwrap();
    let binary = target().join("debug/bookshelf");
    let run = |args: &[&str]| {
        let output = Command::new(&binary).args(args).current_dir(folder.path()).env_clear().output().unwrap();
        succeeded(&output)
    };
    assert!(run(&["functions"]).contains("loans/borrowBook"));
    assert!(run(&["config", "example"]).contains("[shelf]"));
    // The output has the name, version and functions of the bookshelf.
    assert_eq!(run(&["--version"]), format!("bookshelf 0.3.0 (convoke {}; sqlite)\n", env!("CARGO_PKG_VERSION")));
    let help = run(&["help"]);
    assert!(help.contains("  bookshelf run books/list '{}' --as ada\n"), "{help}");
    for command in ["help", "run --help", "codegen --help", "backup --help"] {
        let help = run(&command.split(' ').collect::<Vec<_>>());
        assert!(!help.contains("convoke run") && !help.contains("getCurrentUser"), "{help}");
    }
    assert!(run(&["openapi"]).contains("/api/run/books/add"));
    let book = run(&["run", "books/add", r#"{"title":"SICP"}"#, "--as", "ada"]);
    assert!(book.starts_with("\"book_"), "{book}");
    assert!(run(&["run", "books/list"]).contains("SICP"));
    commands(&binary);
    generated(run);
}

/// Compares the generated files with golden files of a small program, so that a review shows changes of the generators only.
fn generated(run: impl Fn(&[&str]) -> String) {
    let golden = root().join("examples/bookshelf/golden");
    for (file, command) in [
        ("openapi.json", &["openapi"][..]),
        ("client.ts", &["codegen", "typescript"]),
        ("api.ts", &["codegen", "convex"]),
        ("client.rs", &["codegen", "rust"]),
    ] {
        let (now, path) = (run(command), golden.join(file));
        if std::env::var_os("CONVOKE_BLESS").is_some() {
            std::fs::create_dir_all(&golden).unwrap();
            std::fs::write(&path, &now).unwrap();
        }
        let reviewed = std::fs::read_to_string(&path).unwrap_or_default();
        let line = now.lines().zip(reviewed.lines()).position(|(now, reviewed)| now != reviewed);
        let line = line.map_or(1 + reviewed.lines().count(), |line| 1 + line);
        assert!(now == reviewed, "{file} differs, first in line {line}; if the change is intended, run `.ci/renew`");
    }
}

/// Checks that an embedded crate builds no listener, command line or HTTP client.
#[test]
fn embedded_crate_builds_without_the_server() {
    succeeded(&cargo("embedded", &["test"]));
    let tree = succeeded(&cargo("embedded", &["tree", "--edges=normal", "--prefix=none", "--format={p}"]));
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"convoke") && names.contains(&"convoke-calls"), "{tree}");
    for never in
        ["clap", "hyper", "reqwest", "tar", "tokio-rustls", "convoke-http", "convoke-server", "convoke-program"]
    {
        assert!(!names.contains(&never), "{never} came along");
    }
}

/// Runs the guide's commands in order. `cargo run -- …` there is the binary here, which was built already.
fn commands(binary: &Path) {
    let folder = TempDir::new().unwrap();
    let shim = folder.path().join("bin/cargo");
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\nrun) while [ \"$1\" != -- ]; do shift; done; shift; exec {} \"$@\";;\n\
         test) exit 0;;\n*) echo \"the guide calls cargo $1\" >&2; exit 1;;\nesac\n",
        binary.display()
    );
    std::fs::write(&shim, script).unwrap();
    std::fs::set_permissions(&shim, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    let blocks: Vec<String> =
        blocks().into_iter().filter(|(language, _)| language == "sh").map(|(_, text)| text).collect();
    assert!(blocks.len() >= 4, "the guide has commands");
    for block in blocks {
        let mut shell = Command::new("sh");
        shell.args(["-euc", &block]).current_dir(folder.path()).env_clear().env("PATH", &path);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{block}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Pages for authors whose commands the bookshelf runs, in this order.
const PAGES: [&str; 17] = [
    "tutorial/start",
    "tutorial/table",
    "tutorial/function",
    "tutorial/run",
    "tutorial/test",
    "tutorial/errors",
    "tutorial/settings",
    "tutorial/repeat",
    "tutorial/schedule",
    "tutorial/services",
    "tutorial/rates",
    "tutorial/change",
    "tutorial/page",
    "tutorial/deploy",
    "how-to/migrate",
    "how-to/typed-clients",
    "how-to/write-tests",
];

/// Returns the blocks of code of the tutorial: language and text.
fn blocks() -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for page in PAGES {
        let text = std::fs::read_to_string(root().join(format!("docs/{page}.md"))).unwrap();
        for block in text.split("```").skip(1).step_by(2) {
            let (language, text) = block.split_once('\n').unwrap();
            blocks.push((language.to_owned(), text.to_owned()));
        }
    }
    blocks
}
