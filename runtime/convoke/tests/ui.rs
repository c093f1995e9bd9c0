//! What rustc says to mistakes: one a file, named for it.
//!
//! `.ci/renew` writes the expected messages anew.

#[test]
fn every_mistake_is_told_under_the_token_at_fault() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
