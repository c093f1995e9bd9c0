//! The labelled meetings.
//!
//! Folders of the corpus, each with a file per language:
//!
//! - The corpus itself: meetings on which rules are tuned, except those marked `held_out`. These were scored when the rules
//!   were finished, before the authors of the rules read them (the first two of each language were read later). Their totals
//!   also helped to choose how to learn, so they are slightly too good.
//! - `taught/` and `ordinary/`: meetings that teach weights. No rule is tuned on them. The authors of the first sought words
//!   that are hard to read; the authors of the second wrote as most people talk.
//! - `scenes/`: moments of meetings, with words that are seldom heard.
//! - `unseen/` and `unseen/ordinary/`: meetings that are only scored. Nothing is learned from them or chosen by them.
//!
//! A meeting that was used to change a rule counts as seen from then on. The labels are written by people who do not
//! know the rules; the head of `en.toml` describes them.

use std::path::{Path, PathBuf};

use chrono::{NaiveDate, NaiveTime};
use reading::material::{Chunk, Material, Person};
use serde::Deserialize;

/// Languages of the corpus. Tasks and decisions are labelled in the first seven.
pub const LANGUAGES: [&str; 10] = ["en", "de", "fr", "es", "pt", "it", "nl", "zh", "ja", "pl"];
/// Names and folders of the meetings that teach weights.
pub const KINDS: [(&str, &str); 4] =
    [("taught", "taught"), ("ordinary", "ordinary"), ("scenes", "scenes"), ("seen", "")];
/// Folders of the meetings that are only scored.
pub const UNSEEN: [&str; 2] = ["unseen", "unseen/ordinary"];
/// ms from one line of a meeting to the next, and of one line.
const LINE_MS: i64 = 5_000;
const SPOKEN_MS: i64 = 4_500;
/// Time of day at which a meeting begins.
const BEGINNING: Option<NaiveTime> = NaiveTime::from_hms_opt(9, 0, 0);
/// ms of a day.
const DAY_MS: i64 = 86_400_000;

#[derive(Deserialize)]
struct File {
    meeting: Vec<Meeting>,
}

/// A labelled meeting.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meeting {
    pub name: String,
    date: NaiveDate,
    people: Vec<String>,
    /// A line per chunk: the speaker, a colon, and the words.
    pub said: String,
    /// The labels of items, see [`Label`].
    #[serde(default)]
    pub items: Vec<String>,
    /// Words that a sentence with a decision contains.
    #[serde(default)]
    pub decisions: Vec<String>,
    pub topics: Vec<String>,
    /// Words of sentences that sound like a task and are not.
    #[serde(default)]
    pub no_tasks: Vec<String>,
    #[serde(default)]
    pub held_out: bool,
}

/// The root of the corpus.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

/// The meetings of a language in a folder; none if the language has no file there.
///
/// # Panics
/// If the file is not valid.
#[must_use]
pub fn meetings(folder: &Path, language: &str) -> Vec<Meeting> {
    let path = folder.join(format!("{language}.toml"));
    let Ok(text) = std::fs::read_to_string(&path) else { return Vec::new() };
    let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.meeting
}

/// A meeting that teaches weights.
#[derive(Debug)]
pub struct Taught {
    pub language: &'static str,
    pub kind: &'static str,
    pub meeting: Meeting,
}

/// The meetings that teach weights, in a fixed order.
#[must_use]
pub fn taught() -> Vec<Taught> {
    let mut all = Vec::new();
    for language in LANGUAGES {
        for (kind, folder) in KINDS {
            let taught = meetings(&root().join(folder), language).into_iter().filter(|meeting| !meeting.held_out);
            all.extend(taught.map(|meeting| Taught { language, kind, meeting }));
        }
    }
    all
}

impl Meeting {
    /// The meeting as the application hands it over, its chunks out of order.
    ///
    /// # Panics
    /// If a line has no speaker, or one that is not among the people.
    #[must_use]
    pub fn material(&self) -> Material {
        let held_ms = self.date.and_time(BEGINNING.unwrap_or_default()).and_utc().timestamp_millis();
        let person = |name: &String| Person { id: name.to_lowercase(), name: name.clone(), interests: Vec::new() };
        let people: Vec<Person> = self.people.iter().map(person).collect();
        let mut chunks = Vec::new();
        for (at, line) in (0..).zip(self.said.lines().filter(|line| !line.is_empty())) {
            let (speaker, text) = line.split_once(": ").unwrap_or_else(|| panic!("{}: no speaker: {line}", self.name));
            let speaker = people.iter().find(|person| person.name.contains(speaker));
            let speaker = speaker.unwrap_or_else(|| panic!("{}: unknown speaker: {line}", self.name));
            chunks.push(Chunk {
                speaker_id: speaker.id.clone(),
                speaker_name: speaker.name.clone(),
                start_ms: held_ms % DAY_MS + at * LINE_MS,
                end_ms: held_ms % DAY_MS + at * LINE_MS + SPOKEN_MS,
                text: text.to_owned(),
                language: None,
            });
        }
        chunks.sort_by_key(|chunk| (chunk.start_ms / LINE_MS % 3, chunk.start_ms));
        Material { chunks, notes: String::new(), people, held_ms: Some(held_ms) }
    }

    /// True if a phrase is one of the meeting's topics, or a part of one.
    #[must_use]
    pub fn has_topic(&self, phrase: &str) -> bool {
        let phrase = phrase.to_lowercase();
        self.topics.iter().any(|apt| begins_in(&phrase, apt) || begins_in(apt, &phrase))
    }
}

/// The label of an item: `owner | words | date | quote`.
#[derive(Debug)]
pub struct Label<'l> {
    /// `-` if the item has no owner.
    pub owner: &'l str,
    /// Words that its task contains.
    pub words: &'l str,
    /// Its due day, `?` if there is no date.
    pub date: &'l str,
    /// Words of the line that settles its owner, if labelled.
    pub quote: Option<&'l str>,
}

impl Label<'_> {
    /// Reads a label.
    ///
    /// # Panics
    /// If the label has fewer than three parts.
    #[must_use]
    pub fn of(item: &str) -> Label<'_> {
        let parts: Vec<&str> = item.splitn(4, '|').map(str::trim).collect();
        let [owner, words, date, ..] = parts[..] else { panic!("a label has an owner, words and a date: {item}") };
        Label { owner, words, date, quote: parts.get(3).copied() }
    }
}

/// True if a text contains each of some words, in any case.
#[must_use]
pub fn holds(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    words.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// True if a text contains these words from the beginning of a word.
fn begins_in(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}
