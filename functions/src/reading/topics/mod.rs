//! The main topics of a text: its key phrases by YAKE, as far as they are noun phrases, and of those the ones that are
//! likeliest by their `clues`, as the labelled meetings have taught it (`topics.tsv`).
//!
//! A noun is known by its neighbours over the whole text (an article, a preposition, an adjective before it), and in
//! German by its capital; what a language file knows as a verb, a greeting, a day or a word without a subject is none,
//! and names of the participants are none. Chinese and Japanese words are those of ICU's dictionaries.

mod clues;
mod yake;

use std::collections::{BTreeSet, HashMap};

use crate::reading::phrases::{Class, Phrases};
use crate::reading::text::{Sentence, Text, Word, WordClass, is_without_spaces, lowered};
use crate::reading::tokens::{Break, Token, is_determined};
use crate::reading::weights::Weights;
use clues::Clues;
use yake::Scores;

/// The longest phrase, words.
const WORDS_MAX: usize = 3;

/// Phrases that are judged, the best by YAKE: a handful is wanted, and a day of talk has a hundred thousand.
const RANKED_MAX: usize = 60;

/// How likely a phrase has to be a topic beside a likelier one.
const LIKELY_MIN: f64 = 0.4;
/// How likely it is where nothing is learned of it: in notes, and in a language without phrases.
const UNLEARNED: f64 = 0.5;

/// A key phrase.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// As it is written most often.
    pub phrase: String,
    /// The terms of its words, without stop words, in their order.
    pub terms: Vec<u32>,
    /// The sentences in which it stands, one entry an occurrence, ascending.
    pub sentences: Vec<usize>,
}

/// The `count` best topics of a text, best first. None says again what a better one says already.
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

/// The phrases of a text that are said and may be topics, each with its clues.
#[must_use]
pub fn with_clues(text: &Text) -> Vec<(String, BTreeSet<String>)> {
    let scores = Scores::of(text);
    let clues = Clues::of(text, &scores);
    let with_clues = |(rank, candidate): (usize, Candidate)| {
        let said = clues.places(&candidate);
        let mut own = BTreeSet::new();
        clues.tell(rank, &said, &mut |clue| {
            own.insert(clue.to_owned());
        });
        (!said.is_empty()).then(|| (candidate.phrase(text), own))
    };
    ranked(text, &scores).into_iter().enumerate().filter_map(with_clues).collect()
}

/// A phrase that may be a topic.
struct Judged {
    /// How likely it is one, 0 … 1.
    likelihood: f64,
    candidate: Candidate,
}

/// The likeliest phrases first; of equals, as where nothing is learned, the best by YAKE.
fn judged(text: &Text, weights: &Weights<1>) -> Vec<Judged> {
    let scores = Scores::of(text);
    let clues = Clues::of(text, &scores);
    let judge = |(rank, candidate): (usize, Candidate)| {
        let said = clues.places(&candidate);
        let [learned] = weights.likelihood(|tell| clues.tell(rank, &said, tell));
        // Of what stands there once nothing tells that it is more than a word by the way.
        let unlearned = if candidate.places.len() - said.len() < 2 { 0.0 } else { UNLEARNED };
        Judged { likelihood: if said.is_empty() { unlearned } else { learned.max(unlearned) }, candidate }
    };
    let mut judged: Vec<Judged> = ranked(text, &scores).into_iter().enumerate().map(judge).collect();
    judged.sort_by(|one, other| other.likelihood.total_cmp(&one.likelihood));
    judged
}

