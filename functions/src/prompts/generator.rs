//! Suggestions for a participant before a call, and during a silence in it.
//!
//! This module defines the evidence for prompts and their relevance. Every prompt names its evidence in its text and
//! tags; without evidence there is no prompt. The caller decides which earlier meetings may be used.

use std::collections::HashSet;

use crate::matching::roles::complement;
use reading::commitments::clauses::is_question;
use reading::findings::Findings;
use reading::languages::frames::{Frames, filled};
use reading::material::{Chunk, Material, Person};
use reading::model::weights::Learned;
use reading::text::lines::{LINE_CHARS_MAX, clipped, rounded};
use reading::text::sentences::{Text, normalized};
use reading::topics::topics;

/// Most prompts per user, meeting and kind.
pub const PROMPTS_MAX: usize = 10;
/// Silence after which prompts are useful, ms.
pub const LULL_MS: i64 = 30_000;
/// Time window of the evidence during a call, ms.
pub const RECENT_MS: i64 = 5 * 60_000;

/// Most interests in one prompt.
const INTERESTS_MAX: usize = 3;
/// Most topics of the title and description, or of the last minutes, with a prompt.
const TOPICS_MAX: usize = 3;
/// Topics of the last minutes in which recurring ones are searched.
const TOPICS_LOOKED_AT: usize = 8;
/// Most action items of one earlier meeting with a prompt.
const ITEMS_MAX: usize = 3;
/// Longest tag, in characters.
const TAG_CHARS_MAX: usize = 64;
/// Most open questions with a prompt, the latest first.
const QUESTIONS_MAX: usize = 4;

/// A prompt to store.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub content: String,
    /// 0 … 1.
    pub relevance: f64,
    /// Reasons, in kebab case; the kind of evidence comes first.
    pub tags: Vec<String>,
}

/// An invited user, as far as visible to the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guest {
    pub person: Person,
    /// Roles in the user's own words, such as "mentor" or "founder".
    pub roles: Vec<String>,
}

/// An earlier meeting of the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EarlierMeeting {
    pub title: String,
    /// Ids of the participants.
    pub people: Vec<String>,
    /// Action items of the reader's insights, as lines; the reader's own come first.
    pub action_items: Vec<String>,
}

/// The evidence of prompts before a call.
#[derive(Debug, Clone, Copy)]
pub struct PreCall<'a> {
    pub reader: &'a Guest,
    /// The other participants.
    pub others: &'a [Guest],
    pub title: &'a str,
    /// Empty if there is none.
    pub description: &'a str,
    /// Latest first. Meetings without any of the others are skipped.
    pub earlier: &'a [EarlierMeeting],
    /// Contents of the reader's existing pre-call prompts of this meeting.
    pub existing: &'a [String],
}

/// The evidence of prompts during a call.
#[derive(Debug, Clone, Copy)]
pub struct InCall<'a> {
    /// The transcript; only its last five minutes are used.
    pub chunks: &'a [Chunk],
    /// The participants.
    pub people: &'a [Person],
    /// Contents of the reader's existing in-call prompts of this meeting.
    pub existing: &'a [String],
}

/// Returns new prompts before a call, most relevant first. With the existing ones there are at most ten, without
/// duplicates.
#[must_use]
pub fn pre_call(call: &PreCall<'_>) -> Vec<Prompt> {
    // A description is written text and is split like notes. Its language is taken as that of the meeting.
    let written = if call.description.trim().is_empty() { call.title } else { call.description };
    let language = Text::of(&Material { notes: written.to_owned(), ..Material::default() });
    let frames = &language.phrases().frames;
    let mut found = from_earlier(call, frames);
    found.extend(call.others.iter().filter_map(|other| from_roles(call.reader, other, frames)));
    found.extend(call.others.iter().filter_map(|other| from_interests(call.reader, other, frames)));
    found.extend(from_agenda(call.title, call.description, frames));
    chosen(found, call.existing)
}

/// Returns new prompts for a silence, most relevant first. With the existing ones there are at most ten, without
/// duplicates.
#[must_use]
pub fn in_call(call: &InCall<'_>) -> Vec<Prompt> {
    let material = Material { chunks: recent(call.chunks), people: call.people.to_vec(), ..Material::default() };
    let findings = Findings::of(&material, TOPICS_LOOKED_AT);
    let frames = &findings.text.phrases().frames;
    let mut found = Vec::new();
    for (age, question) in findings.open_questions.iter().rev().take(QUESTIONS_MAX).enumerate() {
        let content = filled(&frames.still_open, &[("question", question)]);
        found.push(made(&content, 0.95 - 0.05 * age as f64, &["open-question"]));
    }
    for topic in findings.topics.iter().filter(|topic| topic.sentences.len() > 1).take(TOPICS_MAX) {
        let content = filled(&frames.next_step, &[("topic", &topic.phrase)]);
        let relevance = (0.5 + 0.05 * topic.sentences.len() as f64).min(0.8);
        found.push(made(&content, relevance, &["topic", &tag(&topic.phrase)]));
    }
    chosen(found, call.existing)
}

