//! Rules of the source code: the order of crates, the dependencies of tables, no circular dependencies between files and
//! folders, existing file names in comments, and plain words.
//!
//! `.ci/renew` renews the list of `schema`'s dependencies.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the repository has failed")]

mod circles;
mod comments;
mod crates;
mod modules;
mod words;

use std::path::{Path, PathBuf};

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Adds every file with this ending below a folder, without build outputs.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !matches!(name, "target" | "node_modules" | ".git" | "data") {
            files(&path, ending, found);
        } else if path.is_file() && name.ends_with(ending) {
            found.push(path);
        }
    }
}
