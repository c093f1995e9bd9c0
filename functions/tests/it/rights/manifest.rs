//! The functions with their rights as text, so that every change of callable functions and their callers is visible in
//! a review.

use std::fmt::Write as _;
use std::path::Path;

use convoke::testing::TestApp;

use super::access::functions;

/// Set to accept the current functions.
const BLESS: &str = "CONVOKE_BLESS";

#[test]
fn the_functions_are_those_that_were_reviewed() {
    let app = TestApp::new();
    let mut now = String::new();
    for function in functions(&app) {
        let (kind, visibility) = (function.kind().as_str(), function.def.visibility.as_str());
        let rights = function.def.rights.unwrap_or("-");
        let tool = if function.def.tool { "  tool" } else { "" };
        let route = function.def.route.map(|route| format!("  {route}")).unwrap_or_default();
        let _ = writeln!(now, "{kind:8}  {visibility:8}  {rights:18}  {}{tool}{route}", function.path);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/manifest.txt");
    if std::env::var_os(BLESS).is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &now).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(now, reviewed, "the functions changed; if they are meant to, `.ci/renew` writes the file anew");
}
