//! Tests `deploy/` and the operator's guide: the program reads the example of settings, and every command of the guide runs
//! against the real binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod deploy;
mod guide;
mod issuer;
mod settings;

use std::path::Path;

/// Returns the root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
