//! How likely a sentence tells a decision, as the labelled meetings have taught it.
//!
//! A logistic regression over clues: the words of the sentence and their pairs, their classes, and whether it comes back
//! to a question or to words of a moment before. No clue is a phrase of the language files: those were written with the
//! same meetings at hand that teach the weights, so that they would be trusted more than they deserve. The weights stand in
//! `decisions.tsv`, one clue a line, in hundredths: what speaks for a decision is positive. They are learned by
//! `functions/tests/meetings/learning.rs` from the meetings beside it, never by hand.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use super::commitments::clauses::is_question;
use super::phrases::Class;
use super::text::{Source, Text};

/// How many sentences before are looked at.
const BEFORE: usize = 4;
/// The shortest word, bytes, by which two sentences are about the same.
const SHARED_WORD_MIN: usize = 5;
/// The most shared words that are counted.
const SHARED_MAX: usize = 3;
/// Words of a sentence are counted in steps of so many, up to so many steps.
const LENGTH_STEP: usize = 4;
const LENGTH_STEPS_MAX: usize = 5;
/// By clue: its number and its weight in hundredths.
static WEIGHTS: LazyLock<HashMap<&'static str, (usize, i32)>> = LazyLock::new(|| {
    let lines = include_str!("decisions.tsv").lines().filter(|line| !line.starts_with('#'));
    let weight = |(number, line): (usize, &'static str)| {
        let (weight, clue) = line.split_once('\t')?;
        Some((clue, (number, weight.parse().ok()?)))
    };
    lines.enumerate().filter_map(weight).collect()
});

/// How likely a sentence tells a decision, 0 … 1; None of what is not said, or in a language without phrases.
#[must_use]
pub fn likelihood(text: &Text, index: usize) -> Option<f64> {
    let mut known: Vec<(usize, i32)> = Vec::new();
    clues(text, index, |clue| known.extend(WEIGHTS.get(clue)))?;
    known.sort_unstable();
    known.dedup();
    let sum: i32 = known.iter().map(|(_, weight)| weight).sum();
    Some(1.0 / (1.0 + (-f64::from(sum) / 100.0).exp()))
}

/// Tells each clue of a sentence, some more than once; None of what is not said, or in a language without phrases.
pub fn clues(text: &Text, index: usize, mut tell: impl FnMut(&str)) -> Option<()> {
    let sentence = &text.sentences[index];
    let phrases = sentence.language.phrases()?;
    let Source::Turn(_) = sentence.source else { return None };
    let mut clue = String::new();
    let mut say = |clue: &mut String, words: std::fmt::Arguments<'_>| {
        clue.clear();
        // Writing into a string cannot fail.
        let _ = clue.write_fmt(words);
        tell(clue);
    };
    let say = &mut say;
    say(&mut clue, format_args!("always"));
    if is_question(&sentence.text) {
        say(&mut clue, format_args!("question"));
    }
    let steps = (sentence.tokens.len() / LENGTH_STEP).min(LENGTH_STEPS_MAX);
    say(&mut clue, format_args!("words {steps}"));

    let mut is_time = vec![false; sentence.tokens.len()];
    for time in phrases.calendar.all(&sentence.tokens, None) {
        is_time[time.start..time.end].fill(true);
    }
    let mut before = "^";
    for (token, is_time) in sentence.tokens.iter().zip(is_time) {
        let word = if is_time { "<time>" } else { token.lower.as_str() };
        if is_time && before == word {
            continue;
        }
        say(&mut clue, format_args!("{} {word}", phrases.code));
        say(&mut clue, format_args!("{} {before} {word}", phrases.code));
        before = word;
    }
    say(&mut clue, format_args!("{} {before} $", phrases.code));
    for token in &sentence.tokens {
        for class in Class::ALL.into_iter().filter(|class| token.has(*class)) {
            say(&mut clue, format_args!("class {class:?}"));
        }
    }
    let long = |word: &&str| word.len() >= SHARED_WORD_MIN;
    let words: HashSet<&str> = sentence.tokens.iter().map(|token| token.lower.as_str()).filter(long).collect();
    let mut shared = 0;
    for earlier in &text.sentences[index.saturating_sub(BEFORE)..index] {
        if is_question(&earlier.text) {
            say(&mut clue, format_args!("before question"));
        }
        let own: HashSet<&str> = earlier.tokens.iter().map(|token| token.lower.as_str()).filter(long).collect();
        shared = shared.max(own.intersection(&words).count());
    }
    say(&mut clue, format_args!("shared {}", shared.min(SHARED_MAX)));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::material::{Chunk, Material};
    use super::*;

    fn likelihoods(lines: &[(&str, &str)]) -> Vec<Option<f64>> {
        let chunk = |(at, (speaker, text)): (i64, &(&str, &str))| Chunk {
            speaker_id: (*speaker).to_owned(),
            speaker_name: (*speaker).to_owned(),
            start_ms: at * 5_000,
            end_ms: at * 5_000 + 4_000,
            text: (*text).to_owned(),
            language: None,
        };
        let chunks = (0..).zip(lines).map(chunk).collect();
        let text = Text::of(&Material { chunks, notes: "We decided to keep it.".to_owned(), ..Material::default() });
        (0..text.sentences.len()).map(|index| likelihood(&text, index)).collect()
    }

    #[test]
    fn every_line_of_the_weights_is_one() {
        let lines = include_str!("decisions.tsv").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(WEIGHTS.len(), lines.count());
        assert!(WEIGHTS.contains_key("always"));
    }

    #[test]
    fn a_decision_is_likelier_than_talk_and_notes_have_no_likelihood() {
        let told = likelihoods(&[
            ("ada", "Do we keep the old logo or not?"),
            ("bob", "The old one is better."),
            ("ada", "Okay, then we keep the old logo, that's decided."),
            ("bob", "My train was late again this morning."),
        ]);
        let [question, opinion, decision, talk, notes] = told[..] else { panic!("{told:?}") };
        for other in [question, opinion, talk] {
            assert!(decision > other && other.is_some(), "{told:?}");
        }
        assert_eq!(notes, None);
    }
}
