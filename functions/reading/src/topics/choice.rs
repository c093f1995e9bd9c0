//! The choice of topics among the candidates.

use std::collections::BTreeSet;

use super::candidates::{Candidate, candidates};
use super::features::Features;
use super::yake::Scores;
use crate::model::weights::Weights;
use crate::text::sentences::Text;

/// Number of candidates for the classifier, the best by YAKE: a day of talk has a hundred thousand, and a few are
/// needed.
const RANKED_MAX: usize = 60;

/// Lowest likelihood of a topic beside a likelier one.
const LIKELY_MIN: f64 = 0.4;
/// Likelihood without learned weights: in notes, and in a language without phrases.
const UNLEARNED: f64 = 0.5;

/// A key phrase.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// Most frequent spelling.
    pub phrase: String,
    /// Terms of its words in order, without stop words.
    pub terms: Vec<u32>,
    /// Sentences of its occurrences, ascending, one entry per occurrence.
    pub sentences: Vec<usize>,
}

/// Returns the `count` best topics of a text. None repeats a better one.
#[must_use]
pub fn topics(text: &Text, count: usize, weights: &Weights<1>) -> Vec<Topic> {
    let ranked = judged(text, weights);
    let mut chosen: Vec<Topic> = Vec::new();
    for own in &ranked {
        if chosen.len() == count || (!chosen.is_empty() && own.likelihood < LIKELY_MIN) {
            break;
        }
        let candidate = &fuller(own, &ranked, text).unwrap_or(own).candidate;
        let terms = candidate.content(text);
        if chosen.iter().any(|topic| within(&terms, &topic.terms) || within(&topic.terms, &terms)) {
            continue;
        }
        let sentences = candidate.places.iter().map(|place| place.0).collect();
        chosen.push(Topic { phrase: candidate.phrase(text), terms, sentences });
    }
    chosen
}

/// Returns the spoken candidates of a text, each with its features.
#[must_use]
pub fn with_features(text: &Text) -> Vec<(String, BTreeSet<String>)> {
    let scores = Scores::of(text);
    let features = Features::of(text, &scores);
    let with_features = |(rank, candidate): (usize, Candidate)| {
        let said = features.places(&candidate);
        let mut own = BTreeSet::new();
        features.write(rank, &said, &mut |feature| {
            own.insert(feature.to_owned());
        });
        (!said.is_empty()).then(|| (candidate.phrase(text), own))
    };
    ranked(text, &scores).into_iter().enumerate().filter_map(with_features).collect()
}

/// A candidate for a topic.
struct Judged {
    /// Its likelihood, 0 … 1.
    likelihood: f64,
    candidate: Candidate,
}

/// Returns the likeliest candidates first; of equals, as without learned weights, the best by YAKE.
fn judged(text: &Text, weights: &Weights<1>) -> Vec<Judged> {
    let scores = Scores::of(text);
    let features = Features::of(text, &scores);
    let judge = |(rank, candidate): (usize, Candidate)| {
        let said = features.places(&candidate);
        let [learned] = weights.likelihood(|emit| features.write(rank, &said, emit));
        // A single occurrence may be an incidental word.
        let unlearned = if candidate.places.len() - said.len() < 2 { 0.0 } else { UNLEARNED };
        Judged { likelihood: if said.is_empty() { unlearned } else { learned.max(unlearned) }, candidate }
    };
    let mut judged: Vec<Judged> = ranked(text, &scores).into_iter().enumerate().map(judge).collect();
    judged.sort_by(|one, other| other.likelihood.total_cmp(&one.likelihood));
    judged
}

/// Returns the best phrases by YAKE, best first, followed by those with one occurrence. Equal scores keep the order of
/// the first occurrences.
fn ranked(text: &Text, scores: &Scores) -> Vec<Candidate> {
    let mut ranked: Vec<(f64, Candidate)> =
        candidates(text).into_iter().map(|found| (scores.phrase(&found, text), found)).collect();
    ranked.sort_by(|a, b| (a.1.places.len() < 2).cmp(&(b.1.places.len() < 2)).then(a.0.total_cmp(&b.0)));
    ranked.truncate(RANKED_MAX);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Returns the likeliest longer phrase that contains at least half of a phrase's occurrences: "mail provider" is more
/// specific than "provider", and YAKE prefers the shorter one as soon as it occurs alone a few times.
fn fuller<'r>(own: &Judged, ranked: &'r [Judged], text: &Text) -> Option<&'r Judged> {
    let terms = own.candidate.content(text);
    ranked.iter().find(|Judged { candidate: longer, likelihood }| {
        *likelihood >= LIKELY_MIN
            && longer.length > own.candidate.length
            && longer.places.len() >= 2
            && longer.places.len() * 2 >= own.candidate.places.len()
            && within(&terms, &longer.content(text))
    })
}

