//! The analysis of one meeting, and the insights of each reader.
//!
//! This is the only place that defines the order of the steps. Shared results (sentences, topics, tasks, summary,
//! links) are computed once per meeting, personal ones (order of tasks, recommendations) once per reader.

use super::insights::{Insights, Link};
use super::links::links;
use super::recommendations::{Interests, recommendations};
use super::summary::summary;
use reading::action_items::item::items_for;
use reading::findings::Findings;
use reading::material::Material;

/// Name and version of this generator. It is part of an insight's hash, so that new rules make new insights.
pub const GENERATOR: &str = "builtin/7";

/// Number of topics: the first ones are the main topics, and a reader may want to learn about any of them.
const TOPICS_MAX: usize = 8;

/// An analysed meeting.
#[derive(Debug)]
pub struct Analysis<'m> {
    pub findings: Findings,
    pub links: Vec<Link>,
    pub summary: String,
    interests: Interests,
    material: &'m Material,
}

impl<'m> Analysis<'m> {
    /// Analyses a meeting. Deterministic. The time grows with the length of the material, about a second for a day of
    /// talk, so it must run outside of transactions.
    #[must_use]
    pub fn of(material: &'m Material) -> Analysis<'m> {
        let findings = Findings::of(material, TOPICS_MAX);
        let summary = summary(material, &findings);
        let (links, interests) = (links(material), Interests::of(&material.people));
        Analysis { findings, links, summary, interests, material }
    }

    /// Returns the material.
    #[must_use]
    pub fn material(&self) -> &'m Material {
        self.material
    }