/// Returns true if an active meeting has fallen silent: 30 s without speech, and at least two participants are present.
#[must_use]
pub fn is_lull(last_spoken_ms: i64, now_ms: i64, joined: usize) -> bool {
    joined >= 2 && now_ms.saturating_sub(last_spoken_ms) >= LULL_MS
}

/// Returns the chunks of the last five minutes of talk.
fn recent(chunks: &[Chunk]) -> Vec<Chunk> {
    let end_ms = chunks.iter().map(|chunk| chunk.end_ms).max().unwrap_or(0);
    chunks.iter().filter(|chunk| chunk.end_ms > end_ms.saturating_sub(RECENT_MS)).cloned().collect()
}

fn made(content: &str, relevance: f64, tags: &[&str]) -> Prompt {
    Prompt {
        content: clipped(content, LINE_CHARS_MAX),
        relevance: rounded(relevance.clamp(0.0, 1.0)),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
    }
}

/// Returns the most relevant new prompts, as many as there is room for.
fn chosen(mut found: Vec<Prompt>, existing: &[String]) -> Vec<Prompt> {
    let mut seen: HashSet<String> = existing.iter().map(|content| normalized(content)).collect();
    // The sort is stable: of equals, the first one found comes first.
    found.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
    found.retain(|prompt| seen.insert(normalized(&prompt.content)));
    found.truncate(PROMPTS_MAX.saturating_sub(existing.len()));
    found
}

