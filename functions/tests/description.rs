//! The description of the interface as text, so that every change that a client sees shows in the review of a change.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use functions as _;

use std::path::Path;

use convoke::openapi::{About, Document, Options};
use convoke::registry::Registry;

/// Set to accept the description as it is now: `CONVOKE_BLESS=1 cargo test -p functions --test description`.
const BLESS: &str = "CONVOKE_BLESS";

fn document(options: &Options) -> Document {
    Document::of(&Registry::collect().unwrap(), About::collect().unwrap(), options)
}

#[test]
fn the_description_is_the_one_that_was_reviewed() {
    let now = document(&Options::default()).to_json();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/openapi.json");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    let line = now.lines().zip(reviewed.lines()).position(|(now, reviewed)| now != reviewed);
    assert!(
        now == reviewed,
        "the description of the interface changed, first in line {}; if it is meant to, run the tests with {BLESS}=1 and \
         commit the file",
        line.map_or(1 + reviewed.lines().count(), |line| 1 + line)
    );
}

#[test]
fn nothing_is_left_for_a_reader_to_guess() {
    let document = document(&Options { admin: true, ..Options::default() });
    assert!(document.gaps().is_empty(), "{}", document.gaps().join("\n"));
}

#[test]
fn every_function_has_a_tag_of_the_application() {
    let document = document(&Options { admin: true, ..Options::default() });
    let tags: Vec<&str> =
        document.value()["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let expected = ["Users", "Meetings", "Transcripts", "Insights", "Prompts", "Notes", "WebRTC", "System", "Server"];
    assert_eq!(tags, expected);
}
