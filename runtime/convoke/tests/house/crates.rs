//! The order of the crates. Cargo rejects circular dependencies, but does not know their direction.

use std::process::Command;

use serde_json::Value;

use crate::root;

/// The order from the lowest crate to the facade. A crate may depend on the crates before it.
const ORDER: [&str; 12] = [
    "convoke-macros",
    "convoke-core",
    "convoke-store",
    "convoke-sqlite",
    "convoke-postgres",
    "convoke-copies",
    "convoke-http",
    "convoke-calls",
    "convoke-server",
    "convoke-codegen",
    "convoke-program",
    "convoke",
];

/// Dependencies that the order would allow, but that must not exist.
const APART: [(&str, &str); 17] = [
    ("convoke-http", "convoke-store"),
    ("convoke-calls", "convoke-http"),
    ("convoke-codegen", "convoke-server"),
    ("schema", "convoke-calls"),
    // Only the facade chooses the engine.
    ("convoke-http", "convoke-sqlite"),
    ("convoke-calls", "convoke-sqlite"),
    ("convoke-server", "convoke-sqlite"),
    ("convoke-codegen", "convoke-sqlite"),
    ("convoke-program", "convoke-sqlite"),
    ("convoke-postgres", "convoke-sqlite"),
    ("convoke-copies", "convoke-sqlite"),
    ("convoke-copies", "convoke-postgres"),
    ("convoke-http", "convoke-postgres"),
    ("convoke-calls", "convoke-postgres"),
    ("convoke-server", "convoke-postgres"),
    ("convoke-codegen", "convoke-postgres"),
    ("convoke-program", "convoke-postgres"),
];

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns each crate of the workspace with the dependencies of its build.
fn crates() -> Vec<(String, Vec<String>)> {
    let metadata = cargo(&["metadata", "--format-version=1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let needs = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|one| one["kind"].is_null()).map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (package["name"].as_str().unwrap().to_owned(), needs(package))).collect()
}

#[test]
fn crate_uses_only_lower_crates() {
    let level = |name: &str| ORDER.iter().position(|one| *one == name);
    let mut checked = 0;
    for (name, needs) in crates() {
        for need in &needs {
            let apart = APART.contains(&(&*name, &**need));
            assert!(!apart, "{name} may not depend on {need}");
            if let (Some(own), Some(other)) = (level(&name), level(need)) {
                assert!(other < own, "{name} depends on {need}, which is above it");
                checked += 1;
            }
        }
    }
    assert!(checked > 15, "only {checked} arrows were seen");
}

/// Names of the engine's library or files outside of its crate would couple the other crates to it.
#[test]
fn only_the_sqlite_engine_uses_sqlite() {
    let names = regex_lite::Regex::new(r"(?i)sqlite|r2d2|pragma").unwrap();
    let mut looked = 0;
    for name in ["core", "store", "http", "calls", "server", "codegen", "program"] {
        let mut files = Vec::new();
        crate::files(&root().join("runtime").join(name).join("src"), ".rs", &mut files);
        looked += files.len();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
            let found: Vec<_> = code.filter(|(_, line)| names.is_match(line)).collect();
            assert!(found.is_empty(), "{} names the engine: {found:?}", file.display());
        }
    }
    assert!(looked > 100, "only {looked} files were seen");
}

/// The crates that read transcripts, each with the workspace crates that it may depend on.
const READING: [(&str, &[&str]); 2] = [("reading", &[]), ("learn", &["reading"])];

#[test]
fn reading_of_transcripts_depends_on_nothing_of_the_runtime() {
    let crates = crates();
    for (name, allowed) in READING {
        let (_, needs) = crates.iter().find(|(one, _)| one == name).unwrap();
        let own: Vec<&str> =
            needs.iter().map(String::as_str).filter(|need| crates.iter().any(|(one, _)| one == need)).collect();
        assert_eq!(own, allowed, "{name} depends on other crates of the workspace");
    }
    let learns = crates.iter().filter(|(_, needs)| needs.iter().any(|need| need == "learn"));
    assert_eq!(learns.count(), 0, "the learner is built into another crate");
}

/// A crate of tables does not depend on the listener, the command line or an HTTP client.
#[test]
fn schema_depends_only_on_its_list() {
    let tree = cargo(&["tree", "--offline", "-p", "schema", "--edges=normal", "--prefix=none", "--format={p}"]);
    let mut names: Vec<_> =
        tree.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    let now = names.join("\n") + "\n";
    let path = root().join("runtime/convoke/tests/house/schema_dependencies.txt");
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(now, listed, "the list differs; if the change is intended, run `.ci/renew`");
    for never in ["rusqlite", "r2d2", "clap", "hyper", "reqwest", "tar", "tokio-rustls", "convoke-calls"] {
        assert!(!names.contains(&never), "{never} came back");
    }
}
