//! Compiler messages for mistakes: one mistake per file, after which the file is named.
//!
//! `.ci/renew` renews the expected messages.

#[test]
fn every_mistake_is_reported_at_its_token() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
