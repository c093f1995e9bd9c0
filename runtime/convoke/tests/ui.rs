//! Compiler messages for mistakes: one mistake per file, after which the file is named.
//!
//! `.ci/renew` renews the expected messages.

#[test]
fn every_mistake_is_told_under_the_token_at_fault() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