fn within(some: &[u32], all: &[u32]) -> bool {
    some.iter().all(|term| all.contains(term))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Chunk, Material};
    use crate::model::weights::Learned;

    fn said(lines: &[&str], language: &str) -> Text {
        let chunk =
            |line: &&str| Chunk { text: (*line).to_owned(), language: Some(language.to_owned()), ..Chunk::default() };
        Text::of(&Material { chunks: lines.iter().map(chunk).collect(), ..Material::default() })
    }

    fn phrases(text: &Text, count: usize) -> Vec<String> {
        topics(text, count, &Learned::known().topics).into_iter().map(|topic| topic.phrase.to_lowercase()).collect()
    }

    const ENGLISH: &[&str] = &[
        "The release plan for the mobile app is late.",
        "Our release plan needs a new date because the vector database is slow.",
        "The vector database needs an index before the release.",
        "Okay, so let's look at the vector database again tomorrow.",
        "The mobile app waits for it.",
    ];

    #[test]
    fn repeated_topics_come_first() {
        let found = phrases(&said(ENGLISH, "en"), 3);
        assert!(found.contains(&"vector database".to_owned()), "{found:?}");
        assert!(found.contains(&"release plan".to_owned()), "{found:?}");
    }

    #[test]
    fn topic_is_the_phrase_that_contains_a_word_most_often() {
        let lines = ["The mail provider is slow.", "Another mail provider costs more.", "Nobody knows the provider."];
        assert_eq!(phrases(&said(&lines, "en"), 1), ["mail provider"]);
    }

    #[test]
    fn no_topic_repeats_a_better_one() {
        let found = topics(&said(ENGLISH, "en"), 20, &Learned::known().topics);
        for (i, topic) in found.iter().enumerate() {
            for other in &found[i + 1..] {
                assert!(!other.terms.iter().all(|term| topic.terms.contains(term)), "{topic:?} {other:?}");
                assert!(!topic.terms.iter().all(|term| other.terms.contains(term)), "{topic:?} {other:?}");
            }
        }
    }

    #[test]
    fn stop_words_fillers_numbers_and_addresses_are_no_topics() {
        let lines = ["Um, yeah, okay, you know, 42 and 2024, https://example.org/secret/place."; 5];
        assert!(phrases(&said(&lines, "en"), 5).is_empty());
    }

    #[test]
    fn german_and_french_have_topics_too() {
        let german = [
            "Der Zeitplan für die neue Datenbank steht.",
            "Die neue Datenbank braucht mehr Speicher.",
            "Wir prüfen die Datenbank.",
        ];
        assert!(phrases(&said(&german, "de"), 3).iter().any(|phrase| phrase.contains("datenbank")));
        let french =
            ["L'équipe prépare le budget annuel.", "Le budget annuel est prêt.", "Nous parlons du budget annuel."];
        assert_eq!(phrases(&said(&french, "fr"), 1), ["budget annuel"]);
    }

    #[test]
    fn a_phrase_stops_at_punctuation() {
        let found = phrases(&said(&["We talked about Rust, databases; hiking."; 3], "en"), 10);
        assert!(!found.is_empty() && !found.iter().any(|phrase| phrase.contains(' ')), "{found:?}");
    }

    #[test]
    fn a_topic_is_written_as_most_people_write_it() {
        let found =
            topics(&said(&["We use Postgres.", "They use Postgres.", "POSTGRES!"], "en"), 1, &Learned::known().topics);
        assert_eq!(found[0].phrase, "Postgres");
        assert_eq!(found[0].sentences, [0, 1, 2]);
    }

    #[test]
    fn little_text_does_no_harm() {
        for lines in [&[][..], &[""], &["Rust"], &["a"], &["🎉🎉"], &["مرحبا بالجميع"]] {
            let found = topics(&said(lines, "en"), 5, &Learned::known().topics);
            assert!(found.iter().all(|topic| !topic.phrase.is_empty() && !topic.sentences.is_empty()), "{found:?}");
        }
    }

    #[test]
    fn the_same_text_always_has_the_same_topics() {
        let first = topics(&said(ENGLISH, "en"), 10, &Learned::known().topics);
        for _ in 0..5 {
            assert_eq!(topics(&said(ENGLISH, "en"), 10, &Learned::known().topics), first);
        }
    }
}
