//! How likely a sentence takes something on, tells a decision, or only sounds like a task, as the labelled meetings have
//! taught it.
//!
//! The `clues` of the sentence and their `weights`, in `tellings.tsv`, tell it.

use super::clues::Clues;
use super::tellings::{Hints, Telling};
use super::weights::Weights;
use crate::material::Material;
use crate::people::Names;
use crate::text::sentences::Text;

/// How likely a sentence tells each of [`Telling::ALL`], 0 … 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likelihood([f64; Telling::ALL.len()]);

impl Likelihood {
    #[must_use]
    pub fn of(&self, telling: Telling) -> f64 {
        self.0[telling as usize]
    }
}

/// How likely each sentence of a meeting tells something; None of what is not said, or in a language without phrases.
#[must_use]
pub fn likelihoods(
    text: &Text,
    material: &Material,
    names: &Names,
    hints: &[Hints],
    weights: &Weights<{ Telling::ALL.len() }>,
) -> Vec<Option<Likelihood>> {
    let clues = Clues::of(text, material, names, hints);
    let likelihood = |index: usize| {
        let mut is_said = false;
        let likelihood = weights.likelihood(|tell| is_said = clues.tell(index, tell).is_some());
        is_said.then_some(Likelihood(likelihood))
    };
    (0..text.sentences.len()).map(likelihood).collect()
}

#[cfg(test)]
mod tests {
    use super::super::weights::Learned;
    use super::*;
    use crate::action_items::hearing::Heard;
    use crate::decisions::told;
    use crate::material::Chunk;

    fn read(lines: &[(&str, &str)]) -> Vec<Option<Likelihood>> {
        let chunk = |(at, (speaker, text)): (i64, &(&str, &str))| Chunk {
            speaker_id: (*speaker).to_owned(),
            speaker_name: (*speaker).to_owned(),
            start_ms: at * 5_000,
            end_ms: at * 5_000 + 4_000,
            text: (*text).to_owned(),
            language: None,
        };
        let chunks = (0..).zip(lines).map(chunk).collect();
        let material = Material { chunks, notes: "We decided to keep it.".to_owned(), ..Material::default() };
        let text = Text::of(&material);
        let names = Names::of(&material.people);
        let heard = Heard::of(&text, &material, &names, &told(&text).sentences);
        likelihoods(&text, &material, &names, heard.hints(), &Learned::known().tellings)
    }

    #[test]
    fn a_decision_is_likelier_than_talk_and_notes_have_no_likelihood() {
        let told = read(&[
            ("ada", "Do we keep the old logo or not?"),
            ("bob", "The old one is better."),
            ("ada", "Okay, then we keep the old logo, that's decided."),
            ("bob", "My train was late again this morning."),
        ]);
        let [Some(question), Some(opinion), Some(decision), Some(talk), None] = told[..] else { panic!("{told:?}") };
        for other in [question, opinion, talk] {
            assert!(decision.of(Telling::Decision) > other.of(Telling::Decision), "{told:?}");
        }
    }

    #[test]
    fn a_promise_is_likelier_than_the_request_before_it() {
        let told = read(&[
            ("ada", "Could you call the printer about the posters?"),
            ("bob", "Sure, I'll do that tomorrow."),
            ("ada", "It rained all weekend."),
        ]);
        let [Some(request), Some(promise), Some(talk), None] = told[..] else { panic!("{told:?}") };
        for other in [request, talk] {
            assert!(promise.of(Telling::Own) > other.of(Telling::Own), "{told:?}");
        }
    }
}
