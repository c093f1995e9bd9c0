//! The summary of a meeting: one line of facts, then its best sentences.
//!
//! This module divides the [`SUMMARY_CHARS_MAX`] characters: facts, decisions and open questions have fixed shares;
//! sentences by rank use the rest.

use std::collections::HashSet;

use super::insights::SUMMARY_CHARS_MAX;
use reading::findings::Findings;
use reading::languages::frames::{Frames, filled};
use reading::material::Material;
use reading::ranking::ranks;
use reading::text::lines::{LINE_CHARS_MAX, clipped};
use reading::text::sentences::normalized;

/// Most named speakers; more would displace sentences.
const NAMES_MAX: usize = 5;
/// Most named topics.
pub const MAIN_TOPICS: usize = 3;
/// Longest line of facts, in characters.
const FACTS_CHARS_MAX: usize = SUMMARY_CHARS_MAX / 2;
/// Longest list of decisions, in characters: readers look for decisions first.
const DECIDED_CHARS_MAX: usize = SUMMARY_CHARS_MAX * 3 / 10;
/// Longest list of open questions, in characters.
const OPEN_CHARS_MAX: usize = SUMMARY_CHARS_MAX / 6;

/// Writes the summary, which is the same for every reader, in the language of the meeting.
#[must_use]
pub fn summary(material: &Material, findings: &Findings) -> String {
    let frames = &findings.text.phrases().frames;
    let mut summary = clipped(&facts(material, findings, frames), FACTS_CHARS_MAX);
    let decided: Vec<String> = findings.decisions.iter().map(|decision| decision.text.clone()).collect();
    let decided = part(&frames.decided, &decided, DECIDED_CHARS_MAX);
    let open = part(&frames.open, &findings.open_questions, OPEN_CHARS_MAX);
    let after = [&decided, &open].into_iter().flatten().map(|part| part.chars().count() + 1).sum::<usize>();
    let quotes = quotes(findings, room(&summary).saturating_sub(after));
    for part in [(!quotes.is_empty()).then(|| quotes.join(" ")), decided, open].into_iter().flatten() {
        summary.push('\n');
        summary.push_str(&part);
    }
    summary
}

/// Returns the number of characters that still fit after a line break.
fn room(summary: &str) -> usize {
    SUMMARY_CHARS_MAX.saturating_sub(summary.chars().count() + 1)
}

/// Returns a label with as many lines as fit; none without lines.
fn part(label: &str, lines: &[String], chars_max: usize) -> Option<String> {
    let mut part = label.to_owned();
    for line in lines {
        let line = sentence(line);
        if part.chars().count() + 1 + line.chars().count() > chars_max {
            continue;
        }
        part.push(' ');
        part.push_str(&line);
    }
    (part != label).then_some(part)
}

fn facts(material: &Material, findings: &Findings, frames: &Frames) -> String {
    let said = talk(material, findings, frames).unwrap_or_else(|| frames.notes_only.clone());
    let named: Vec<&str> = findings.topics.iter().take(MAIN_TOPICS).map(|topic| topic.phrase.as_str()).collect();
    let topics = match named[..] {
        [] => return format!("{said}."),
        [_] => &frames.main_topic,
        _ => &frames.main_topics,
    };
    format!("{said}. {}", filled(topics, &[("topics", &named.join(", "))]))
}

/// Returns "12 minutes, 2 speakers (Ada, Bob)"; None without a transcript.
fn talk(material: &Material, findings: &Findings, frames: &Frames) -> Option<String> {
    let begin_ms = material.chunks.iter().map(|chunk| chunk.start_ms).min()?;
    let end_ms = material.chunks.iter().map(|chunk| chunk.end_ms).max()?;
    // Rounds up to whole minutes, since "0 minutes" would be wrong.
    let minutes = (end_ms.saturating_sub(begin_ms).max(1) - 1) / 60_000 + 1;
    let speakers = speakers(material, findings);
    let mut names = speakers[..speakers.len().min(NAMES_MAX)].join(", ");
    if speakers.len() > NAMES_MAX {
        let more = (speakers.len() - NAMES_MAX).to_string();
        names = format!("{names} {}", filled(&frames.more, &[("count", &more)]));
    }
    Some(format!("{}, {} ({names})", frames.minutes(minutes), frames.speakers(speakers.len())))
}