fn from_earlier(call: &PreCall<'_>, frames: &Frames) -> Vec<Prompt> {
    let mut found = Vec::new();
    for (age, meeting) in call.earlier.iter().enumerate() {
        let again = call.others.iter().filter(|other| meeting.people.contains(&other.person.id));
        let names: Vec<&str> = again.map(|other| other.person.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        // People remember what was said last.
        let faded = 0.05 * age as f64;
        for item in meeting.action_items.iter().take(ITEMS_MAX) {
            let content = filled(&frames.earlier_item, &[("meeting", &meeting.title), ("item", item)]);
            found.push(made(&content, 0.9 - faded, &["earlier-meeting", "action-item"]));
        }
        let places = [("people", frames.listed(&names)), ("meeting", meeting.title.clone())];
        let content = filled(&frames.earlier_people, &places.each_ref().map(|(place, text)| (*place, text.as_str())));
        found.push(made(&content, 0.6 - faded, &["earlier-meeting"]));
    }
    found
}

fn from_roles(reader: &Guest, other: &Guest, frames: &Frames) -> Option<Prompt> {
    let pairs = reader.roles.iter().flat_map(|ours| other.roles.iter().map(move |theirs| (ours, theirs)));
    let (ours, theirs) =
        pairs.map(|(ours, theirs)| (ours.to_lowercase(), theirs.to_lowercase())).find(|(a, b)| complement(a, b))?;
    let name = &other.person.name;
    let content = filled(&frames.roles, &[("own", &ours), ("name", name), ("theirs", &theirs)]);
    Some(made(&content, 0.75, &["complementary-role", &tag(&ours), &tag(&theirs)]))
}

fn from_interests(reader: &Guest, other: &Guest, frames: &Frames) -> Option<Prompt> {
    let shared = reader.person.shared_interests(&other.person);
    let named = &shared[..shared.len().min(INTERESTS_MAX)];
    let first = named.first()?;
    let name = &other.person.name;
    let places = [("name", name.as_str()), ("interests", &frames.listed(named)), ("first", first)];
    let content = filled(&frames.shared_interest, &places);
    let labels: Vec<String> = named.iter().map(|label| tag(label)).collect();
    let tags: Vec<&str> = ["shared-interest"].into_iter().chain(labels.iter().map(String::as_str)).collect();
    Some(made(&content, (0.5 + 0.1 * shared.len() as f64).min(0.85), &tags))
}

fn from_agenda(title: &str, description: &str, frames: &Frames) -> Vec<Prompt> {
    let mut found = Vec::new();
    let title = title.trim();
    if !title.is_empty() {
        let content = filled(&frames.title, &[("title", title)]);
        found.push(made(&content, 0.5, &["title"]));
    }
    let text = Text::of(&Material { notes: description.to_owned(), ..Material::default() });
    for question in text.sentences.iter().filter(|sentence| is_question(&sentence.text)).take(QUESTIONS_MAX) {
        let content = filled(&frames.invitation_asks, &[("question", &question.text)]);
        found.push(made(&content, 0.7, &["description", "question"]));
    }
    for topic in topics(&text, TOPICS_MAX, &Learned::known().topics) {
        let content = filled(&frames.invitation_topic, &[("topic", &topic.phrase)]);
        let relevance = (0.4 + 0.05 * topic.sentences.len() as f64).min(0.65);
        found.push(made(&content, relevance, &["description", &tag(&topic.phrase)]));
    }
    found
}

/// Converts a text to a tag: its letters and digits of any script, in lower case, separated by hyphens.
fn tag(text: &str) -> String {
    let lower = text.to_lowercase();
    let parts: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    parts.join("-").chars().take(TAG_CHARS_MAX).collect::<String>().trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn guest(name: &str, interests: &[&str], roles: &[&str]) -> Guest {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let person = Person { id: name.to_lowercase(), name: name.to_owned(), interests: owned(interests) };
        Guest { person, roles: owned(roles) }
    }

    fn nothing(reader: &Guest) -> PreCall<'_> {
        PreCall { reader, others: &[], title: "", description: "", earlier: &[], existing: &[] }
    }

    fn said(lines: &[(&str, i64, &str)]) -> Vec<Chunk> {
        let chunk = |(speaker, start_ms, text): &(&str, i64, &str)| Chunk {
            speaker_id: (*speaker).to_owned(),
            speaker_name: (*speaker).to_owned(),
            start_ms: *start_ms,
            end_ms: start_ms + 4_000,
            text: (*text).to_owned(),
            language: Some("en".to_owned()),
        };
        lines.iter().map(chunk).collect()
    }

    fn heard(chunks: &[Chunk]) -> Vec<String> {
        in_call(&InCall { chunks, people: &[], existing: &[] }).into_iter().map(|prompt| prompt.content).collect()
    }

    #[test]
    fn without_evidence_there_is_no_prompt() {
        let ada = guest("Ada", &[], &[]);
        assert_eq!(pre_call(&nothing(&ada)), []);
        let bob = [guest("Bob", &["Chess"], &["mentor"])];
        assert_eq!(pre_call(&PreCall { others: &bob, ..nothing(&ada) }), []);
        assert!(heard(&[]).is_empty());
        assert!(heard(&said(&[("ada", 0, "Hm.")])).is_empty());
    }

    #[test]
    fn shared_interests_and_complementary_roles_say_why() {
        let ada = guest("Ada", &["Rust", "UX Research"], &["Mentor"]);
        let others = [guest("Bob", &["UX Research", "rust"], &["mentee"])];
        let found = pre_call(&PreCall { others: &others, ..nothing(&ada) });
        let roles = &found[0];
        assert_eq!(roles.content, "You come as mentor, Bob as mentee: what could each of you do for the other?");
        assert_eq!(roles.tags, ["complementary-role", "mentor", "mentee"]);
        let interests = &found[1];
        let content = "You and Bob share an interest in Rust and UX Research: ask what Bob does with Rust";
        assert_eq!(interests.content, content);
        assert_eq!(interests.tags, ["shared-interest", "rust", "ux-research"]);
        assert_eq!(interests.relevance, 0.7);
    }

    #[test]
    fn an_earlier_meeting_counts_only_with_one_of_the_same_people() {
        let ada = guest("Ada", &[], &[]);
        let others = [guest("Bob", &[], &[])];
        let earlier = |with: &str| EarlierMeeting {
            title: "Kickoff".into(),
            people: vec!["ada".into(), with.into()],
            action_items: vec!["Ada: write the plan".into()],
        };
        let found = pre_call(&PreCall { others: &others, earlier: &[earlier("bob")], ..nothing(&ada) });
        assert_eq!(found[0].content, "From “Kickoff”: what became of “Ada: write the plan”?");
        assert_eq!(found[1].content, "You met Bob in “Kickoff”: what has changed since?");
        assert_eq!(pre_call(&PreCall { others: &others, earlier: &[earlier("eve")], ..nothing(&ada) }), []);
    }

    #[test]
    fn the_title_and_the_description_make_prompts() {
        let ada = guest("Ada", &[], &[]);
        let description = "We plan the budget for the design team. Which tools does the design team need?";
        let found = pre_call(&PreCall { title: "Planning", description, ..nothing(&ada) });
        let contents: Vec<&str> = found.iter().map(|prompt| prompt.content.as_str()).collect();
        assert_eq!(contents[0], "The invitation asks: “Which tools does the design team need?” What is your answer?");
        assert!(contents.contains(&"The invitation speaks of “design team”: what do you bring to it?"), "{contents:?}");
        assert!(contents.contains(&"What should be settled at the end of “Planning”?"));
    }

    #[test]
    fn a_silence_brings_up_open_questions_and_topics() {
        let chunks = said(&[
            ("ada", 0, "The vector database is slow."),
            ("bob", 5_000, "The vector database needs an index."),
            ("ada", 10_000, "Who pays for the index?"),
        ]);
        let found = heard(&chunks);
        assert_eq!(found[0], "Still open: “Who pays for the index?” Who can answer it?");
        assert!(
            found.contains(&"You spoke of “vector database”: what would be the next step?".to_owned()),
            "{found:?}"
        );
    }

    #[test]
    fn only_the_last_five_minutes_count() {
        let chunks = said(&[("ada", 0, "Who pays for the index?"), ("ada", 300_001, "Nobody knows.")]);
        assert!(heard(&chunks).is_empty());
        assert_eq!(heard(&said(&[("ada", 0, "Who pays for it?"), ("ada", 299_000, "Hm.")])).len(), 1);
    }

    #[test]
    fn prompts_are_in_the_language_of_the_meeting_and_tags_keep_their_letters() {
        let line = |start_ms, text| ("ada", start_ms, text);
        let mut chunks = said(&[
            line(0, "Die Sicherheitsprüfung ist noch nicht fertig."),
            line(5_000, "Wir haben lange über die Sicherheitsprüfung gesprochen."),
            line(10_000, "Die Sicherheitsprüfung dauert zwei Tage. Wer bezahlt die Prüfung?"),
        ]);
        chunks.iter_mut().for_each(|chunk| chunk.language = None);
        let found = in_call(&InCall { chunks: &chunks, people: &[], existing: &[] });
        assert_eq!(found[0].content, "Noch offen: „Wer bezahlt die Prüfung?“ Wer kann das beantworten?");
        let topic = found.iter().find(|prompt| prompt.tags[0] == "topic").unwrap();
        assert_eq!(topic.content, "Ihr habt über „Sicherheitsprüfung“ gesprochen: Was wäre der nächste Schritt?");
        assert_eq!(topic.tags, ["topic", "sicherheitsprüfung"]);
        assert_eq!(tag("C++ & Größe/Maß"), "c-größe-maß");
    }

    #[test]
    fn a_lull_is_half_a_minute_of_silence_between_two() {
        assert!(is_lull(1_000, 31_000, 2));
        assert!(!is_lull(1_000, 30_999, 2));
        assert!(!is_lull(1_000, 90_000, 1));
    }

    #[test]
    fn existing_prompts_are_not_repeated_and_count_toward_the_limit() {
        let ada = guest("Ada", &["Rust"], &[]);
        let others: Vec<Guest> = (0..20).map(|i| guest(&format!("Guest {i}"), &["Rust"], &[])).collect();
        let first = pre_call(&PreCall { others: &others, ..nothing(&ada) });
        assert_eq!(first.len(), PROMPTS_MAX);
        let existing: Vec<String> = first[..4].iter().map(|prompt| prompt.content.to_uppercase()).collect();
        let second = pre_call(&PreCall { others: &others, existing: &existing, ..nothing(&ada) });
        assert_eq!(second.len(), 6);
        assert!(second.iter().all(|prompt| !existing.contains(&prompt.content.to_uppercase())));
        let all: Vec<String> = first.into_iter().map(|prompt| prompt.content).collect();
        assert_eq!(pre_call(&PreCall { others: &others, existing: &all, ..nothing(&ada) }), []);
    }

    #[test]
    fn two_guests_with_the_same_name_get_one_prompt() {
        let ada = guest("Ada", &["Rust"], &[]);
        let others = [guest("Bob", &["Rust"], &[]), guest("Bob", &["Rust"], &[])];
        assert_eq!(pre_call(&PreCall { others: &others, ..nothing(&ada) }).len(), 1);
    }

    proptest! {
        #[test]
        fn prompts_keep_their_bounds(
            title in "\\PC{0,40}",
            description in "(\\PC|[a-z]{3,8} |\\? ){0,80}",
            interests in prop::collection::vec("[A-Z][a-z]{2,6}", 0..6),
        ) {
            let labels: Vec<&str> = interests.iter().map(String::as_str).collect();
            let ada = guest("Ada", &labels, &["founder"]);
            let others = [guest("Bob", &labels, &["investor"])];
            let call = PreCall { others: &others, title: &title, description: &description, ..nothing(&ada) };
            let found = pre_call(&call);
            prop_assert!(found.len() <= PROMPTS_MAX);
            for prompt in &found {
                prop_assert!((0.0..=1.0).contains(&prompt.relevance));
                prop_assert!(!prompt.tags.is_empty() && prompt.content.chars().count() <= LINE_CHARS_MAX);
            }
            let distinct: HashSet<String> = found.iter().map(|prompt| normalized(&prompt.content)).collect();
            prop_assert_eq!(distinct.len(), found.len());
            prop_assert_eq!(pre_call(&call), found);
        }
    }
}
