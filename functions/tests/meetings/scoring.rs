//! What is found in a labelled meeting, held against its labels.

use std::ops::AddAssign;
use std::path::Path;

use functions::reading::action_items::item::{ActionItem, EVIDENCE_MAX, LINE_WORDS_MAX};
use functions::reading::findings::Findings;
use functions::reading::material::{Chunk, Material, Person};
use functions::reading::phrases::Phrases;
use functions::reading::text::normalized;
use functions::reading::weights::Learned;
use serde::Deserialize;

/// Topics that a summary names.
const TOPICS: usize = 3;
/// ms of a day.
const DAY_MS: i64 = 86_400_000;

#[derive(Deserialize)]
struct File {
    meeting: Vec<Meeting>,
}

/// A labelled meeting; the head of `en.toml` says what the labels mean.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Meeting {
    pub name: String,
    date: chrono::NaiveDate,
    people: Vec<String>,
    pub said: String,
    #[serde(default)]
    pub items: Vec<String>,
    #[serde(default)]
    pub decisions: Vec<String>,
    pub topics: Vec<String>,
    #[serde(default)]
    pub no_tasks: Vec<String>,
    #[serde(default)]
    pub held_out: bool,
}

/// The meetings of a language in a folder; none where it has no file.
pub(crate) fn meetings(folder: &Path, language: &str) -> Vec<Meeting> {
    let path = folder.join(format!("{language}.toml"));
    let Ok(text) = std::fs::read_to_string(&path) else { return Vec::new() };
    let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.meeting
}

/// Counts over meetings.
#[derive(Default, Clone, Copy)]
pub(crate) struct Score {
    items: Hits,
    /// Dates of the items that were found.
    dates: usize,
    dates_right: usize,
    decisions: Hits,
    topics: usize,
    topics_apt: usize,
    no_tasks: usize,
    /// Those that are told as a task.
    no_tasks_taken: usize,
}

#[derive(Default, Clone, Copy)]
struct Hits {
    labelled: usize,
    found: usize,
    right: usize,
}

impl Hits {
    fn precision(self) -> f64 {
        if self.found == 0 { 1.0 } else { self.right as f64 / self.found as f64 }
    }

    fn recall(self) -> f64 {
        if self.labelled == 0 { 1.0 } else { self.right as f64 / self.labelled as f64 }
    }

    fn f1(self) -> f64 {
        if self.right == 0 { 0.0 } else { 2.0 * self.right as f64 / (self.labelled + self.found) as f64 }
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Score) {
        for (sum, more) in [(&mut self.items, other.items), (&mut self.decisions, other.decisions)] {
            sum.labelled += more.labelled;
            sum.found += more.found;
            sum.right += more.right;
        }
        self.dates += other.dates;
        self.dates_right += other.dates_right;
        self.topics += other.topics;
        self.topics_apt += other.topics_apt;
        self.no_tasks += other.no_tasks;
        self.no_tasks_taken += other.no_tasks_taken;
    }
}

impl Score {
    pub(crate) const HEADER: &str = "      items  found right precision recall   F1 | dates right | decisions found right precision recall | topics apt | no tasks taken\n";

    /// How many items are right.
    pub(crate) fn items_right(&self) -> usize {
        self.items.right
    }

    pub(crate) fn line(&self, name: &str) -> String {
        let Score { items, decisions, .. } = self;
        format!(
            "{name:5} {:5} {:6} {:5} {:9.2} {:6.2} {:4.2} | {:5} {:5} | {:9} {:5} {:5} {:9.2} {:6.2} | {:6} {:3} | {:8} {:5}\n",
            items.labelled,
            items.found,
            items.right,
            items.precision(),
            items.recall(),
            items.f1(),
            self.dates,
            self.dates_right,
            decisions.labelled,
            decisions.found,
            decisions.right,
            decisions.precision(),
            decisions.recall(),
            self.topics,
            self.topics_apt,
            self.no_tasks,
            self.no_tasks_taken,
        )
    }
}

pub(crate) fn material(meeting: &Meeting) -> Material {
    let held_ms = meeting.date.and_hms_opt(9, 0, 0).unwrap().and_utc().timestamp_millis();
    let person = |name: &String| Person { id: name.to_lowercase(), name: name.clone(), interests: Vec::new() };
    let people: Vec<Person> = meeting.people.iter().map(person).collect();
    let mut chunks = Vec::new();
    for (at, line) in (0..).zip(meeting.said.lines().filter(|line| !line.is_empty())) {
        let (speaker, text) = line.split_once(": ").unwrap();
        let speaker = people.iter().find(|person| person.name.contains(speaker)).unwrap_or_else(|| panic!("{line}"));
        chunks.push(Chunk {
            speaker_id: speaker.id.clone(),
            speaker_name: speaker.name.clone(),
            start_ms: held_ms % DAY_MS + at * 5_000,
            end_ms: held_ms % DAY_MS + at * 5_000 + 4_500,
            text: text.to_owned(),
            language: None,
        });
    }
    // They arrive out of order.
    chunks.sort_by_key(|chunk| (chunk.start_ms / 5_000 % 3, chunk.start_ms));
    Material { chunks, notes: String::new(), people, held_ms: Some(held_ms) }
}

