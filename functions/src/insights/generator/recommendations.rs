//! Suggestions for a reader, with their evidence.
//!
//! This module defines the evidence and confidence of each recommendation. Without evidence there is none.

use std::collections::HashMap;

use super::insights::{RECOMMENDATIONS_MAX, Recommendation, RecommendationKind};
use reading::action_items::item::ActionItem;
use reading::findings::Findings;
use reading::languages::frames::{Frames, filled};
use reading::material::{Material, Person};
use reading::text::lines::{LINE_CHARS_MAX, clipped, rounded};
use reading::text::sentences::Source;
use reading::topics::Topic;

/// Minimum talk of all participants, in ms, before a share of it means anything.
const TALK_MS_MIN: i64 = 60_000;
/// Share of the talk below which it is low.
const SHARE_LOW: f64 = 0.10;
/// Share of the talk above which it is high.
const SHARE_HIGH: f64 = 0.60;
/// Minimum mentions of a topic worth learning about.
const MENTIONS_MIN: usize = 3;
/// Most suggested people; those with most in common come first.
const PEOPLE_MAX: usize = 3;
/// Highest confidence of a rule.
const CONFIDENCE_MAX: f64 = 0.95;

/// Interests of the people of one meeting. Computed once for all readers: comparing each pair label by label would take
/// minutes for a large meeting.
#[derive(Debug, Default)]
pub struct Interests {
    /// Ascending positions of its owners among the people of the meeting, by the label in lower case.
    owners: HashMap<String, Vec<usize>>,
}

impl Interests {
    /// Returns the interests of these people.
    #[must_use]
    pub fn of(people: &[Person]) -> Interests {
        let mut owners: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, person) in people.iter().enumerate() {
            for label in &person.interests {
                let places = owners.entry(label.to_lowercase()).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        Interests { owners }
    }

    /// Returns the people with most in common with `reader`, most first; of equals, the first one of the meeting.
    fn nearest<'p>(&self, people: &'p [Person], reader: &Person) -> Vec<&'p Person> {
        let mut shared = vec![0_usize; people.len()];
        for label in &reader.interests {
            for place in self.owners.get(&label.to_lowercase()).into_iter().flatten() {
                shared[*place] += 1;
            }
        }
        let mut others: Vec<(usize, &Person)> =
            shared.into_iter().zip(people).filter(|(count, person)| *count > 0 && person.id != reader.id).collect();
        others.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        others.into_iter().take(PEOPLE_MAX).map(|(_, person)| person).collect()
    }
}

/// Returns the recommendations for one reader, most confident first, in the language of the meeting. `interests` are
/// those of the material's people.
#[must_use]
pub fn recommendations(
    material: &Material,
    findings: &Findings,
    interests: &Interests,
    reader_id: &str,
) -> Vec<Recommendation> {
    let Some(reader) = material.people.iter().find(|person| person.id == reader_id) else { return Vec::new() };
    let frames = &findings.text.phrases().frames;
    let mut found: Vec<Recommendation> = Vec::new();
    found.extend(follow_up(&findings.items, reader, frames));
    found.extend(networking(material, interests, reader, frames));
    found.extend(learning(findings, reader, frames));
    found.extend(participation(material, reader, frames));
    // The sort is stable: of equals, the first one found comes first.
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    found.truncate(RECOMMENDATIONS_MAX);
    found
}

fn made(kind: RecommendationKind, content: &str, confidence: f64) -> Recommendation {
    Recommendation {
        kind,
        content: clipped(content, LINE_CHARS_MAX),
        confidence: rounded(confidence.clamp(0.0, CONFIDENCE_MAX)),
    }
}

fn follow_up(items: &[ActionItem], reader: &Person, frames: &Frames) -> Option<Recommendation> {
    let own: Vec<&ActionItem> = items.iter().filter(|item| item.is_of(&reader.id)).collect();
    let free: Vec<&ActionItem> = items.iter().filter(|item| item.owner.is_none()).collect();
    let (frame, count, first) = match (&own[..], &free[..]) {
        ([], []) => return None,
        ([only], _) => (&frames.follow_up_one, 1, only),
        ([first, ..], _) => (&frames.follow_up, own.len(), first),
        ([], [only]) => (&frames.find_owner_one, 1, only),
        ([], [first, ..]) => (&frames.find_owner, free.len(), first),
    };
    let content = filled(frame, &[("count", &count.to_string()), ("task", &first.task)]);
    // The reader's own tasks have more confidence than free ones.
    let confidence = if own.is_empty() { 0.3 + 0.05 * free.len() as f64 } else { 0.6 + 0.1 * own.len() as f64 };
    Some(made(RecommendationKind::FollowUp, &content, confidence))
}

