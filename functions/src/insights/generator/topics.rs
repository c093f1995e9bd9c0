//! The main topics of a text: its key phrases by YAKE.
//!
//! Campos et al., "YAKE! Keyword extraction from single documents using multiple local features", Information Sciences
//! 509 (2020), with windows of one word and phrases of up to three. It is written here and not taken from a crate
//! because it has to run on the same sentences, stop words and stems as everything else, for every language, and to
//! add its sums in one order: the crate adds them in that of a randomly seeded hash map.

use std::collections::{HashMap, HashSet};

use super::text::{Sentence, Text, Word, WordClass};

/// The longest phrase, words.
const WORDS_MAX: usize = 3;

/// Phrases that are compared with each other, the best: a handful is wanted, and a day of talk has a hundred thousand.
const RANKED_MAX: usize = 2000;

/// A key phrase.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// As it is written most often.
    pub phrase: String,
    /// The terms of its words, without stop words, in their order.
    pub terms: Vec<u32>,
    /// The sentences in which it stands, one entry an occurrence, ascending.
    pub sentences: Vec<usize>,
    /// YAKE's: the lower the better.
    pub score: f64,
}

/// The `count` best topics of a text, best first. None says again what a better one says already.
#[must_use]
pub fn topics(text: &Text, count: usize) -> Vec<Topic> {
    let scores = Scores::of(text);
    let mut ranked: Vec<(f64, Candidate)> =
        candidates(text).into_iter().map(|found| (scores.phrase(&found, text), found)).collect();
    // What is said once is no topic of a meeting, however early: such phrases only fill up. Equal scores keep the order
    // in which the phrases first occur.
    ranked.sort_by(|a, b| (a.1.places.len() < 2).cmp(&(b.1.places.len() < 2)).then(a.0.total_cmp(&b.0)));
    let mut chosen: Vec<Topic> = Vec::new();
    for own in ranked.iter().take(RANKED_MAX) {
        if chosen.len() == count {
            break;
        }
        let (score, candidate) = fuller(&own.1, &ranked, text).unwrap_or(own);
        let terms = candidate.content(text);
        if chosen.iter().any(|topic| within(&terms, &topic.terms) || within(&topic.terms, &terms)) {
            continue;
        }
        let sentences = candidate.places.iter().map(|place| place.0).collect();
        chosen.push(Topic { phrase: candidate.phrase(text), terms, sentences, score: *score });
    }
    chosen
}

/// The best longer phrase in which at least half of a phrase's occurrences stand: "mail provider" says more than
/// "provider", and YAKE leaves the longer one behind whenever the word stands alone a few times as well.
fn fuller<'r>(candidate: &Candidate, ranked: &'r [(f64, Candidate)], text: &Text) -> Option<&'r (f64, Candidate)> {
    let terms = candidate.content(text);
    ranked.iter().take(RANKED_MAX).find(|(_, longer)| {
        longer.length > candidate.length
            && longer.places.len() >= 2
            && longer.places.len() * 2 >= candidate.places.len()
            && within(&terms, &longer.content(text))
    })
}

fn within(some: &[u32], all: &[u32]) -> bool {
    some.iter().all(|term| all.contains(term))
}

/// A run of words that may be a key phrase.
struct Candidate {
    length: usize,
    /// Sentence and first word of every occurrence; at least one.
    places: Vec<(usize, usize)>,
}

impl Candidate {
    fn words<'t>(&self, text: &'t Text, place: (usize, usize)) -> &'t [Word] {
        &text.sentences[place.0].words[place.1..place.1 + self.length]
    }

    fn content(&self, text: &Text) -> Vec<u32> {
        let words = self.words(text, self.places[0]).iter();
        words.filter(|word| word.class == WordClass::Content).map(|word| word.term).collect()
    }

    /// The spelling that occurs most often; of equals the first.
    fn phrase(&self, text: &Text) -> String {
        let mut spellings: Vec<(String, usize)> = Vec::new();
        for place in &self.places {
            let words: Vec<&str> = self.words(text, *place).iter().map(|word| word.surface.as_str()).collect();
            let spelling = words.join(" ");
            match spellings.iter_mut().find(|(known, _)| *known == spelling) {
                Some((_, times)) => *times += 1,
                None => spellings.push((spelling, 1)),
            }
        }
        let most = spellings.iter().map(|(_, times)| *times).max().unwrap_or(0);
        spellings.into_iter().find(|(_, times)| *times == most).map(|(spelling, _)| spelling).unwrap_or_default()
    }
}