pub(crate) fn holds(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    words.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// Whether a phrase is one of a meeting's topics, or a part of one.
pub(crate) fn is_apt(phrase: &str, meeting: &Meeting) -> bool {
    let phrase = phrase.to_lowercase();
    meeting.topics.iter().any(|apt| begins_in(&phrase, apt) || begins_in(apt, &phrase))
}

/// Whether words stand in a text, from the beginning of a word.
fn begins_in(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

/// What is labelled of an item.
pub(crate) struct Label<'l> {
    pub owner: &'l str,
    pub words: &'l str,
    date: &'l str,
    /// Words of the line in which it is settled who does it, where somebody named them.
    pub quote: Option<&'l str>,
}

impl Label<'_> {
    pub(crate) fn of(item: &str) -> Label<'_> {
        let parts: Vec<&str> = item.splitn(4, '|').map(str::trim).collect();
        Label { owner: parts[0], words: parts[1], date: parts[2], quote: parts.get(3).copied() }
    }
}

fn is_owner(item: &ActionItem, owner: &str) -> bool {
    match &item.owner {
        Some(named) => owner != "-" && named.name.to_lowercase().contains(&owner.to_lowercase()),
        None => owner == "-",
    }
}

/// The score of a meeting, and in words what was missed and what was too much.
pub(crate) fn score(meeting: &Meeting, language: &str, learned: &Learned) -> (Score, Vec<String>) {
    let findings = Findings::weighed(&material(meeting), TOPICS, learned);
    let mut misses = Vec::new();
    let mut score = Score::default();
    assert_eq!(findings.text.language(), language, "{}", meeting.name);
    if Phrases::of(language).is_some() {
        score_items(meeting, &findings.items, &mut score, &mut misses);
        score_decisions(meeting, &findings, &mut score, &mut misses);
    }
    // Of a scene nobody has named the topics.
    for topic in findings.topics.iter().filter(|_| !meeting.topics.is_empty()) {
        let is_apt = is_apt(&topic.phrase, meeting);
        score.topics += 1;
        score.topics_apt += usize::from(is_apt);
        if !is_apt {
            misses.push(format!("- topic: {}", topic.phrase.to_lowercase()));
        }
    }
    (score, misses)
}

/// Words in a row that an item may share with a sentence that is not its evidence.
const SHARED_MAX: usize = 4;

/// Whether an item reads as a person writes it down: within its bound, without brackets but those of its time, and
/// without what others said around it.
pub(crate) fn is_told_short(item: &ActionItem, said: &str) -> bool {
    let task = normalized(&item.task);
    let evidence: Vec<String> = item.evidence.iter().map(|one| normalized(one)).collect();
    let words: Vec<&str> = task.split(' ').collect();
    let holds = |text: &str, run: &str| format!(" {text} ").contains(&format!(" {run} "));
    let lines: Vec<String> = said.lines().filter_map(|line| Some(normalized(line.split_once(": ")?.1))).collect();
    let is_foreign = |run: &[&str]| {
        let run = run.join(" ");
        lines.iter().any(|line| holds(line, &run)) && !evidence.iter().any(|one| holds(one, &run))
    };
    // A sentence of evidence with something before or behind it is a quotation.
    let is_quoted = |one: &String| one.split(' ').count() > SHARED_MAX && *one != task && holds(&task, one);
    item.line().split_whitespace().count() <= LINE_WORDS_MAX
        && item.evidence.len() <= EVIDENCE_MAX
        && !item.task.contains(['(', ')', '[', ']', '…', '“', '”', '"'])
        && !evidence.iter().any(is_quoted)
        && !words.windows(SHARED_MAX + 1).any(is_foreign)
}

/// Counts the items of a meeting against its labels. A label is found in the task alone: neither the owner's name nor the
/// time nor the evidence can hold its words.
pub(crate) fn score_items(meeting: &Meeting, items: &[ActionItem], score: &mut Score, misses: &mut Vec<String>) {
    let mut left: Vec<&ActionItem> = items.iter().collect();
    score.items.labelled = meeting.items.len();
    score.items.found = left.len();
    for item in &meeting.items {
        let Label { owner, words, date, .. } = Label::of(item);
        let is_meant = |found: &&ActionItem| {
            is_owner(found, owner) && is_told_short(found, &meeting.said) && holds(&found.task, words)
        };
        let Some(found) = left.iter().position(is_meant) else {
            misses.push(format!("+ {item}"));
            continue;
        };
        let found = left.remove(found);
        score.items.right += 1;
        let day = found.due_day.map_or_else(|| "?".to_owned(), |day| day.to_string());
        score.dates += usize::from(date != "?");
        score.dates_right += usize::from(date != "?" && day == date);
        if day != date {
            misses.push(format!("  {date} is {day}: {}", found.line()));
        }
    }
    left.iter().for_each(|item| misses.push(format!("- {}", item.line())));
    for words in &meeting.no_tasks {
        score.no_tasks += 1;
        if left.iter().any(|item| holds(&item.task, words)) {
            score.no_tasks_taken += 1;
            misses.push(format!("! {words}"));
        }
    }
}

fn score_decisions(meeting: &Meeting, findings: &Findings, score: &mut Score, misses: &mut Vec<String>) {
    let mut left: Vec<&str> = findings.decisions.iter().map(|decision| decision.text.as_str()).collect();
    score.decisions.labelled = meeting.decisions.len();
    score.decisions.found = left.len();
    for words in &meeting.decisions {
        match left.iter().position(|text| holds(text, words)) {
            Some(found) => {
                left.remove(found);
                score.decisions.right += 1;
            }
            None => misses.push(format!("+ decision {words}")),
        }
    }
    left.iter().for_each(|text| misses.push(format!("- decision {text}")));
}
