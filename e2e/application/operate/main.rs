//! What stands in `deploy/` and `docs/operate.md` is true: the example of settings is what the program reads, and every
//! command of the guide runs against the real binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod deploy;
mod guide;
mod issuer;
mod settings;

use std::path::Path;

/// The repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
