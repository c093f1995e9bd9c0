//! What was said before that a sentence is about: "I'll call him in the morning" – whom, and why, stands further up.
//!
//! Which of the sentences before say it is judged by clues that are the same in all languages: how far before they stand,
//! who says them, what they name that is new, and what of it comes back since.

use std::collections::{BTreeSet, HashMap};

use rustc_hash::FxHashSet;

use super::commitments::clauses::is_question;
use super::phrases::{Class, Classes, Meaning};
use super::text::{Sentence, Source, Text, WordClass};
use super::weights::{Teller, Weights};

/// How many sentences before are looked at.
pub const BEFORE: usize = 12;
/// Up to how many sentences apart a clue tells the distance.
const APART_MAX: usize = 6;
/// Up to how many turns apart a clue tells them.
const TURNS_MAX: usize = 8;
/// Up to what number clues count words.
const COUNTED_MAX: usize = 5;
/// Steps in which the words of a sentence are counted.
const LENGTHS: [usize; 5] = [3, 6, 10, 15, 22];

/// A meeting's sentences with what they name.
pub struct Referents<'t> {
    text: &'t Text,
    /// The terms by sentence that say what it is about.
    named: Vec<FxHashSet<u32>>,
    /// By sentence what its phrases mean.
    meanings: Vec<BTreeSet<Meaning>>,
    /// By term the first sentence that has it.
    first: HashMap<u32, usize>,
}

impl<'t> Referents<'t> {
    #[must_use]
    pub fn of(text: &'t Text) -> Referents<'t> {
        let named: Vec<FxHashSet<u32>> = text.sentences.iter().map(|sentence| named(text, sentence)).collect();
        let mut first = HashMap::new();
        for (index, terms) in named.iter().enumerate() {
            terms.iter().for_each(|term| {
                first.entry(*term).or_insert(index);
            });
        }
        let found = |sentence: &Sentence| {
            sentence.tokens.iter().flat_map(|token| &token.phrases).map(|one| one.meaning).collect()
        };
        let meanings = text.sentences.iter().map(found).collect();
        Referents { text, named, meanings, first }
    }

    /// The meeting whose sentences they are.
    #[must_use]
    pub fn text(&self) -> &'t Text {
        self.text
    }

    /// The sentences before one, and itself, that may say what it is about, with how likely they do: the nearest first.
    #[must_use]
    pub fn likely(&self, index: usize, weights: &Weights<1>) -> Vec<(usize, f64)> {
        let mut since = FxHashSet::default();
        let mut found = Vec::new();
        for before in (index.saturating_sub(BEFORE)..=index).rev() {
            let [likelihood] = weights.likelihood(|tell| self.tell(index, before, &since, tell));
            found.push((before, likelihood));
            since.extend(&self.named[before]);
        }
        found
    }

    /// Tells the clues of each of the sentences before one, and of itself.
    pub fn clues(&self, index: usize, mut tell: impl FnMut(usize, &str)) {
        let mut since = FxHashSet::default();
        for before in (index.saturating_sub(BEFORE)..=index).rev() {
            self.tell(index, before, &since, &mut |clue| tell(before, clue));
            since.extend(&self.named[before]);
        }
    }

    /// Tells the clues of a sentence and one before it; `since` are the terms that were named in between.
    fn tell(&self, index: usize, before: usize, since: &FxHashSet<u32>, tell: &mut dyn FnMut(&str)) {
        let mut clues = Teller::new(tell);
        let (one, other) = (&self.text.sentences[index], &self.text.sentences[before]);
        let apart = index - before;
        let near = apart.min(APART_MAX);
        clues.words(&["always"]);
        clues.tell(format_args!("apart {apart}"));
        if let (Source::Turn(turn), Source::Turn(earlier)) = (one.source, other.source) {
            let is_own = self.text.turns[turn].speaker_id == self.text.turns[earlier].speaker_id;
            let opens = index == 0 || self.text.sentences[index - 1].source != one.source;
            clues.tell(format_args!("turns {}", (turn - earlier).min(TURNS_MAX)));
            clues.tell(format_args!("own {is_own} turn {} apart {near}", turn == earlier));
            clues.tell(format_args!("opens {opens} apart {near}"));
        }
        let terms = &self.named[before];
        let count = |number: usize| number.min(COUNTED_MAX);
        clues.tell(format_args!("names {}", terms.len().min(2 * COUNTED_MAX)));
        clues.tell(format_args!("names {} apart {near}", count(terms.len())));
        clues.tell(format_args!("itself {} apart {near}", count(self.named[index].len())));
        let step = |sentence: &Sentence| LENGTHS.partition_point(|bound| *bound < sentence.tokens.len());
        clues.tell(format_args!("length {} apart {near}", step(one)));
        clues.tell(format_args!("length before {}", step(other)));
        let is_new = |term: &&u32| self.first.get(term) == Some(&before);
        clues.tell(format_args!("new {}", count(terms.iter().filter(is_new).count())));
        clues.tell(format_args!("known {}", count(terms.iter().filter(|term| !is_new(term)).count())));
        clues.tell(format_args!("again {}", count(terms.intersection(since).count())));
        clues.tell(format_args!("shared {}", count(terms.intersection(&self.named[index]).count())));
        let points_back = one.tokens.iter().any(|token| token.has(Class::Object) || token.has(Class::ThirdPronoun));
        clues.tell(format_args!("points back {points_back} apart {near}"));
        if is_question(&other.text) {
            clues.words(&["question"]);
            clues.tell(format_args!("question apart {near}"));
        }
        Classes::of_all(&other.tokens).iter().for_each(|class| clues.words(&["class", class.into()]));
        self.meanings[before].iter().for_each(|meaning| clues.words(&["means", meaning.into()]));
    }
}

/// The terms of a sentence that say what it is about.
fn named(text: &Text, sentence: &Sentence) -> FxHashSet<u32> {
    let plain = [Class::Between, Class::Interjection, Class::Empty, Class::Opener, Class::NoTopic, Class::Report];
    let mut tokens = sentence.tokens.iter().peekable();
    let mut terms = FxHashSet::default();
    for word in sentence.words.iter().filter(|word| word.class == WordClass::Content) {
        while tokens.next_if(|token| token.place.end <= word.place.start).is_some() {}
        let is_plain = tokens.peek().is_some_and(|token| plain.iter().any(|class| token.has(*class)));
        if !is_plain && !text.names.contains(&word.term) {
            terms.insert(word.term);
        }
    }
    terms
}
