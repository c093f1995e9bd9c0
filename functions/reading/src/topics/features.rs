//! The features of a phrase for the classifier of topics.
//!
//! Frequency, speakers, positions in the meeting, and surrounding words: "now the allotments", "about the allotments".
//! Most are common to all languages; words and their endings belong to one.

use std::collections::BTreeSet;

use super::candidates::Candidate;
use super::yake::Scores;
use crate::commitments::clauses::is_question;
use crate::languages::phrases::Phrases;
use crate::languages::token::{Break, lowered};
use crate::model::feature_sink::{FeatureSink, step};
use crate::text::sentences::{Sentence, Source, Text, Word, WordClass};

/// Steps of the frequency of a phrase.
const TIMES: [usize; 7] = [1, 2, 3, 4, 6, 9, 14];
/// Steps of its rank by YAKE.
const RANKS: [usize; 9] = [0, 1, 2, 4, 7, 11, 18, 30, 60];
/// Steps of its number of letters.
const CHARS: [usize; 5] = [3, 5, 8, 12, 18];
/// Steps of a part of the meeting, hundredths.
const PARTS: [usize; 7] = [4, 10, 20, 40, 60, 80, 92];
/// Steps of the number of words in a sentence.
const LENGTHS: [usize; 5] = [2, 4, 8, 14, 22];
/// Steps of the number of sentences in a meeting.
const SENTENCES: [usize; 5] = [3, 6, 12, 25, 50];
/// Most distinguished speakers.
const SPEAKERS_MAX: usize = 4;
/// Most turns after which another speaker repeats a phrase.
const UPTAKE_TURNS: usize = 2;
/// Number of first occurrences whose surrounding words are features.
const PLACES_MAX: usize = 6;
/// Number of letters of an ending.
const ENDINGS: [usize; 2] = [2, 3];

/// A meeting with candidates.
pub(super) struct Features<'t> {
    text: &'t Text,
    scores: &'t Scores,
    /// Number of spoken sentences.
    said: usize,
}

impl<'t> Features<'t> {
    pub(super) fn of(text: &'t Text, scores: &'t Scores) -> Features<'t> {
        let is_said = |sentence: &&Sentence| matches!(sentence.source, Source::Turn(_));
        Features { text, scores, said: text.sentences.iter().filter(is_said).count() }
    }

    /// Occurrences of a phrase in a language with phrases, for which the learned weights are valid.
    pub(super) fn places(&self, candidate: &Candidate) -> Vec<Occurrence<'t>> {
        candidate.places.iter().filter_map(|place| Occurrence::of(candidate, *place, self.text)).collect()
    }

    /// Emits the features of a phrase from its rank by YAKE and its occurrences; none without occurrences.
    pub(super) fn write(&self, rank: usize, said: &[Occurrence<'_>], emit: &mut dyn FnMut(&str)) {
        let (Some(first), Some(last)) = (said.first(), said.last()) else { return };
        let mut features = FeatureSink::new(emit);
        let code = first.phrases.code;
        let part = |index: usize| step(index * 100 / self.said.max(1), &PARTS);
        let times = step(said.len(), &TIMES);
        let turns: BTreeSet<usize> = said.iter().map(|place| place.turn).collect();
        let speakers: BTreeSet<&str> = said.iter().map(|place| place.speaker).collect();
        let speakers = speakers.len().min(SPEAKERS_MAX);
        let length = first.words.len();
        let size = step(self.said, &SENTENCES);
        features.words(&["always"]);
        features.words(&["language", code]);
        features.format(format_args!("times {times}"));
        features.format(format_args!("times {times} size {size}"));
        features.format(format_args!("times {times} length {length}"));
        features.format(format_args!("turns {}", step(turns.len(), &TIMES)));
        features.format(format_args!("speakers {speakers}"));
        features.format(format_args!("speakers {speakers} times {times}"));
        features.format(format_args!("rank {}", step(rank, &RANKS)));
        features.format(format_args!("rank {} times {times}", step(rank, &RANKS)));
        features.format(format_args!("first {}", part(first.index)));
        features.format(format_args!("last {}", part(last.index)));
        features.format(format_args!("span {}", part(last.index - first.index)));
        let is_taken_up =
            said.windows(2).any(|two| two[0].speaker != two[1].speaker && two[1].turn - two[0].turn <= UPTAKE_TURNS);
        features.format(format_args!("taken up {is_taken_up}"));
        features.format(format_args!("taken up {is_taken_up} times {times}"));
        let (content, plain): (Vec<&Word>, Vec<&Word>) =
            first.words.iter().partition(|word| word.class == WordClass::Content);
        let counts = || content.iter().map(|word| self.scores.count(word.term));
        let (rarest, commonest) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        features.format(format_args!("rarest {} length {length}", step(rarest, &TIMES)));
        features.format(format_args!("commonest {} length {length}", step(commonest, &TIMES)));
        features.format(format_args!("alone {} length {length}", step(rarest.saturating_sub(said.len()), &TIMES)));
        features.format(format_args!("{code} plain {} length {length}", plain.len()));
        first.write_words(&mut features);
        first.write_around("first", &mut features);
        said.iter().take(PLACES_MAX).for_each(|place| place.write_around("any", &mut features));
    }
}