/// All runs of one to three words without a break that begin and end with a word that says something, in the order in
/// which they first occur.
fn candidates(text: &Text) -> Vec<Candidate> {
    let mut by_terms: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut found: Vec<Candidate> = Vec::new();
    for (s, sentence) in text.sentences.iter().enumerate() {
        for run in runs(sentence) {
            let words = &sentence.words[run.clone()];
            let terms: Vec<u32> = words.iter().map(|word| word.term).collect();
            let index = *by_terms.entry(terms).or_insert(found.len());
            if index == found.len() {
                found.push(Candidate { length: words.len(), places: Vec::new() });
            }
            found[index].places.push((s, run.start));
        }
    }
    found
}

fn runs(sentence: &Sentence) -> impl Iterator<Item = std::ops::Range<usize>> {
    let words = &sentence.words;
    (0..words.len()).flat_map(move |start| {
        let unbroken = words[start + 1..]
            .iter()
            .take(WORDS_MAX - 1)
            .take_while(|word| !word.after_break && word.class != WordClass::Number)
            .count();
        let says = |at: usize| words[at].class == WordClass::Content;
        (start..=start + unbroken).filter(move |&last| says(start) && says(last)).map(move |last| start..last + 1)
    })
}

/// What YAKE knows of every term and of every two neighbours.
struct Scores {
    terms: Vec<TermScore>,
    /// How often the second term follows the first.
    followed: HashMap<(u32, u32), usize>,
}

#[derive(Clone, Default)]
struct TermScore {
    frequency: f64,
    score: f64,
}

/// What is counted of one term.
#[derive(Clone, Default)]
struct Count {
    all: usize,
    capital: usize,
    acronym: usize,
    content: bool,
    /// Ascending, each once.
    sentences: Vec<usize>,
    left: HashSet<u32>,
    left_all: usize,
    right: HashSet<u32>,
    right_all: usize,
}

impl Scores {
    fn of(text: &Text) -> Scores {
        let (counts, followed) = counted(text);
        let content: Vec<f64> = counts.iter().filter(|c| c.content).map(|c| float(c.all)).collect();
        let (mean, deviation) = mean_and_deviation(&content);
        let usual = mean + deviation;
        let most = float(counts.iter().map(|count| count.all).max().unwrap_or(0));
        let sentences = float(text.sentences.len());
        let terms = counts
            .iter()
            .map(|count| TermScore { frequency: float(count.all), score: count.score(usual, most, sentences) })
            .collect();
        Scores { terms, followed }
    }

    fn phrase(&self, candidate: &Candidate, text: &Text) -> f64 {
        let words = candidate.words(text, candidate.places[0]);
        let (mut product, mut sum) = (1.0, 0.0);
        for (at, word) in words.iter().enumerate() {
            if word.class == WordClass::Content {
                let score = self.terms[word.term as usize].score;
                product *= score;
                sum += score;
            } else {
                // A stop word inside counts by how firmly it ties its neighbours together.
                let tie = self.tie(words[at - 1].term, word.term) * self.tie(word.term, words[at + 1].term);
                product *= 1.0 + (1.0 - tie);
                sum -= 1.0 - tie;
            }
        }
        // The sum of a phrase with a weak stop word can come near to -1, where the quotient means nothing any more.
        product / (float(candidate.places.len()) * f64::max(1.0 + sum, 0.1))
    }

    /// The share of the rarer term's occurrences in which the two stand together.
    fn tie(&self, left: u32, right: u32) -> f64 {
        let together = float(self.followed.get(&(left, right)).copied().unwrap_or(0));
        together / f64::min(self.terms[left as usize].frequency, self.terms[right as usize].frequency)
    }
}

impl Count {
    fn score(&self, usual: f64, most: f64, sentences: f64) -> f64 {
        if !self.content || self.all == 0 {
            return 0.0;
        }
        let all = float(self.all);
        let case = float(self.capital.max(self.acronym)) / (1.0 + all.ln());
        let position = (3.0 + median(&self.sentences)).ln().ln();
        let dispersion = share(self.left.len(), self.left_all) + share(self.right.len(), self.right_all);
        let related = 1.0 + dispersion * (all / most);
        let spread = float(self.sentences.len()) / sentences;
        (related * position) / (case + (all / usual) / related + spread / related)
    }
}