/// Returns the names of the speakers, in order of their first words.
fn speakers<'m>(material: &'m Material, findings: &'m Findings) -> Vec<&'m str> {
    let mut seen = HashSet::new();
    let spoke = findings.text.turns.iter().filter(|turn| seen.insert(turn.speaker_id.as_str()));
    let name = |id: &str| material.people.iter().find(|person| person.id == id).map(|person| person.name.as_str());
    spoke.map(|turn| name(&turn.speaker_id).unwrap_or(&turn.speaker_name)).collect()
}

/// Returns the three to five best sentences that fit, in the order of time, without those listed as decisions or open
/// questions.
fn quotes(findings: &Findings, room: usize) -> Vec<String> {
    let text = &findings.text;
    let decided: HashSet<usize> = findings.decisions.iter().map(|decision| decision.sentence).collect();
    let open: Vec<String> = findings.open_questions.iter().map(|question| normalized(question)).collect();
    let mut ranked = ranks(text);
    let is_open = |index: usize| {
        let normal = normalized(&text.sentences[index].text);
        open.iter().any(|question| normal.ends_with(question.as_str()))
    };
    ranked.retain(|(index, _)| !decided.contains(index) && !is_open(*index));
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

/// Returns a sentence with an end mark, so that the next one does not run into it.
fn sentence(text: &str) -> String {
    let ends = |c: char| ".!?…。！？؟।:;".contains(c);
    let open = text.trim_end_matches(['"', '\'', '”', '’', '»', ')']).ends_with(ends);
    if open { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reading::material::{Chunk, Person};

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
        summary(material, &Findings::of(material, MAIN_TOPICS))
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
        assert!(summary.starts_with("Notes without a transcript. Main topic"), "{summary}");
        assert!(summary.contains("annual budget"), "{summary}");
    }

    #[test]
    fn summary_of_long_input_stays_within_its_limit() {
        let long = "The annual budget meets another subject ".repeat(30);
        let chunks =
            (0..40_i64).map(|i| chunk(&format!("{}{i}", "Name ".repeat(19)), i * 1000, &format!("{i} {long}")));
        let material = Material { chunks: chunks.collect(), ..Material::default() };
        let summary = written(&material);
        assert!(summary.chars().count() <= SUMMARY_CHARS_MAX);
        assert!(summary.contains("and 35 more"));
    }

    #[test]
    fn summary_lists_each_decision_and_open_question_once() {
        let notes = "We decided to use the annual budget.\nThe annual budget of the team is larger than before.\n\
                     Open question: who pays";
        let summary = written(&Material { notes: notes.to_owned(), ..Material::default() });
        let (_, told) = summary.split_once('\n').unwrap();
        let expected = "The annual budget of the team is larger than before.\n\
                        Decided: We decided to use the annual budget.\nOpen: who pays.";
        assert_eq!(told, expected);
    }

    #[test]
    fn sentences_stand_in_the_order_of_time_and_not_of_arrival() {
        let late = chunk("Bob", 60_000, "The larger disk of the vector database is in the budget.");
        let early = chunk("Ada", 0, "The vector database needs a larger disk.");
        let summary = written(&Material { chunks: vec![late, early], ..Material::default() });
        let body = summary.split_once('\n').unwrap().1;
        assert!(body.starts_with("The vector database needs"), "{summary}");
        assert!(summary.starts_with("2 minutes, 2 speakers (Ada, Bob)."), "{summary}");
    }

    #[test]
    fn the_frame_is_in_the_language_of_the_meeting() {
        let line = "Die Sicherheitsprüfung der Server ist fertig und die Sicherheitsprüfung war gut.";
        let mut german = chunk("Ada", 0, line);
        german.language = None;
        let summary = written(&Material { chunks: vec![german], ..Material::default() });
        assert!(summary.starts_with("1 Minute, 1 Person sprach (Ada). Haupt"), "{summary}");
    }
}
