//! The summary of a meeting: one line of facts, then its own best sentences.
//!
//! Owns how the parts fit into [`SUMMARY_CHARS_MAX`] characters: first the facts, then the sentences by rank, then what
//! was decided and what stayed open, as far as there is room.

use std::collections::HashSet;

use super::insights::{LINE_CHARS_MAX, SUMMARY_CHARS_MAX, clipped};
use super::material::Material;
use super::ranking::ranks;
use super::text::{Text, normalized};
use super::topics::Topic;

/// Speakers who are named; more would push the sentences out.
const NAMES_MAX: usize = 5;
/// Topics that are named.
pub const MAIN_TOPICS: usize = 3;
/// The longest line of facts, characters: half of the summary is for the sentences.
const FACTS_CHARS_MAX: usize = SUMMARY_CHARS_MAX / 2;

/// Writes the summary, the same for every reader. `topics` are best first.
#[must_use]
pub fn summary(
    text: &Text,
    material: &Material,
    topics: &[Topic],
    decisions: &[String],
    open_questions: &[String],
) -> String {
    let mut summary = clipped(&facts(material, topics), FACTS_CHARS_MAX);
    let quotes = quotes(text, room(&summary));
    let quoted: HashSet<String> = quotes.iter().map(|quote| normalized(quote)).collect();
    if !quotes.is_empty() {
        summary = format!("{summary}\n{}", quotes.join(" "));
    }
    let decided = decisions.iter().filter(|decision| !quoted.contains(&normalized(decision)));
    append(&mut summary, "Decided:", decided);
    let open = open_questions.iter().filter(|question| !quoted.contains(&normalized(question)));
    append(&mut summary, "Open:", open);
    summary
}

/// Characters that still fit after a line break.
fn room(summary: &str) -> usize {
    SUMMARY_CHARS_MAX.saturating_sub(summary.chars().count() + 1)
}

fn append<'a>(summary: &mut String, label: &str, lines: impl Iterator<Item = &'a String>) {
    let mut part = label.to_owned();
    for line in lines {
        let line = sentence(line);
        if part.chars().count() + 1 + line.chars().count() > room(summary) {
            break;
        }
        part.push(' ');
        part.push_str(&line);
    }
    if part != label {
        summary.push('\n');
        summary.push_str(&part);
    }
}

fn facts(material: &Material, topics: &[Topic]) -> String {
    let said = match talk(material) {
        Some(talk) => talk,
        None => "Notes without a transcript".to_owned(),
    };
    let named: Vec<&str> = topics.iter().take(MAIN_TOPICS).map(|topic| topic.phrase.as_str()).collect();
    match named[..] {
        [] => format!("{said}."),
        [only] => format!("{said}. Main topic: {only}."),
        _ => format!("{said}. Main topics: {}.", named.join(", ")),
    }
}

/// "12 minutes, 2 speakers (Ada, Bob)"; None without a transcript.
fn talk(material: &Material) -> Option<String> {
    let begin_ms = material.chunks.iter().map(|chunk| chunk.start_ms).min()?;
    let end_ms = material.chunks.iter().map(|chunk| chunk.end_ms).max()?;
    // A begun minute counts: "0 minutes" is no meeting.
    let minutes = (end_ms.saturating_sub(begin_ms).max(1) - 1) / 60_000 + 1;
    let speakers = speakers(material);
    let mut names = speakers[..speakers.len().min(NAMES_MAX)].join(", ");
    if speakers.len() > NAMES_MAX {
        names = format!("{names} and {} more", speakers.len() - NAMES_MAX);
    }
    Some(format!("{}, {} ({names})", counted(minutes, "minute"), counted(speakers.len() as i64, "speaker")))
}

/// Names of those who spoke, in order of their first word.
fn speakers(material: &Material) -> Vec<&str> {
    let mut seen = HashSet::new();
    let spoke = material.chunks.iter().filter(|chunk| seen.insert(chunk.speaker_id.as_str()));
    let name = |id: &str| material.people.iter().find(|person| person.id == id).map(|person| person.name.as_str());
    spoke.map(|chunk| name(&chunk.speaker_id).unwrap_or(&chunk.speaker_name)).collect()
}

