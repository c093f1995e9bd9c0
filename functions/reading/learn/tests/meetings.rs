//! Scores of tasks, decisions and topics in labelled meetings of ten languages.
//!
//! The totals per language are golden files, so that every change of rules, language files or weights is visible:
//! `meetings.txt`, and `meetings_cross_validated.txt`, in which each meeting is read with weights learned from the
//! others (slightly too good: all meetings contributed to the choice of words with known senses).
//!
//! `MEETINGS_SHOW=de cargo test -p learn --test meetings -- --nocapture` prints what was missed in German, for meetings
//! on which rules are tuned (`all`: every language; with `MEETINGS_ALL`: also held-out ones; with `cross_validated --
//! --ignored`: those that teach). `MEETINGS_FROM=<folder>` scores the files of another folder, which has no golden
//! file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use learn::corpus::{KINDS, LANGUAGES, Meeting, Taught, UNSEEN, meetings, root, taught};
use learn::scoring::{Score, score};
use learn::training_set::TrainingSet;
use reading::model::weights::Learned;

/// Set to accept the current totals.
const BLESS: &str = "CONVOKE_BLESS";
/// A folder to score instead of the corpus.
const FROM: &str = "MEETINGS_FROM";
/// Number of parts of the meetings, each read with weights learned from the others.
const PARTS: usize = 5;
const CROSS_VALIDATED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/meetings_cross_validated.txt");
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/meetings.txt");

/// A meeting with its score and what was missed.
type Scored<'t> = (&'t Taught, (Score, Vec<String>));

#[test]
fn meetings_are_read_as_the_golden_totals_say() {
    if let Some(folder) = std::env::var_os(FROM) {
        return print!("{}", table(&PathBuf::from(folder), |_| true, true));
    }
    let here = root();
    let shows_held_out = std::env::var_os("MEETINGS_ALL").is_some();
    let seen = table(&here, |meeting| !meeting.held_out, true);
    let held_out = table(&here, |meeting| meeting.held_out, shows_held_out);
    let unseen: String =
        UNSEEN.iter().map(|folder| format!("{folder}\n{}", table(&here.join(folder), |_| true, false))).collect();
    let totals = format!("seen\n{seen}held out\n{held_out}{unseen}");
    print!("{totals}");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(GOLDEN, &totals).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    assert_eq!(totals, golden, "the totals have changed; if that is intended, `.ci/renew` updates the golden file");
}

/// Returns the scores of some meetings of a folder, one line per language, and the total.
fn table(folder: &Path, is_meant: impl Fn(&Meeting) -> bool, shows: bool) -> String {
    let mut table = Score::HEADER.to_owned();
    let mut all = Score::default();
    for language in LANGUAGES {
        let mut of_language = Score::default();
        for meeting in meetings(folder, language).iter().filter(|meeting| is_meant(meeting)) {
            let (score, misses) = score(meeting, language, Learned::known());
            of_language += score;
            if shows {
                show(language, meeting, &misses);
            }
        }
        table.push_str(&of_language.line(language));
        all += of_language;
    }
    table.push_str(&all.line("all"));
    table
}

/// Prints what was missed in a meeting, if its language was requested.
#[allow(clippy::print_stdout, reason = "who asks for what was missed reads it on the screen")]
fn show(language: &str, meeting: &Meeting, misses: &[String]) {
    let shown = std::env::var("MEETINGS_SHOW").unwrap_or_default();
    if shown == language || shown == "all" {
        misses.iter().for_each(|miss| println!("{language} {}: {miss}", meeting.name));
    }
}

#[test]
#[ignore = "learns once for each part of the meetings"]
fn cross_validated() {
    let taught = taught();
    let training_set = TrainingSet::of(&taught);
    let scored = |part: usize| {
        let files = training_set.learned(|number| number % PARTS != part);
        let weights = Learned::read(files.each_ref().map(String::as_str)).unwrap();
        let left_out = taught.iter().enumerate().filter(|(number, _)| number % PARTS == part);
        left_out.map(|(_, one)| (one, score(&one.meeting, one.language, &weights))).collect()
    };
    let scores: Vec<Vec<Scored<'_>>> = std::thread::scope(|scope| {
        let scored = &scored;
        let parts: Vec<_> = (0..PARTS).map(|part| scope.spawn(move || scored(part))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let mut tables = String::new();
    for (name, _) in KINDS {
        tables.push_str(&format!("{name}\n{}", Score::HEADER));
        let mut all = Score::default();
        for language in LANGUAGES {
            let mut of_language = Score::default();
            let meant = scores.iter().flatten().filter(|(one, _)| one.language == language && one.kind == name);
            for (one, (score, misses)) in meant {
                of_language += *score;
                show(language, &one.meeting, misses);
            }
            tables.push_str(&of_language.line(language));
            all += of_language;
        }
        tables.push_str(&all.line("all"));
    }
    print!("{tables}");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(CROSS_VALIDATED, tables).unwrap();
    }
}

#[test]
fn each_meeting_is_there_once() {
    let folders = KINDS.iter().map(|(_, folder)| *folder).chain(UNSEEN);
    let mut all = BTreeMap::new();
    for folder in folders {
        for language in LANGUAGES {
            for meeting in meetings(&root().join(folder), language) {
                let here = format!("{folder}/{language}: {}", meeting.name);
                let again = all.insert(meeting.said, here.clone());
                assert_eq!(again, None, "{here} is there twice: what it teaches would count twice");
            }
        }
    }
}

#[test]
fn there_are_enough_meetings_to_say_something() {
    let count = |language: &str| meetings(&root(), language).len();
    let all: usize = LANGUAGES.iter().map(|language| count(language)).sum();
    assert!(all >= 60, "{all}");
    for language in &LANGUAGES[..7] {
        assert!(count(language) >= 8, "{language}");
        for (kind, folder) in KINDS {
            assert!(!meetings(&root().join(folder), language).is_empty(), "{kind} {language}");
        }
    }
}
