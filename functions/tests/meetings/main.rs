//! How well meetings are read: tasks, decisions and topics of labelled meetings in ten languages.
//!
//! The meetings lie beside this file, labelled before the generator saw them. Half of them were held out while it was
//! written. The totals by language are a golden file, so that every change of the generator or of its language files
//! shows; `MEETINGS_SHOW=de cargo test -p functions --test meetings -- --nocapture` prints what was missed in German.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod scoring;

use scoring::{Score, meetings};

/// The labelled languages, and those of whose tasks and decisions something is expected.
const LANGUAGES: [&str; 10] = ["en", "de", "fr", "es", "pt", "it", "nl", "zh", "ja", "pl"];
/// Set to accept the totals as they are now.
const BLESS: &str = "CONVOKE_BLESS";
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/meetings.txt");

#[test]
fn meetings_are_read_as_the_golden_totals_say() {
    let shown = std::env::var("MEETINGS_SHOW").unwrap_or_default();
    let mut table = String::new();
    for held_out in [false, true] {
        table.push_str(if held_out { "held out\n" } else { "seen\n" });
        table.push_str(Score::HEADER);
        let mut all = Score::default();
        for language in LANGUAGES {
            let mut of_language = Score::default();
            for meeting in meetings(language).iter().filter(|meeting| meeting.held_out == held_out) {
                let (score, misses) = scoring::score(meeting, language);
                of_language += score;
                if shown == language && (!held_out || std::env::var_os("MEETINGS_ALL").is_some()) {
                    misses.iter().for_each(|miss| println!("{}: {miss}", meeting.name));
                }
            }
            table.push_str(&of_language.line(language));
            all += of_language;
        }
        table.push_str(&all.line("all"));
    }
    print!("{table}");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(GOLDEN, &table).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    assert_eq!(table, golden, "meetings are read otherwise; if that is meant, `.ci/renew` writes the totals anew");
}

#[test]
fn there_are_enough_meetings_to_say_something() {
    let count: usize = LANGUAGES.iter().map(|language| meetings(language).len()).sum();
    assert!(count >= 60, "{count}");
    for language in &LANGUAGES[..7] {
        assert!(meetings(language).len() >= 8, "{language}");
    }
}
