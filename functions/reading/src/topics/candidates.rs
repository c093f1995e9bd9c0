//! Candidates for topics: noun phrases.

use std::collections::HashMap;

use crate::languages::classes::Class;
use crate::languages::phrases::Phrases;
use crate::languages::token::{Break, Token, lowered};
use crate::text::sentences::{Sentence, Text, Word, WordClass, is_without_spaces};
use crate::text::tokens::is_determined;

/// Longest phrase, in words.
const WORDS_MAX: usize = 3;

/// A candidate for a key phrase.
pub(super) struct Candidate {
    pub(super) length: usize,
    /// Sentence and first word of every occurrence; at least one.
    pub(super) places: Vec<(usize, usize)>,
}

impl Candidate {
    pub(super) fn words<'t>(&self, text: &'t Text, place: (usize, usize)) -> &'t [Word] {
        &text.sentences[place.0].words[place.1..place.1 + self.length]
    }

    pub(super) fn content(&self, text: &Text) -> Vec<u32> {
        let words = self.words(text, self.places[0]).iter();
        words.filter(|word| word.class == WordClass::Content).map(|word| word.term).collect()
    }

    /// Returns the most frequent spelling; of equals the first.
    pub(super) fn phrase(&self, text: &Text) -> String {
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

/// Returns all noun phrases of one to three words, in the order of their first occurrence.
pub(super) fn candidates(text: &Text) -> Vec<Candidate> {
    let uses = uses(text);
    let mut by_terms: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut found: Vec<Candidate> = Vec::new();
    for (s, sentence) in text.sentences.iter().enumerate() {
        let parts: Vec<PartOf> = sentence.words.iter().map(|word| part(word, sentence, text, &uses)).collect();
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

/// The role of a word in a noun phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartOf {
    Noun,
    /// Only beside a noun.
    Adjective,
    /// Only between two nouns ("banco de dados").
    Link,
    None,
}

/// The use of a term in the text.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    noun: u32,
    verb: u32,
    /// Beside a noun, behind an article.
    modifier: u32,
}

/// The use of every term, from the word before it and its capital.
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
            let has_subject = before.is_some_and(|before| before.is_plain_pronoun() || before.has(Class::Modal));
            let is_capital = at > 0 && token.has_capital;
            // "the vector database is": the following word shows the end of the noun.
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
            // A form of a verb at a position where a noun is impossible.
            known.verb += u32::from(token.classes.is_verb() && !is_determined && !is_capital);
        }
    }
    uses
}

/// A word beside another one behind an article.
enum Compound {
    /// "database" in "the vector database".
    Head,
    /// "vector" in it.
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
    let says = |at: usize| !determines(at) && !tokens[at].has_any(&plain);
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
    token.has_any(&[Class::Preposition, Class::Modal, Class::Joint, Class::Empty, Class::Opener, Class::Between])
}

/// Returns true if adjectives follow their noun.
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
    // Lists of stop words contain nouns too ("search", "page"): behind an article and before a noun they count.
    let is_modifier =
        uses[word.term as usize].modifier > 0 && word.class == WordClass::Stop && lower.chars().count() > 3;
    if (word.class != WordClass::Content && !is_modifier)
        || classes.has_any(&plain)
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
    // In languages with adjectives behind their noun, the noun comes first.
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

/// Returns true if a single word names a person, or is too unspecific for a topic.
fn is_somebody(word: &Word, sentence: &Sentence) -> bool {
    let classes = sentence.language.phrases().map(|phrases| phrases.classes(&lowered(&word.surface)));
    classes.is_some_and(|classes| classes.has(Class::Role) || classes.has(Class::Vague))
}

/// Returns true if a single word is rather a verb: if it follows no unambiguous article.
fn is_done(word: &Word, sentence: &Sentence) -> bool {
    let Some(phrases) = sentence.language.phrases().filter(|phrases| noun_first(phrases)) else { return false };
    token_of(&sentence.tokens, word)
        .is_some_and(|at| sentence.tokens[at].classes.is_verb() && !is_determined(&sentence.tokens, at, phrases))
}