fn networking(material: &Material, interests: &Interests, reader: &Person, frames: &Frames) -> Vec<Recommendation> {
    let nearest = interests.nearest(&material.people, reader).into_iter();
    nearest
        .map(|person| {
            let shared = reader.shared_interests(person);
            let places = [("name", person.name.as_str()), ("interests", &shared.join(", "))];
            let content = filled(&frames.connect, &places);
            made(RecommendationKind::Networking, &content, 0.4 + 0.1 * shared.len() as f64)
        })
        .collect()
}

fn learning(findings: &Findings, reader: &Person, frames: &Frames) -> Option<Recommendation> {
    let text = &findings.text;
    let known: Vec<u32> = reader.interests.iter().flat_map(|label| text.terms_of(label)).collect();
    let spoken_by_reader = |sentence: &&usize| match text.sentences[**sentence].source {
        Source::Turn(index) => text.turns[index].speaker_id == reader.id,
        Source::Notes | Source::OpenTask | Source::DoneTask => false,
    };
    let new = |topic: &&Topic| {
        let own = topic.sentences.iter().filter(spoken_by_reader).count();
        let outside = !topic.terms.iter().any(|term| known.contains(term));
        // The main speaker on a topic knows it, whatever the profile says.
        outside && topic.sentences.len() >= MENTIONS_MIN && own * 2 <= topic.sentences.len()
    };
    let topic = findings.topics.iter().find(new)?;
    let times = topic.sentences.len();
    let content = filled(&frames.learn, &[("topic", &topic.phrase), ("count", &times.to_string())]);
    Some(made(RecommendationKind::Learning, &content, 0.3 + 0.05 * times as f64))
}

