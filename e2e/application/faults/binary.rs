//! Which program the tests of whole processes run.

use std::path::{Path, PathBuf};

/// The one that `CONVOKE_BIN` names, as seen from the workspace; else the one that cargo has built for the test.
pub(crate) fn binary() -> PathBuf {
    let named = std::env::var_os("CONVOKE_BIN");
    let named = named.map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path));
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_convoke").into())
}
