//! The crates outside of the workspace: they build from `convoke` alone, and their tests pass. The bookshelf's binary
//! has every command, its generated files are unchanged, and the guide's code is the bookshelf's.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Build folder of this test; the crate is built there too, so that shared dependencies are built once.
fn target() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_hello")).ancestors().nth(2).unwrap().to_owned()
}

fn cargo(name: &str, args: &[&str]) -> Output {
    let folder = root().join("examples").join(name);
    // The versions of the workspace are available offline; the copy drops unused ones.
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(args).args(["--offline", "--quiet"]).current_dir(folder).env("CARGO_TARGET_DIR", target());
    command.output().unwrap()
}

fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn it_builds_alone_its_tests_pass_and_the_guides_commands_run() {
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
    // Its own name, version and functions, everywhere.
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

/// Generated files: a change of the generator is visible in a review of this small application.
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
        assert!(now == reviewed, "{file} changed, first in line {line}; if it is meant, `.ci/renew` writes it anew");
    }
}

/// Functions without a server: listener, command line and HTTP client are not built.
#[test]
fn an_embedded_crate_is_built_without_the_server() {
    succeeded(&cargo("embedded", &["test"]));
    let tree = succeeded(&cargo("embedded", &["tree", "--edges=normal", "--prefix=none", "--format={p}"]));
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"convoke") && names.contains(&"convoke-calls"), "{tree}");
    for never in ["clap", "hyper", "reqwest", "tar", "tokio-rustls", "convoke-http", "convoke-server", "convoke-cli"] {
        assert!(!names.contains(&never), "{never} came along");
    }
}

/// Runs the guide's commands in order. Here `cargo run -- …` is the binary that was built before.
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

/// Returns the guide's blocks of code: language and text.
fn blocks() -> Vec<(String, String)> {
    let guide = std::fs::read_to_string(root().join("docs/develop.md")).unwrap();
    let mut blocks = Vec::new();
    let mut parts = guide.split("```").skip(1).step_by(2);
    for part in parts.by_ref() {
        let (language, text) = part.split_once('\n').unwrap();
        blocks.push((language.to_owned(), text.to_owned()));
    }
    blocks
}

#[test]
fn the_guide_shows_what_is_compiled_and_nothing_else() {
    let folder = root().join("examples/bookshelf");
    let mut files = vec![std::fs::read_to_string(folder.join("Cargo.toml")).unwrap()];
    for file in std::fs::read_dir(folder.join("src")).unwrap() {
        files.push(std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    let mut shown = 0;
    for (language, text) in blocks() {
        match language.as_str() {
            "rust" | "toml" => {
                shown += 1;
                // A block may omit parts; each part in between must occur literally in one file.
                for piece in text.split("…\n") {
                    assert!(files.iter().any(|file| file.contains(piece.trim_end())), "in no file:\n{piece}");
                }
            }
            "ts" | "tsx" => {
                let (text, pages) = (text.trim_end(), ["typescript/client.ts", "react/src/MeetingPage.tsx"]);
                let read = |page: &str| std::fs::read_to_string(root().join("examples").join(page)).unwrap();
                assert!(pages.into_iter().any(|page| read(page).contains(text)), "on no page:\n{text}");
            }
            "sh" | "console" | "json" => {}
            other => panic!("a block of {other:?}: say rust, toml, ts, tsx, sh, console or json"),
        }
    }
    assert!(shown >= 15, "only {shown} blocks of code");
}
