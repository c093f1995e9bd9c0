//! The walls of the house: which crate may know which, what tables alone bring along, that no folders of modules know
//! each other in a circle, and that comments name files which exist.
//!
//! `.ci/renew` writes the list of `schema`'s dependencies anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the repository has failed")]

mod circles;
mod comments;
mod crates;
mod modules;
mod words;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file with this ending below a folder, without what builds leave.
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