/// An occurrence of a phrase.
pub(super) struct Occurrence<'t> {
    index: usize,
    sentence: &'t Sentence,
    phrases: &'static Phrases,
    turn: usize,
    speaker: &'t str,
    /// True if the sentence is the first of its turn.
    opens: bool,
    words: &'t [Word],
}

impl<'t> Occurrence<'t> {
    fn of(candidate: &Candidate, place: (usize, usize), text: &'t Text) -> Option<Occurrence<'t>> {
        let (index, _) = place;
        let sentence = &text.sentences[index];
        let Source::Turn(turn) = sentence.source else { return None };
        Some(Occurrence {
            index,
            sentence,
            phrases: sentence.language.phrases()?,
            turn,
            speaker: &text.turns[turn].speaker_id,
            opens: index.checked_sub(1).is_none_or(|before| text.sentences[before].source != sentence.source),
            words: candidate.words(text, place),
        })
    }

    /// Emits features of the phrase itself.
    fn write_words(&self, features: &mut FeatureSink<'_>) {
        let code = self.phrases.code;
        let content: Vec<&Word> = self.words.iter().filter(|word| word.class == WordClass::Content).collect();
        // Every word at the beginning of a sentence has a capital.
        let is_capital =
            |word: &&&Word| word.place.start > 0 && word.surface.chars().next().is_some_and(char::is_uppercase);
        let chars: usize = content.iter().map(|word| word.surface.chars().count()).sum();
        features.format(format_args!("words {}", self.words.len()));
        features.format(format_args!("chars {}", step(chars, &CHARS)));
        features.format(format_args!(
            "{code} capitals {} of {}",
            content.iter().filter(is_capital).count(),
            content.len()
        ));
        for word in content {
            let lower = lowered(&word.surface);
            features.words(&[code, &lower]);
            for ending in ENDINGS {
                if let Some((at, _)) = lower.char_indices().rev().nth(ending - 1).filter(|(at, _)| *at > 0) {
                    features.words(&[code, "…", &lower[at..]]);
                }
            }
            self.phrases.classes(&lower).iter().for_each(|class| features.words(&["class", class.into()]));
            match self.phrases.sense(&lower) {
                Some(sense) => {
                    features.words(&["lemma", sense.lemma]);
                    features.words(&["sense", sense.group]);
                }
                None => features.words(&["sense", "unknown"]),
            }
        }
    }

    /// Emits features of the surrounding words.
    fn write_around(&self, which: &str, features: &mut FeatureSink<'_>) {
        let code = self.phrases.code;
        let tokens = &self.sentence.tokens;
        let (Some(first), Some(last)) = (self.words.first(), self.words.last()) else { return };
        let start = tokens.partition_point(|token| token.place.end <= first.place.start);
        let end = tokens.partition_point(|token| token.place.start < last.place.end);
        let word = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(|token| token.lower.as_str());
        let before = word(start.checked_sub(1)).unwrap_or("^");
        let two_before = word(start.checked_sub(2)).unwrap_or("^");
        let behind = word(Some(end)).unwrap_or("$");
        features.words(&[which, code, before, "_"]);
        features.words(&[which, code, two_before, before, "_"]);
        features.words(&[which, code, "_", behind]);
        let around = [("before", start.checked_sub(1)), ("two before", start.checked_sub(2)), ("behind", Some(end))];
        for (place, at) in around {
            let Some(token) = at.and_then(|at| tokens.get(at)) else {
                features.words(&[which, place, "none"]);
                continue;
            };
            token.classes.iter().for_each(|class| features.words(&[which, place, class.into()]));
            if let Some(sense) = self.phrases.sense(&token.lower) {
                features.words(&[which, place, "sense", sense.group]);
            }
        }
        for (place, at) in [("before", start), ("behind", end)] {
            if tokens.get(at).is_some_and(|token| token.before != Break::None) {
                features.words(&[which, place, "break"]);
            }
        }
        let length = step(tokens.len(), &LENGTHS);
        let asks = is_question(&self.sentence.text);
        features.format(format_args!("{which} length {length}"));
        features.format(format_args!("{which} length {length} opens {} asks {asks}", self.opens));
        features.format(format_args!("{which} starts {} ends {}", start == 0, end == tokens.len()));
        for found in tokens.iter().flat_map(|token| &token.phrases) {
            features.words(&[which, "means", found.meaning.into()]);
        }
    }
}