/// The best phrases by YAKE, best first, behind them those that stand once. Equal scores keep the order in which the
/// phrases first occur.
fn ranked(text: &Text, scores: &Scores) -> Vec<Candidate> {
    let uses = uses(text);
    let mut ranked: Vec<(f64, Candidate)> =
        candidates(text, &uses).into_iter().map(|found| (scores.phrase(&found, text), found)).collect();
    ranked.sort_by(|a, b| (a.1.places.len() < 2).cmp(&(b.1.places.len() < 2)).then(a.0.total_cmp(&b.0)));
    ranked.truncate(RANKED_MAX);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The likeliest longer phrase in which at least half of a phrase's occurrences stand: "mail provider" says more than
/// "provider", and YAKE leaves the longer one behind whenever the word stands alone a few times as well.
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

/// Whether a word alone says who, or too little, and not what was talked about.
fn is_somebody(word: &Word, sentence: &Sentence) -> bool {
    let classes = sentence.language.phrases().map(|phrases| phrases.classes(&lowered(&word.surface)));
    classes.is_some_and(|classes| classes.has(Class::Role) || classes.has(Class::Vague))
}

/// Whether a word alone is rather a verb: where it follows no article that can be nothing else.
fn is_done(word: &Word, sentence: &Sentence) -> bool {
    let Some(phrases) = sentence.language.phrases().filter(|phrases| noun_first(phrases)) else { return false };
    token_of(&sentence.tokens, word)
        .is_some_and(|at| sentence.tokens[at].classes.is_verb() && !is_determined(&sentence.tokens, at, phrases))
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
            let spelling = if words.iter().all(|word| word.chars().any(is_without_spaces)) {
                words.concat()
            } else {
                words.join(" ")
            };
            match spellings.iter_mut().find(|(known, _)| *known == spelling) {
                Some((_, times)) => *times += 1,
                None => spellings.push((spelling, 1)),
            }
        }
        let most = spellings.iter().map(|(_, times)| *times).max().unwrap_or(0);
        spellings.into_iter().find(|(_, times)| *times == most).map(|(spelling, _)| spelling).unwrap_or_default()
    }
}

