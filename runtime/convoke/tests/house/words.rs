//! The number of words that make a sentence hard to read never grows: `words.txt` has it per crate and document.
//!
//! The count covers comments, string literals and documents. `.ci/renew` writes lower numbers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex_lite::Regex;

use crate::{files, root};

/// The allowed numbers.
const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/house/words.txt");
/// Words that name no thing, and outdated words.
const WORDS: &str = r"(?i)\b(whoever|somebody|nobody|anew|lately|is told|is none|none to be|he|his)\b";

/// A string literal in a line of Rust.
static TEXT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap());

/// Returns the part of a line of Rust that is prose: its comment and its string literals.
fn read_by_people(line: &str) -> String {
    let texts: Vec<&str> = TEXT.find_iter(line).map(|text| text.as_str()).collect();
    let comment = line.split_once("//").map_or("", |(_, comment)| comment);
    format!("{} {comment}", texts.join(" "))
}

/// Returns a document without its code, in blocks and between backticks: names in code are not prose.
fn prose(document: &str) -> String {
    let text: String = document.split("```").step_by(2).collect();
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Returns the number of hard words in each crate and document.
fn counts() -> BTreeMap<String, usize> {
    let words = Regex::new(WORDS).unwrap();
    let mut counts = BTreeMap::new();
    let mut manifests = Vec::new();
    files(&root(), "Cargo.toml", &mut manifests);
    let crates: Vec<&Path> = manifests.iter().filter_map(|manifest| manifest.parent()).collect();
    let mut sources = Vec::new();
    files(&root(), ".rs", &mut sources);
    for source in sources {
        // The crate is the innermost folder with a manifest. `e2e` has none: its tests belong to two crates.
        let e2e = root().join("e2e");
        let folders = crates.iter().copied().chain([&*e2e]);
        let of = folders.filter(|folder| source.starts_with(folder)).max_by_key(|folder| folder.as_os_str().len());
        let Some(of) = of.and_then(|folder| folder.strip_prefix(root()).ok()) else { continue };
        // This file defines the words.
        if source.ends_with("tests/house/words.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&source).unwrap();
        // A generated client repeats the texts of other crates, and exists only after a build.
        if text.starts_with("//! The typed client of a server's functions") {
            continue;
        }
        let found: usize = text.lines().map(|line| words.find_iter(&read_by_people(line)).count()).sum();
        *counts.entry(of.display().to_string()).or_default() += found;
    }
    let mut documents = Vec::new();
    files(&root(), ".md", &mut documents);
    for document in documents {
        let name = document.strip_prefix(root()).unwrap().display().to_string();
        let found = words.find_iter(&prose(&std::fs::read_to_string(&document).unwrap())).count();
        counts.insert(name, found);
    }
    counts.retain(|_, count| *count > 0);
    counts
}

#[test]
fn hard_words_become_fewer() {
    let recorded = std::fs::read_to_string(LIST).unwrap_or_default();
    let allowed: BTreeMap<&str, usize> = recorded
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(count, name)| (name, count.parse().unwrap()))
        .collect();
    let counts = counts();
    let more: Vec<String> = counts
        .iter()
        .filter(|(name, count)| **count > allowed.get(name.as_str()).copied().unwrap_or_default())
        .map(|(name, count)| format!("{name}: {count}"))
        .collect();
    assert!(more.is_empty(), "more of the words {WORDS} than words.txt allows: {more:?}");
    let list: String = counts.iter().map(|(name, count)| format!("{count} {name}\n")).collect();
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(LIST, &list).unwrap();
        return;
    }
    assert_eq!(recorded, list, "there are fewer of them; `.ci/renew` lowers the numbers");
}

#[test]
fn words_are_counted_in_comments_and_texts_only() {
    let words = Regex::new(WORDS).unwrap();
    let count = |line: &str| words.find_iter(&read_by_people(line)).count();
    assert_eq!(count(r#"let he = "nobody calls"; // whoever calls"#), 2);
    assert_eq!(count("let his = the + anew;"), 0);
}
