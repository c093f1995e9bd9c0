//! How well meetings are read: tasks, decisions and topics of labelled meetings in ten languages.
//!
//! The meetings lie beside this file, labelled by people who did not know the generator's rules. The seen ones were read
//! while it was written and tuned on. Those marked `held_out` were scored once, when the rules were finished, before
//! those who wrote the rules had read them, and nothing was changed for them since (the first two of a language were read
//! later, to tell what is missed); a change that is made after reading them makes them seen. They teach no weights
//! (`learning`). The totals by language are a golden file, so that every change of the generator or of its
//! language files shows; `MEETINGS_SHOW=de cargo test -p functions --test meetings -- --nocapture` prints what was missed
//! in German of the seen ones (`all` in every language; with `MEETINGS_ALL` of the held out ones, too).
//! `MEETINGS_FROM=<folder>` scores the files of that folder instead, which is how meetings from elsewhere are tried; no
//! golden file holds for them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod learning;
mod scoring;

use std::path::{Path, PathBuf};

use learning::Lessons;
use scoring::{Meeting, Score, meetings};

/// The labelled languages, and those of whose tasks and decisions something is expected.
const LANGUAGES: [&str; 10] = ["en", "de", "fr", "es", "pt", "it", "nl", "zh", "ja", "pl"];
/// Set to accept the totals as they are now.
const BLESS: &str = "CONVOKE_BLESS";
/// A folder to score instead of this one.
const FROM: &str = "MEETINGS_FROM";
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/meetings");
const WEIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/reading/decisions.tsv");
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/meetings.txt");

#[test]
fn meetings_are_read_as_the_golden_totals_say() {
    if let Some(folder) = std::env::var_os(FROM) {
        return print!("{}", table(&PathBuf::from(folder), |_| true, true));
    }
    let here = PathBuf::from(HERE);
    let shows_held_out = std::env::var_os("MEETINGS_ALL").is_some();
    let seen = table(&here, |meeting| !meeting.held_out, true);
    let held_out = table(&here, |meeting| meeting.held_out, shows_held_out);
    let table = format!("seen\n{seen}held out\n{held_out}");
    print!("{table}");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(GOLDEN, &table).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    assert_eq!(table, golden, "meetings are read otherwise; if that is meant, `.ci/renew` writes the totals anew");
}

/// The scores of some meetings of a folder, a line a language, and in all.
#[allow(clippy::print_stdout, reason = "who asks for what was missed reads it on the screen")]
fn table(folder: &Path, is_meant: impl Fn(&Meeting) -> bool, shows: bool) -> String {
    let shown = std::env::var("MEETINGS_SHOW").unwrap_or_default();
    let mut table = Score::HEADER.to_owned();
    let mut all = Score::default();
    for language in LANGUAGES {
        let mut of_language = Score::default();
        for meeting in meetings(folder, language).iter().filter(|meeting| is_meant(meeting)) {
            let (score, misses) = scoring::score(meeting, language);
            of_language += score;
            if shows && (shown == language || shown == "all") {
                misses.iter().for_each(|miss| println!("{language} {}: {miss}", meeting.name));
            }
        }
        table.push_str(&of_language.line(language));
        all += of_language;
    }
    table.push_str(&all.line("all"));
    table
}

#[test]
#[ignore = "writes the weights of decisions anew, which the totals depend on"]
fn weights_are_learned_from_all_meetings_that_are_not_held_out() {
    let mut lessons = Lessons::default();
    for language in LANGUAGES {
        meetings(Path::new(HERE), language).iter().filter(|one| !one.held_out).for_each(|one| lessons.add(one));
    }
    std::fs::write(WEIGHTS, lessons.learned()).unwrap();
}

#[test]
fn there_are_enough_meetings_to_say_something() {
    let count = |language: &str| meetings(Path::new(HERE), language).len();
    let all: usize = LANGUAGES.iter().map(|language| count(language)).sum();
    assert!(all >= 60, "{all}");
    for language in &LANGUAGES[..7] {
        assert!(count(language) >= 8, "{language}");
    }
}
