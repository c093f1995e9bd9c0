//! The earlier noun phrase to which a sentence refers: "I'll call him in the morning".
//!
//! A classifier chooses among earlier noun phrases by features common to all languages: distance, speaker, the content
//! of their sentences, their position in them, and their later mentions.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::feature_sink::{FeatureSink, step};
use super::weights::Weights;
use crate::commitments::clauses::is_question;
use crate::languages::classes::{Class, Classes};
use crate::languages::meanings::Meaning;
use crate::text::noun_phrases::noun_phrases;
use crate::text::sentences::{Sentence, Source, Text, WordClass};

/// Number of earlier sentences.
pub const BEFORE: usize = 12;
/// Most noun phrases per sentence.
const NOUNS_MAX: usize = 24;
/// The longest distance in sentences that features distinguish.
const APART_MAX: usize = 6;
/// The longest distance in turns that features distinguish.
const TURNS_MAX: usize = 8;
/// The highest count that features distinguish.
const COUNTED_MAX: usize = 5;
/// Steps in which the words of a sentence are counted.
const LENGTHS: [usize; 5] = [3, 6, 10, 15, 22];

/// A noun phrase of a meeting.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NounPhrase {
    pub sentence: usize,
    /// Its tokens.
    pub words: Range<usize>,
}

/// The sentences of a meeting with their noun phrases.
pub struct Referents<'t> {
    text: &'t Text,
    /// Content terms by sentence.
    named: Vec<FxHashSet<u32>>,
    /// Meanings of phrases by sentence.
    meanings: Vec<BTreeSet<Meaning>>,
    /// First sentence by term.
    first: HashMap<u32, usize>,
    /// Number of sentences by term.
    count: HashMap<u32, usize>,
}

