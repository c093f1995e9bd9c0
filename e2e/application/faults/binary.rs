//! The program that the tests of processes run.

use std::path::{Path, PathBuf};

/// Returns the program of `CONVOKE_BIN`, relative to the workspace. The default is the program that cargo built for the
/// test.
pub(crate) fn binary() -> PathBuf {
    let named = std::env::var_os("CONVOKE_BIN");
    let named = named.map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path));
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_convoke").into())
}
