//! The routes of the crate that is being compiled, so that two routes for one request are a compile error.
//!
//! An attribute sees one item. All attributes of a crate run in one process, which remembers the routes here. An editor
//! expands the same items again and again in a process that lives long, so nothing is remembered there; the compiler and
//! the start of the program still report the mistake.

use std::sync::{LazyLock, Mutex, PoisonError};

/// A route that was expanded before.
#[derive(Clone)]
pub(super) struct Sibling {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// File and line.
    pub place: String,
}

static EXPANDED: Mutex<Vec<Sibling>> = Mutex::new(Vec::new());

/// Remembers a route, and returns the earlier ones with the same method.
pub(super) fn before(method: &str, path: &str) -> Vec<Sibling> {
    if !*IS_COMPILER {
        return Vec::new();
    }
    let at = proc_macro::Span::call_site();
    let place = format!("{}:{}", at.file(), at.line());
    let mut expanded = EXPANDED.lock().unwrap_or_else(PoisonError::into_inner);
    let others = expanded.iter().filter(|sibling| sibling.method == method && sibling.place != place);
    let others = others.cloned().collect();
    expanded.push(Sibling { method: method.to_owned(), path: path.to_owned(), place });
    others
}

/// True in the compiler: not in a test of this crate, and not in an editor.
static IS_COMPILER: LazyLock<bool> = LazyLock::new(|| {
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    proc_macro::is_available() && !name.starts_with("rust-analyzer")
});
