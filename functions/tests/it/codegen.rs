//! The generated clients as files, so that every change of the interface shows in the review of a change.

use std::path::Path;

use convoke::codegen::model::Interface;
use convoke::codegen::{rust, typescript};
use convoke::registry::Registry;

/// Set to accept the clients as they are now: `CONVOKE_BLESS=1 cargo test -p functions codegen`.
const BLESS: &str = "CONVOKE_BLESS";

fn interface() -> Interface {
    Interface::of(&Registry::collect().unwrap())
}

fn assert_is_reviewed(file: &str, now: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&file, now).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = now.lines().zip(reviewed.lines()).position(|(now, reviewed)| now != reviewed);
    assert!(
        now == reviewed,
        "{} changed from line {:?} on; if it is meant to, run the tests with {BLESS}=1 and commit the file",
        file.display(),
        differs.map(|place| place + 1)
    );
}

#[test]
fn the_typescript_client_is_the_one_that_was_reviewed() {
    assert_is_reviewed("../examples/typescript/convoke.ts", &typescript::print(&interface()));
}

#[test]
fn the_rust_client_is_the_one_that_was_reviewed() {
    assert_is_reviewed("../examples/src/bin/client/convoke.rs", &rust::print(&interface()));
}

#[test]
fn two_readings_give_the_same_clients() {
    let (one, other) = (interface(), interface());
    assert!(typescript::print(&one) == typescript::print(&other) && rust::print(&one) == rust::print(&other));
}

#[test]
fn internal_functions_are_in_no_client() {
    for text in [typescript::print(&interface()), rust::print(&interface())] {
        assert!(text.contains("generateInsights"), "public ones are");
        for internal in ["concludeIdle", "mayGenerate", "conclude_idle", "may_generate"] {
            assert!(!text.contains(internal), "{internal}");
        }
    }
}
