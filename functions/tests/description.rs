//! The description of the application's API, for every function.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use functions as _;

use convoke_calls::registry::Registry;
use convoke_server::openapi::{About, Document, Options};

fn document(options: &Options) -> Document {
    Document::of(&Registry::collect().unwrap(), About::collect().unwrap(), options)
}

#[test]
fn nothing_is_left_for_a_reader_to_guess() {
    let document = document(&Options { admin: true, ..Options::default() });
    assert!(document.gaps().is_empty(), "{}", document.gaps().join("\n"));
}

#[test]
fn admin_functions_describe_their_permitted_callers() {
    let document = document(&Options { admin: true, ..Options::default() });
    let description = |path: &str| {
        let text = document.value()["paths"][format!("/api/run/{path}")]["post"]["description"].as_str();
        text.unwrap_or_else(|| panic!("{path} is not described")).to_owned()
    };
    let migration = description("interests/migrations/labelInterests");
    assert!(migration.contains("For a deploy key.") && !migration.contains("role `admin`"), "{migration}");
    assert!(
        description("system/audit/listAuditEntries").contains("For a deploy key, or a user with the role `admin`.")
    );
}

#[test]
fn every_function_has_a_tag_of_the_application() {
    let document = document(&Options { admin: true, ..Options::default() });
    let tags: Vec<&str> =
        document.value()["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let of_the_runtime = ["Workflows", "Server"];
    let own = ["Users", "Meetings", "Transcripts", "Insights", "Prompts", "Notes", "WebRTC", "System"];
    assert_eq!(tags, [&own[..], &of_the_runtime].concat());
}