impl<'t> Referents<'t> {
    #[must_use]
    pub fn of(text: &'t Text) -> Referents<'t> {
        let named: Vec<FxHashSet<u32>> = text.sentences.iter().map(|sentence| named(text, sentence)).collect();
        let (mut first, mut count) = (HashMap::new(), HashMap::new());
        for (index, terms) in named.iter().enumerate() {
            terms.iter().for_each(|term| {
                first.entry(*term).or_insert(index);
                *count.entry(*term).or_insert(0) += 1;
            });
        }
        let found = |sentence: &Sentence| {
            sentence.tokens.iter().flat_map(|token| &token.phrases).map(|one| one.meaning).collect()
        };
        let meanings = text.sentences.iter().map(found).collect();
        Referents { text, named, meanings, first, count }
    }

    /// Returns the noun phrases of a sentence and of earlier ones with the likelihood of each as its referent:
    /// likeliest first; of equals, the nearest.
    #[must_use]
    pub fn likely(&self, index: usize, weights: &Weights<1>) -> Vec<(NounPhrase, f64)> {
        let mut found = Vec::new();
        self.each(index, |place, since| {
            let [likelihood] = weights.likelihood(|emit| self.write(index, place, since, emit));
            found.push((place.clone(), likelihood));
        });
        found.sort_by(|one: &(NounPhrase, f64), other| other.1.total_cmp(&one.1));
        found
    }

    /// Emits the features of each of these noun phrases.
    pub fn features(&self, index: usize, mut emit: impl FnMut(&NounPhrase, &str)) {
        self.each(index, |place, since| self.write(index, place, since, &mut |feature| emit(place, feature)));
    }

    /// Returns each noun phrase of a sentence and of earlier ones, nearest first, with the terms named since.
    fn each(&self, index: usize, mut see: impl FnMut(&NounPhrase, &FxHashSet<u32>)) {
        let mut since = FxHashSet::default();
        for sentence in (index.saturating_sub(BEFORE)..=index).rev() {
            for words in noun_phrases(&self.text.sentences[sentence]).into_iter().take(NOUNS_MAX) {
                see(&NounPhrase { sentence, words }, &since);
            }
            since.extend(&self.named[sentence]);
        }
    }

    /// Emits the features of a sentence and a noun phrase; `since` are the terms named in between.
    fn write(&self, index: usize, place: &NounPhrase, since: &FxHashSet<u32>, emit: &mut dyn FnMut(&str)) {
        self.write_sentence(index, place.sentence, since, emit);
        let mut features = FeatureSink::new(emit);
        let near = (index - place.sentence).min(APART_MAX);
        let sentence = &self.text.sentences[place.sentence];
        let tokens = &sentence.tokens;
        let (start, end) = (place.words.start, place.words.end);
        let own = self.terms(sentence, &place.words);
        let count = |number: usize| number.min(COUNTED_MAX);
        features.format(format_args!("words {}", end - start));
        features.format(format_args!("opened {} apart {near}", tokens[start].has(Class::Determiner)));
        features.format(format_args!("from {} of {}", count(start), length(sentence)));
        features.format(format_args!("until {}", count(tokens.len() - end)));
        let most = own.iter().filter_map(|term| self.count.get(term)).max().copied().unwrap_or(0);
        features.format(format_args!("often {}", count(most)));
        features.format(format_args!("often {} apart {near}", count(most)));
        let is_new = own.iter().any(|term| self.first.get(term) == Some(&place.sentence));
        features.format(format_args!("phrase new {is_new} apart {near}"));
        features.format(format_args!("phrase again {} apart {near}", own.iter().any(|term| since.contains(term))));
        features.format(format_args!("phrase shared {}", own.iter().any(|term| self.named[index].contains(term))));
        features.format(format_args!("phrase terms {}", count(own.len())));
        features.format(format_args!("phrase name {}", own.iter().any(|term| self.text.names.contains(term))));
        if let Some(before) = start.checked_sub(1) {
            Classes::of_all(&tokens[before..start]).iter().for_each(|class| features.words(&["behind", class.into()]));
        }
        if let Some(next) = tokens.get(end) {
            Classes::of_all(std::slice::from_ref(next))
                .iter()
                .for_each(|class| features.words(&["ahead", class.into()]));
        }
        Classes::of_all(&tokens[place.words.clone()])
            .iter()
            .for_each(|class| features.words(&["inside", class.into()]));
    }

    /// Returns the content terms of a noun phrase.
    fn terms(&self, sentence: &Sentence, words: &Range<usize>) -> FxHashSet<u32> {
        let (Some(first), Some(last)) = (sentence.tokens.get(words.start), sentence.tokens[..words.end].last()) else {
            return FxHashSet::default();
        };
        let place = first.place.start..last.place.end;
        let inside = sentence.words.iter().filter(|word| place.contains(&word.place.start));
        inside.filter(|word| word.class != WordClass::Stop).map(|word| word.term).collect()
    }

    /// Emits the features of a sentence and an earlier one; `since` are the terms named in between.
    fn write_sentence(&self, index: usize, before: usize, since: &FxHashSet<u32>, emit: &mut dyn FnMut(&str)) {
        let mut features = FeatureSink::new(emit);
        let (one, other) = (&self.text.sentences[index], &self.text.sentences[before]);
        let apart = index - before;
        let near = apart.min(APART_MAX);
        features.words(&["always"]);
        features.format(format_args!("apart {apart}"));
        if let (Source::Turn(turn), Source::Turn(earlier)) = (one.source, other.source) {
            let is_own = self.text.turns[turn].speaker_id == self.text.turns[earlier].speaker_id;
            let opens = index == 0 || self.text.sentences[index - 1].source != one.source;
            features.format(format_args!("turns {}", (turn - earlier).min(TURNS_MAX)));
            features.format(format_args!("own {is_own} turn {} apart {near}", turn == earlier));
            features.format(format_args!("opens {opens} apart {near}"));
        }
        let terms = &self.named[before];
        let count = |number: usize| number.min(COUNTED_MAX);
        features.format(format_args!("names {}", terms.len().min(2 * COUNTED_MAX)));
        features.format(format_args!("names {} apart {near}", count(terms.len())));
        features.format(format_args!("itself {} apart {near}", count(self.named[index].len())));
        features.format(format_args!("length {} apart {near}", length(one)));
        features.format(format_args!("length before {}", length(other)));
        let is_new = |term: &&u32| self.first.get(term) == Some(&before);
        features.format(format_args!("new {}", count(terms.iter().filter(is_new).count())));
        features.format(format_args!("known {}", count(terms.iter().filter(|term| !is_new(term)).count())));
        features.format(format_args!("again {}", count(terms.intersection(since).count())));
        features.format(format_args!("shared {}", count(terms.intersection(&self.named[index]).count())));
        let points_back = one.tokens.iter().any(|token| token.has(Class::Object) || token.has(Class::ThirdPronoun));
        features.format(format_args!("points back {points_back} apart {near}"));
        if is_question(&other.text) {
            features.words(&["question"]);
            features.format(format_args!("question apart {near}"));
        }
        Classes::of_all(&other.tokens).iter().for_each(|class| features.words(&["class", class.into()]));
        self.meanings[before].iter().for_each(|meaning| features.words(&["means", meaning.into()]));
    }
}

/// Returns the step of a sentence's length.
fn length(sentence: &Sentence) -> usize {
    step(sentence.tokens.len(), &LENGTHS)
}

/// Returns the content terms of a sentence.
fn named(text: &Text, sentence: &Sentence) -> FxHashSet<u32> {
    let plain = [Class::Between, Class::Interjection, Class::Empty, Class::Opener, Class::NoTopic, Class::Report];
    let mut tokens = sentence.tokens.iter().peekable();
    let mut terms = FxHashSet::default();
    for word in sentence.words.iter().filter(|word| word.class == WordClass::Content) {
        while tokens.next_if(|token| token.place.end <= word.place.start).is_some() {}
        let is_plain = tokens.peek().is_some_and(|token| token.has_any(&plain));
        if !is_plain && !text.names.contains(&word.term) {
            terms.insert(word.term);
        }
    }
    terms
}