    /// Returns the insights of one reader.
    #[must_use]
    pub fn insights_for(&self, reader_id: &str) -> Insights {
        Insights {
            summary: self.summary.clone(),
            action_items: items_for(&self.findings.items, reader_id).into_iter().cloned().collect(),
            recommendations: recommendations(self.material, &self.findings, &self.interests, reader_id),
            links: self.links.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use rustix::time::{ClockId, clock_gettime};

    use super::super::insights::SUMMARY_CHARS_MAX;
    use super::*;
    use reading::action_items::item::{ACTION_ITEMS_MAX, LINE_WORDS_MAX};
    use reading::languages::phrases::Phrases;
    use reading::material::{Chunk, Person};
    use reading::text::sentences::normalized;

    fn person(name: &str, interests: &[&str]) -> Person {
        let interests = interests.iter().map(|label| (*label).to_owned()).collect();
        Person { id: name.to_lowercase(), name: name.to_owned(), interests }
    }

    fn meeting(lines: &[(&str, &str)], notes: &str) -> Material {
        let chunk = |(at, (speaker, text)): (i64, &(&str, &str))| Chunk {
            speaker_id: speaker.to_lowercase(),
            speaker_name: (*speaker).to_owned(),
            start_ms: at * 20_000,
            end_ms: at * 20_000 + 18_000,
            text: (*text).to_owned(),
            language: None,
        };
        Material {
            chunks: (0..).zip(lines).map(chunk).collect(),
            notes: notes.to_owned(),
            people: vec![person("Ada", &["Rust", "Databases"]), person("Bob", &["Rust"])],
            held_ms: None,
        }
    }

    #[test]
    fn a_meeting_becomes_the_insights_of_each_reader() {
        let lines = [
            ("Ada", "Good morning. The release plan of the mobile app is late."),
            ("Bob", "The release plan needs a date because the search index is slow."),
            ("Ada", "We decided to move the release plan to May."),
            ("Bob", "I'll rebuild the search index by Friday, see https://example.org/index."),
            ("Ada", "Who pays for the search index?"),
        ];
        let material = meeting(&lines, "- [ ] Ada: write to the vendor");
        let analysis = Analysis::of(&material);
        let ada = analysis.insights_for("ada");
        assert!(ada.summary.starts_with("2 minutes, 2 speakers (Ada, Bob). Main topic"), "{}", ada.summary);
        assert!(ada.summary.contains("release plan") && ada.summary.contains("search index"), "{}", ada.summary);
        assert_eq!(ada.lines()[0], "Ada: write to the vendor");
        assert!(ada.lines()[1].starts_with("Bob: rebuild the search index (by Friday)"));
        assert_eq!(ada.links.len(), 1);
        let decisions: Vec<&str> = analysis.findings.decisions.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(decisions, ["We decided to move the release plan to May."]);
        assert_eq!(analysis.findings.open_questions, ["Who pays for the search index?"]);
        let bob = analysis.insights_for("bob");
        assert!(bob.lines()[0].starts_with("Bob: "));
        assert_ne!(ada.recommendations, bob.recommendations);
    }

    #[test]
    fn the_same_meeting_always_gives_the_same_insights() {
        let lines = [
            ("Ada", "The budget of the team is tight, and the team needs a budget for disks."),
            ("Bob", "Disks are cheap, the database is not. Let's ask the vendor about the database."),
        ];
        let material = meeting(&lines, "Notes about the budget, the team, the disks and the database.");
        let first = Analysis::of(&material).insights_for("ada");
        for _ in 0..5 {
            assert_eq!(Analysis::of(&material).insights_for("ada"), first);
        }
    }

    #[test]
    fn edges_do_no_harm() {
        let odd = [
            "",
            "🎉🎉🎉 👩‍👩‍👧‍👦!",
            "مرحبا بالجميع. سوف نراجع الخطة الجديدة للمشروع. هل نبدأ الاجتماع؟",
            "שלום לכולם. התוכנית החדשה מוכנה.",
            "今日はデータベースの計画について話します。データベースは遅いです。",
            "Wir müssen die Datenbank prüfen. Ich werde das bis Freitag erledigen.",
            "L'équipe va bien. Je vais envoyer le rapport d'ici lundi.",
            "a\u{0}b \u{200b} ???!!!",
            "word word word word word word word word",
        ];
        for text in odd {
            for material in [meeting(&[("Ada", text)], ""), meeting(&[], text)] {
                let insights = Analysis::of(&material).insights_for("ada");
                assert!(insights.summary.chars().count() <= SUMMARY_CHARS_MAX, "{text}");
                for one in &insights.recommendations {
                    assert!((0.0..=1.0).contains(&one.confidence));
                }
            }
        }
    }

    #[test]
    fn lone_speaker_gets_a_summary() {
        let mut material = meeting(&[("Ada", "The database plan is ready. The database plan needs a disk.")], "");
        material.people.truncate(1);
        let insights = Analysis::of(&material).insights_for("ada");
        assert!(insights.summary.starts_with("1 minute, 1 speaker (Ada)."), "{}", insights.summary);
    }

    #[test]
    fn the_cost_of_a_long_meeting_grows_with_its_sentences_only() {
        let subjects = ["budget", "database", "release", "vendor", "contract", "office", "design", "index"];
        let verbs = ["needs", "covers", "delays", "changes", "supports", "replaces", "blocks"];
        let line = |i: usize| {
            let pick = |step: usize, words: &[&'static str]| words[(i / step + i) % words.len()];
            format!("The {} {} the {} of team {}.", pick(1, &subjects), pick(3, &verbs), pick(7, &subjects), i % 97)
        };
        let lines: Vec<String> = (0..10_000).map(line).collect();
        let said: Vec<(&str, &str)> = lines.iter().map(|text| ("Ada", text.as_str())).collect();
        let insights = in_proportion(|part| meeting(&said[..said.len() / part], ""));
        assert!(insights.summary.contains("Main topic"));
    }

    #[test]
    fn material_that_is_meant_to_be_slow_costs_in_proportion_to_its_size() {
        let tasks: Vec<String> = (0..4_000).map(|i| format!("Okay, I'll take care of page {i} tomorrow.")).collect();
        let said: Vec<(&str, &str)> = tasks.iter().map(|text| ("Ada", text.as_str())).collect();
        let line: String = (0..8_000).map(|i| format!("https://a.org/{i}? Bob will, ")).collect();
        let insights = in_proportion(|part| meeting(&said[..said.len() / part], &line[..line.len() / part]));
        assert_eq!(insights.action_items.len(), ACTION_ITEMS_MAX);
        let pairs: String = (0..20_000_u32).map(|i| format!("{}foo foo ", spelled(i / 2))).collect();
        in_proportion(|part| meeting(&[], &pairs[..pairs.len() / part]));
        // Talk without a full stop is one sentence.
        in_proportion(|part| meeting(&[("Ada", &pairs[..pairs.len() / 10 / part])], ""));
    }

    #[test]
    fn insights_of_many_people_cost_no_more_than_their_pairs() {
        let labels: Vec<String> = (0..50).map(|label| format!("Interest {label}")).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let people: Vec<Person> = (0..500).map(|place| person(&format!("P{place}"), &labels)).collect();
        let of_all = |part: usize| {
            let people = people[..people.len() / part].to_vec();
            let material = Material { people, ..meeting(&[("P0", "Good morning.")], "") };
            let analysis = Analysis::of(&material);
            let of_all = material.people.iter().map(|person| analysis.insights_for(&person.id).recommendations.len());
            of_all.sum::<usize>()
        };
        let (few, _) = processor_time(|| of_all(PART));
        let (all, count) = processor_time(|| of_all(1));
        assert_eq!(count, 3 * 500);
        // Each participant is compared with every other one, so the time grows with the square and no faster.
        assert!(all < few * PART as u32 * PART as u32 * 2, "{few:?} for a part, {all:?} for all");
    }

    /// The first part of the material to analyse.
    const PART: usize = 4;

    /// Returns Ada's insights of the whole material, and checks that it takes little more than four times as long as a
    /// quarter of it.
    ///
    /// Measures CPU time, so that a busy machine does not matter. Quadratic cost would be 16 times.
    fn in_proportion(material: impl Fn(usize) -> Material) -> Insights {
        let insights = |part| {
            let material = material(part);
            processor_time(move || Analysis::of(&material).insights_for("ada"))
        };
        let ((part, _), (whole, insights)) = (insights(PART), insights(1));
        assert!(whole < part * 10, "{part:?} for a quarter, {whole:?} for the whole");
        insights
    }

    fn processor_time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
        let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        let before = now();
        let done = work();
        (now() - before, done)
    }

    fn spelled(number: u32) -> String {
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'g')).collect()
    }