/// "1 minute", "2 minutes".
#[must_use]
pub fn counted(number: i64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The three to five best sentences that fit into the room, in the order of the text.
fn quotes(text: &Text, room: usize) -> Vec<String> {
    let mut ranked = ranks(text);
    let wanted = (ranked.len() / 10).clamp(3, 5);
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut left = room;
    let mut chosen: Vec<(usize, String)> = Vec::new();
    for (index, _) in ranked {
        if chosen.len() == wanted {
            break;
        }
        let quote = sentence(&clipped(&text.sentences[index].text, LINE_CHARS_MAX));
        let length = quote.chars().count() + 1;
        if length <= left {
            left -= length;
            chosen.push((index, quote));
        }
    }
    chosen.sort_unstable_by_key(|quote| quote.0);
    chosen.into_iter().map(|(_, quote)| quote).collect()
}

/// A sentence with an end, so that the next one does not run into it.
fn sentence(text: &str) -> String {
    let ends = |c: char| ".!?…。！？؟।:;".contains(c);
    let open = text.trim_end_matches(['"', '\'', '”', '’', '»', ')']).ends_with(ends);
    if open { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::super::material::{Chunk, Person};
    use super::super::topics::topics;
    use super::*;

    fn chunk(speaker: &str, start_ms: i64, text: &str) -> Chunk {
        Chunk {
            speaker_id: speaker.to_lowercase(),
            speaker_name: speaker.to_owned(),
            start_ms,
            end_ms: start_ms + 5_000,
            text: text.to_owned(),
            language: Some("en".to_owned()),
        }
    }

    fn written(material: &Material) -> String {
        let text = Text::of(material);
        summary(&text, material, &topics(&text, MAIN_TOPICS), &[], &[])
    }

    #[test]
    fn the_first_line_tells_the_facts_and_the_sentences_keep_their_order() {
        let lines = [
            ("Ada", 0, "The vector database needs a larger disk"),
            ("Bob", 60_000, "Hm."),
            ("Ada", 70_000, "The larger disk for the vector database is in the budget."),
            ("Bob", 90_000, "The budget of the vector database grows every month!"),
        ];
        let material =
            Material { chunks: lines.iter().map(|(s, at, t)| chunk(s, *at, t)).collect(), ..Material::default() };
        let summary = written(&material);
        let (facts, body) = summary.split_once('\n').unwrap();
        assert!(facts.starts_with("2 minutes, 2 speakers (Ada, Bob). Main topics: "), "{facts}");
        assert!(facts.contains("vector database"), "{facts}");
        let expected = "The vector database needs a larger disk. The larger disk for the vector database is in the budget. The budget of the vector database grows every month!";
        assert_eq!(body, expected);
    }

    #[test]
    fn a_speakers_current_name_wins() {
        let people = vec![Person { id: "ada".into(), name: "Countess".into(), ..Person::default() }];
        let material = Material { chunks: vec![chunk("Ada", 0, "Hello")], people, ..Material::default() };
        assert!(written(&material).starts_with("1 minute, 1 speaker (Countess)."));
    }

    #[test]
    fn notes_alone_have_a_summary_too() {
        let notes = "# Budget\n- The annual budget covers a larger disk.\n- The annual budget is approved by finance.";
        let summary = written(&Material { notes: notes.to_owned(), ..Material::default() });
        assert!(summary.starts_with("Notes without a transcript. Main topics: "), "{summary}");
        assert!(summary.contains("annual budget"), "{summary}");
    }

    #[test]
    fn a_summary_keeps_within_its_bound_whatever_is_said() {
        let long = "The annual budget meets another subject ".repeat(30);
        let chunks =
            (0..40_i64).map(|i| chunk(&format!("{}{i}", "Name ".repeat(19)), i * 1000, &format!("{i} {long}")));
        let material = Material { chunks: chunks.collect(), ..Material::default() };
        let text = Text::of(&material);
        let decisions = vec!["We decided to use it.".to_owned(); 100];
        let summary = summary(&text, &material, &topics(&text, 3), &decisions, &decisions);
        assert!(summary.chars().count() <= SUMMARY_CHARS_MAX);
        assert!(summary.contains("and 35 more"));
    }

    #[test]
    fn decisions_and_open_questions_follow_unless_they_are_quoted_already() {
        let material = Material { notes: "We decided to use the annual budget.".to_owned(), ..Material::default() };
        let text = Text::of(&material);
        let decisions = ["We decided to use the annual budget.".to_owned(), "We agreed on May".to_owned()];
        let summary = summary(&text, &material, &[], &decisions, &["Who pays?".to_owned()]);
        let expected = "Notes without a transcript.\nWe decided to use the annual budget.\nDecided: We agreed on May.\nOpen: Who pays?";
        assert_eq!(summary, expected);
    }
}
