//! Learns from the labelled meetings how likely a sentence tells a decision.
//!
//! A logistic regression with squared weights as its penalty, by rounds over the clues, each of which goes a step that
//! cannot be too long. The same meetings and phrases give the same weights. Held out meetings teach nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use functions::reading::commitments::clauses::is_question;
use functions::reading::decisions::told;
use functions::reading::likelihood::clues;
use functions::reading::text::Text;

use crate::scoring::{Meeting, holds, material};

/// How much a sentence counts against the penalty of the weights.
const TRUST: f64 = 0.3;
/// Sentences that a clue must stand in.
const SENTENCES_MIN: usize = 3;
const ROUNDS: usize = 200;
/// The smallest weight that is kept, hundredths.
const WEIGHT_MIN: f64 = 2.0;

/// The sentences of meetings by their clues, and which of them tell a decision.
#[derive(Default)]
pub(crate) struct Lessons {
    /// By clue the sentences that have it.
    clues: BTreeMap<String, Vec<usize>>,
    tells: Vec<bool>,
}

impl Lessons {
    pub(crate) fn add(&mut self, meeting: &Meeting) {
        let text = Text::of(&material(meeting));
        let labelled = labelled(meeting, &text);
        for index in 0..text.sentences.len() {
            let mut own = BTreeSet::new();
            if clues(&text, index, |clue| own.extend([clue.to_owned()])).is_some() {
                own.into_iter().for_each(|clue| self.clues.entry(clue).or_default().push(self.tells.len()));
                self.tells.push(labelled.contains(&index));
            }
        }
    }

    /// The weights as the lines of their file, by clue.
    pub(crate) fn learned(&self) -> String {
        let clues: Vec<(&String, &Vec<usize>)> =
            self.clues.iter().filter(|(_, sentences)| sentences.len() >= SENTENCES_MIN).collect();
        let mut weights = vec![0.0; clues.len()];
        let mut sums = vec![0.0; self.tells.len()];
        for _ in 0..ROUNDS {
            for (weight, (_, sentences)) in weights.iter_mut().zip(&clues) {
                let miss = |sentence: &usize| {
                    let likelihood = 1.0 / (1.0 + f64::exp(-sums[*sentence]));
                    likelihood - f64::from(u8::from(self.tells[*sentence]))
                };
                let slope = *weight + TRUST * sentences.iter().map(miss).sum::<f64>();
                // The curve is nowhere steeper.
                let step = slope / (1.0 + TRUST * 0.25 * sentences.len() as f64);
                *weight -= step;
                sentences.iter().for_each(|sentence| sums[*sentence] -= step);
            }
        }
        let mut lines =
            "# How much a clue speaks for a decision, in hundredths. Learned; see `likelihood.rs`.\n".to_owned();
        for (weight, (clue, _)) in weights.iter().zip(&clues) {
            let weight = (weight * 100.0).round();
            if weight.abs() >= WEIGHT_MIN {
                writeln!(lines, "{weight}\t{clue}").unwrap();
            }
        }
        lines
    }
}

/// The sentences that hold a label's words: of several one that the rules find, or the last that asks nothing.
fn labelled(meeting: &Meeting, text: &Text) -> BTreeSet<usize> {
    let found = told(text).sentences;
    let sentence = |words: &String| {
        let all = 0..text.sentences.len();
        all.filter(|index| holds(&text.sentences[*index].text, words))
            .max_by_key(|index| (found.contains(index), !is_question(&text.sentences[*index].text), *index))
    };
    meeting.decisions.iter().filter_map(sentence).collect()
}