    proptest! {
        #[test]
        fn nothing_is_invented(
            lines in prop::collection::vec("(I'll |We need to |Bob will |We decided to |Who )?([a-z]{2,9} ){1,12}(https://[a-z]{3}\\.org/[a-z]{2})?[.?!]", 0..12),
            notes in "((- \\[ \\] )?[a-z]{2,8} [a-z]{2,8}\n){0,4}",
        ) {
            let said: Vec<(&str, &str)> = lines.iter().map(|text| ("Ada", text.as_str())).collect();
            let material = meeting(&said, &notes);
            let insights = Analysis::of(&material).insights_for("ada");
            // Compares words only: a full stop at the border of two chunks is not preserved.
            let source = format!("{} {notes}", lines.join(" "));
            let words = format!(" {} ", normalized(&source));
            prop_assert!(insights.summary.chars().count() <= SUMMARY_CHARS_MAX);
            prop_assert!(insights.action_items.len() <= ACTION_ITEMS_MAX);
            for item in &insights.action_items {
                // The verb of a task is an infinitive, and a task without a verb gets one.
                let frames = ["handle", "deliver", "get", "ada", "bob"];
                let infinitives: Vec<&str> =
                    words.split(' ').filter_map(|word| Phrases::english().infinitive(word)).collect();
                let task = normalized(&item.task);
                for word in task.split(' ') {
                    let is_said = words.contains(&format!(" {word} "));
                    prop_assert!(is_said || frames.contains(&word) || infinitives.contains(&word), "{} not in {}", word, words);
                }
                let due = item.due.as_deref().map(normalized).unwrap_or_default();
                prop_assert!(words.contains(&format!(" {due} ")) || due.is_empty(), "{} not in {}", due, words);
                prop_assert!(item.line().split_whitespace().count() <= LINE_WORDS_MAX, "{}", item.line());
                let owner = item.owner.as_ref().map_or("Ada", |owner| owner.name.as_str());
                prop_assert!(["Ada", "Bob"].contains(&owner) || source.contains(owner), "{} not in {}", owner, source);
            }
            for link in &insights.links {
                prop_assert!(source.contains(&link.url));
            }
        }
    }
}