fn counted(text: &Text) -> (Vec<Count>, HashMap<(u32, u32), usize>) {
    let mut counts = vec![Count::default(); text.terms as usize];
    let mut followed: HashMap<(u32, u32), usize> = HashMap::new();
    for (s, sentence) in text.sentences.iter().enumerate() {
        for (w, word) in sentence.words.iter().enumerate() {
            let count = &mut counts[word.term as usize];
            count.all += 1;
            count.content |= word.class == WordClass::Content;
            count.acronym += usize::from(is_acronym(&word.surface));
            // At the beginning of a sentence every word has a capital.
            count.capital += usize::from(w > 0 && word.surface.chars().next().is_some_and(char::is_uppercase));
            if count.sentences.last() != Some(&s) {
                count.sentences.push(s);
            }
            if w > 0 && !word.after_break {
                let left = sentence.words[w - 1].term;
                *followed.entry((left, word.term)).or_default() += 1;
                counts[word.term as usize].left.insert(left);
                counts[word.term as usize].left_all += 1;
                counts[left as usize].right.insert(word.term);
                counts[left as usize].right_all += 1;
            }
        }
    }
    (counts, followed)
}

fn is_acronym(surface: &str) -> bool {
    surface.chars().nth(1).is_some() && surface.chars().all(char::is_uppercase)
}

/// The part that different neighbours make of all neighbours: low for a word of fixed phrases.
fn share(different: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { float(different) / float(all) }
}

fn median(ascending: &[usize]) -> f64 {
    let half = ascending.len() / 2;
    match ascending {
        [] => 0.0,
        _ if ascending.len().is_multiple_of(2) => f64::midpoint(float(ascending[half - 1]), float(ascending[half])),
        _ => float(ascending[half]),
    }
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let number = float(values.len());
    let mean = values.iter().sum::<f64>() / number;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / number;
    (mean, variance.sqrt())
}

fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::super::material::{Chunk, Material};
    use super::*;

    fn said(lines: &[&str], language: &str) -> Text {
        let chunk =
            |line: &&str| Chunk { text: (*line).to_owned(), language: Some(language.to_owned()), ..Chunk::default() };
        Text::of(&Material { chunks: lines.iter().map(chunk).collect(), ..Material::default() })
    }

    fn phrases(text: &Text, count: usize) -> Vec<String> {
        topics(text, count).into_iter().map(|topic| topic.phrase.to_lowercase()).collect()
    }

    const ENGLISH: &[&str] = &[
        "The release plan for the mobile app is late.",
        "Our release plan needs a new date because the vector database is slow.",
        "The vector database needs an index before the release.",
        "Okay, so let's look at the vector database again tomorrow.",
        "The mobile app waits for it.",
    ];

    #[test]
    fn what_is_spoken_of_again_and_again_comes_first() {
        let found = phrases(&said(ENGLISH, "en"), 3);
        assert!(found.contains(&"vector database".to_owned()), "{found:?}");
        assert!(found.contains(&"release plan".to_owned()), "{found:?}");
    }

    #[test]
    fn a_word_is_told_by_the_phrase_in_which_it_mostly_stands() {
        let lines = ["The mail provider is slow.", "Another mail provider costs more.", "Nobody knows the provider."];
        assert_eq!(phrases(&said(&lines, "en"), 1), ["mail provider"]);
    }

    #[test]
    fn no_topic_repeats_a_better_one() {
        let found = topics(&said(ENGLISH, "en"), 20);
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
        let found = phrases(&said(&["Rust, databases; hiking"], "en"), 10);
        assert_eq!(found.iter().filter(|phrase| phrase.contains(' ')).count(), 0, "{found:?}");
    }

    #[test]
    fn a_topic_is_written_as_most_people_write_it() {
        let found = topics(&said(&["We use Postgres.", "They use Postgres.", "POSTGRES!"], "en"), 1);
        assert_eq!(found[0].phrase, "Postgres");
        assert_eq!(found[0].sentences, [0, 1, 2]);
    }

    #[test]
    fn little_text_does_no_harm() {
        for lines in [&[][..], &[""], &["Rust"], &["a"], &["🎉🎉"], &["مرحبا بالجميع"]] {
            for topic in topics(&said(lines, "en"), 5) {
                assert!(topic.score.is_finite());
            }
        }
    }

    #[test]
    fn the_same_text_always_has_the_same_topics() {
        let first = topics(&said(ENGLISH, "en"), 10);
        for _ in 0..5 {
            assert_eq!(topics(&said(ENGLISH, "en"), 10), first);
        }
    }
}