/// All runs of one to three words without a break that are noun phrases, in the order in which they first occur.
fn candidates(text: &Text, uses: &[Use]) -> Vec<Candidate> {
    let mut by_terms: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut found: Vec<Candidate> = Vec::new();
    for (s, sentence) in text.sentences.iter().enumerate() {
        let parts: Vec<PartOf> = sentence.words.iter().map(|word| part(word, sentence, text, uses)).collect();
        for run in runs(sentence, &parts) {
            let words = &sentence.words[run.clone()];
            if let [only] = words
                && (is_somebody(only, sentence) || is_done(only, sentence))
            {
                continue;
            }
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

/// What a word can be in a noun phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartOf {
    Noun,
    /// Beside a noun only.
    Adjective,
    /// Between two nouns only ("banco de dados").
    Link,
    None,
}

/// How a term is used in the text.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    noun: u32,
    verb: u32,
    /// Beside a noun, behind an article.
    modifier: u32,
}

/// How every term is used: by what stands before it, and by its capital.
fn uses(text: &Text) -> Vec<Use> {
    let mut uses = vec![Use::default(); text.terms as usize];
    for sentence in &text.sentences {
        let Some(phrases) = sentence.language.phrases() else { continue };
        let tokens = &sentence.tokens;
        for word in &sentence.words {
            let Some(at) = token_of(tokens, word) else { continue };
            let token = &tokens[at];
            let known = &mut uses[word.term as usize];
            let before = at.checked_sub(1).map(|before| &tokens[before]).filter(|_| token.before == Break::None);
            let is_determined =
                before.is_some_and(|before| before.has(Class::Determiner) || before.has(Class::Preposition));
            let has_subject = before.is_some_and(|before| {
                before.has(Class::Pronoun) && !before.has(Class::Determiner) || before.has(Class::Modal)
            });
            let is_capital = at > 0 && token.has_capital;
            // "the vector database is": what follows tells that the noun is over.
            let compound = if phrases.capital_nouns || noun_first(phrases) { None } else { compound_at(tokens, at) };
            let is_determined = match compound {
                Some(Compound::Head) => true,
                Some(Compound::Modifier) => {
                    known.modifier += 1;
                    continue;
                }
                None => is_determined,
            };
            known.noun += u32::from(is_determined) + u32::from(is_capital) * if phrases.capital_nouns { 2 } else { 1 };
            known.verb += u32::from(has_subject);
            // A form of a verb that stands where no noun can stand.
            known.verb += u32::from(token.classes.is_verb() && !is_determined && !is_capital);
        }
    }
    uses
}

/// A word beside another one behind an article.
enum Compound {
    /// "database" in "the vector database".
    Head,
    /// "vector" there.
    Modifier,
}

fn compound_at(tokens: &[Token], at: usize) -> Option<Compound> {
    let determines = |at: usize| tokens[at].has(Class::Determiner) || tokens[at].has(Class::Preposition);
    let plain = [
        Class::Modal,
        Class::Joint,
        Class::Pronoun,
        Class::Between,
        Class::Empty,
        Class::Negation,
        Class::Opener,
        Class::Interjection,
    ];
    let says = |at: usize| !determines(at) && !plain.iter().any(|class| tokens[at].has(*class));
    let is_over = |at: usize| tokens.get(at).is_none_or(|next| next.before != Break::None || determines_end(next));
    let joined = |at: usize| tokens.get(at).is_some_and(|token| token.before == Break::None);
    if at >= 2
        && joined(at)
        && joined(at - 1)
        && says(at - 1)
        && (determines(at - 2) || (at >= 3 && joined(at - 2) && says(at - 2) && determines(at - 3)))
        && is_over(at + 1)
    {
        return Some(Compound::Head);
    }
    let is_second = |second: usize| joined(second) && says(second) && is_over(second + 1);
    if at >= 1 && joined(at) && determines(at - 1) && at + 1 < tokens.len() && joined(at + 1) && says(at + 1) {
        let is_modifier = is_second(at + 1) || (at + 2 < tokens.len() && is_second(at + 2));
        return is_modifier.then_some(Compound::Modifier);
    }
    None
}

/// Words that follow a whole noun phrase.
fn determines_end(token: &Token) -> bool {
    [Class::Preposition, Class::Modal, Class::Joint, Class::Empty, Class::Opener, Class::Between]
        .iter()
        .any(|class| token.has(*class))
}

/// Whether adjectives follow their noun.
fn noun_first(phrases: &Phrases) -> bool {
    matches!(phrases.code, "fr" | "es" | "pt" | "it")
}

fn token_of(tokens: &[Token], word: &Word) -> Option<usize> {
    let at = tokens.partition_point(|token| token.place.end <= word.place.start);
    tokens.get(at).filter(|token| token.place.start < word.place.end).map(|_| at)
}

fn part(word: &Word, sentence: &Sentence, text: &Text, uses: &[Use]) -> PartOf {
    let Some(phrases) = sentence.language.phrases() else {
        let is_name = text.names.contains(&word.term);
        return if word.class == WordClass::Content && !is_name { PartOf::Noun } else { PartOf::None };
    };
    let lower = lowered(&word.surface);
    let lower =
        lower.split_once('\'').filter(|(_, tail)| *tail == "s").map_or(lower.as_str(), |(head, _)| head).to_owned();
    let classes = phrases.classes(&lower);
    if classes.has(Class::Preposition) || classes.has(Class::Determiner) {
        return PartOf::Link;
    }
    let is_capital_noun = phrases.capital_nouns && word.surface.chars().next().is_some_and(char::is_uppercase);
    let plain = [
        Class::Between,
        Class::Negation,
        Class::Condition,
        Class::ConditionFirst,
        Class::Contrary,
        Class::Joint,
        Class::Opener,
        Class::Pronoun,
        Class::Report,
        Class::Past,
        Class::Interjection,
        Class::NoTopic,
        Class::Modal,
        Class::Title,
        Class::NoName,
        Class::MeLater,
        Class::ThirdLater,
        Class::WeLater,
    ];
    // Lists of stop words have nouns, too ("search", "page"): behind an article and before a noun they are none.
    let is_modifier =
        uses[word.term as usize].modifier > 0 && word.class == WordClass::Stop && lower.chars().count() > 3;
    if (word.class != WordClass::Content && !is_modifier)
        || plain.iter().any(|class| classes.has(*class))
        || (classes.has(Class::Empty) && !is_capital_noun)
        || phrases.calendar.is_word(&lower)
        || text.names.contains(&word.term)
    {
        return PartOf::None;
    }
    let used = uses[word.term as usize];
    let noun = used.noun + used.modifier;
    if used.verb > noun || (classes.is_verb() && used.verb >= noun) {
        return PartOf::None;
    }
    if (used.noun > 0 || is_capital_noun) && !is_modifier { PartOf::Noun } else { PartOf::Adjective }
}

fn runs(sentence: &Sentence, parts: &[PartOf]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let words = &sentence.words;
    // Where adjectives follow their noun, the noun stands first.
    let noun_first = sentence.language.phrases().is_some_and(noun_first);
    (0..words.len()).flat_map(move |start| {
        let unbroken = words[start + 1..].iter().take(WORDS_MAX - 1).take_while(|word| !word.after_break).count();
        (start..=start + unbroken).map(move |last| start..last + 1).filter(move |run| {
            let parts = &parts[run.clone()];
            let (first, last) = (parts[0], parts[parts.len() - 1]);
            let middle = parts.len() < 3 || parts[1] != PartOf::None;
            let is_link = |part: PartOf| matches!(part, PartOf::Link | PartOf::None);
            let head = if noun_first { first } else { last };
            !is_link(first) && !is_link(last) && middle && head == PartOf::Noun
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::material::{Chunk, Material};
    use super::*;
    use crate::reading::weights::Learned;

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