fn participation(material: &Material, reader: &Person, frames: &Frames) -> Option<Recommendation> {
    let mut spoken: HashMap<&str, i64> = HashMap::new();
    for chunk in &material.chunks {
        *spoken.entry(&chunk.speaker_id).or_default() += chunk.end_ms.saturating_sub(chunk.start_ms).max(0);
    }
    let all: i64 = spoken.values().sum();
    if all < TALK_MS_MIN || material.people.len() < 2 {
        return None;
    }
    let share = spoken.get(reader.id.as_str()).copied().unwrap_or(0) as f64 / all as f64;
    let frame = if share == 0.0 {
        &frames.silent
    } else if share < SHARE_LOW {
        &frames.little_talk
    } else if share > SHARE_HIGH {
        &frames.much_talk
    } else {
        return None;
    };
    let content = filled(frame, &[("percent", &(share * 100.0).round().to_string())]);
    let minutes = all as f64 / 60_000.0;
    Some(made(RecommendationKind::Participation, &content, 0.4 + 0.02 * minutes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use RecommendationKind::{FollowUp, Learning, Networking, Participation};
    use reading::action_items::item::Owner;
    use reading::languages::phrases::Phrases;
    use reading::material::Chunk;

    fn person(name: &str, interests: &[&str]) -> Person {
        let interests = interests.iter().map(|label| (*label).to_owned()).collect();
        Person { id: name.to_lowercase(), name: name.to_owned(), interests }
    }

    fn chunk(speaker: &str, seconds: i64, text: &str) -> Chunk {
        Chunk {
            speaker_id: speaker.to_lowercase(),
            speaker_name: speaker.to_owned(),
            end_ms: seconds * 1000,
            text: text.to_owned(),
            language: Some("en".to_owned()),
            ..Chunk::default()
        }
    }

    fn for_reader(material: &Material, reader: &str) -> Vec<Recommendation> {
        let findings = Findings::of(material, 3);
        recommendations(material, &findings, &Interests::of(&material.people), reader)
    }

    fn of_kind(found: &[Recommendation], kind: RecommendationKind) -> Vec<String> {
        found.iter().filter(|one| one.kind == kind).map(|one| one.content.clone()).collect()
    }

    #[test]
    fn no_recommendations_without_evidence() {
        let people = vec![person("Ada", &["Rust"]), person("Bob", &["Chess"])];
        let material =
            Material { chunks: vec![chunk("Ada", 5, "Good morning everybody")], people, ..Material::default() };
        assert_eq!(for_reader(&material, "ada"), []);
        assert_eq!(for_reader(&material, "stranger"), []);
    }

    #[test]
    fn a_shared_interest_names_the_person_and_the_interest() {
        let people = vec![
            person("Ada", &["Rust", "Hiking", "Chess"]),
            person("Bob", &["rust"]),
            person("Eve", &["Chess", "Hiking"]),
            person("Dan", &["Law"]),
        ];
        let found = for_reader(&Material { people, ..Material::default() }, "ada");
        let expected = [
            "Connect with Eve: you share an interest in Hiking, Chess",
            "Connect with Bob: you share an interest in Rust",
        ];
        assert_eq!(of_kind(&found, Networking), expected);
        assert!(found[0].confidence > found[1].confidence);
    }

    #[test]
    fn people_with_most_shared_interests_are_recommended() {
        let people = vec![
            person("Bob", &["chess", "CHESS"]),
            person("Ada", &["Chess", "Law", "Rust"]),
            person("Cid", &["Law"]),
            person("Dan", &["RUST"]),
            person("Eve", &["rust", "law"]),
            person("Fay", &["Rust", "Law", "Chess"]),
        ];
        let found = for_reader(&Material { people, ..Material::default() }, "ada");
        let expected = [
            "Connect with Fay: you share an interest in Chess, Law, Rust",
            "Connect with Eve: you share an interest in Law, Rust",
            "Connect with Bob: you share an interest in Chess",
        ];
        assert_eq!(of_kind(&found, Networking), expected);
    }

    #[test]
    fn own_tasks_are_followed_up_and_unowned_tasks_need_an_owner() {
        let people = vec![person("Ada", &[]), person("Bob", &[])];
        let chunks = vec![chunk("Ada", 5, "I'll send the report. I'll call Bob today. We need to update the docs.")];
        let material = Material { chunks, people, ..Material::default() };
        let ada = for_reader(&material, "ada");
        assert_eq!(of_kind(&ada, FollowUp), ["Follow up on your 2 action items, first: send the report"]);
        let bob = for_reader(&material, "bob");
        assert_eq!(of_kind(&bob, FollowUp), ["Find out who takes on: update the docs"]);
        assert!(ada[0].confidence > bob[0].confidence);
    }

    #[test]
    fn another_persons_task_is_no_evidence() {
        let owner = Owner { id: Some("bob".into()), name: "Bob".into() };
        let item =
            ActionItem { owner: Some(owner), task: "call".into(), due: None, due_day: None, evidence: Vec::new() };
        assert_eq!(follow_up(&[item], &person("Ada", &[]), &Phrases::english().frames), None);
    }

    #[test]
    fn a_main_topic_outside_the_interests_is_worth_learning() {
        let said = "The vector database is slow. Our vector database grows. Nobody likes the vector database.";
        let people = vec![person("Ada", &["Hiking"]), person("Bob", &["Databases"]), person("Eve", &[])];
        let material = Material { chunks: vec![chunk("Eve", 5, said)], people, ..Material::default() };
        let expected = "Learn more about vector database: it came up 3 times and is not among your interests";
        assert_eq!(of_kind(&for_reader(&material, "ada"), Learning), [expected]);
        assert!(of_kind(&for_reader(&material, "bob"), Learning).is_empty(), "it touches his interests");
        assert!(of_kind(&for_reader(&material, "eve"), Learning).is_empty(), "she explained it herself");
    }

    #[test]
    fn a_share_of_talk_is_remarked_beyond_its_bounds_only() {
        let people = vec![person("Ada", &[]), person("Bob", &[]), person("Eve", &[]), person("Dan", &[])];
        let chunks = vec![chunk("Ada", 61, "a"), chunk("Bob", 10, "b"), chunk("Eve", 29, "c")];
        let material = Material { chunks, people, ..Material::default() };
        let told = |reader| of_kind(&for_reader(&material, reader), Participation);
        assert_eq!(told("ada"), ["You had 61 % of the talk: asking the others would bring in their views"]);
        assert!(told("bob").is_empty(), "a tenth is not below a tenth");
        assert!(told("eve").is_empty());
        assert!(told("dan")[0].starts_with("You did not speak"));
    }

    #[test]
    fn a_short_exchange_says_nothing_of_shares() {
        let people = vec![person("Ada", &[]), person("Bob", &[])];
        let material = Material { chunks: vec![chunk("Ada", 59, "a")], people, ..Material::default() };
        assert!(for_reader(&material, "ada").is_empty());
    }
}
