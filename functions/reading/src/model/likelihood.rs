//! The likelihood of each dialogue act of a sentence, from its `features` and their `weights` in `acts.tsv`.

use super::acts::{Act, RuleMatches};
use super::features::Features;
use super::weights::Weights;
use crate::material::Material;
use crate::people::Names;
use crate::text::sentences::Text;

/// The likelihood of each of [`Act::ALL`], 0 … 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likelihood([f64; Act::ALL.len()]);

impl Likelihood {
    #[must_use]
    pub fn of(&self, act: Act) -> f64 {
        self.0[act as usize]
    }
}

/// The likelihoods of each sentence of a meeting; None for notes and languages without phrases.
#[must_use]
pub fn likelihoods(
    text: &Text,
    material: &Material,
    names: &Names,
    matches: &[RuleMatches],
    weights: &Weights<{ Act::ALL.len() }>,
) -> Vec<Option<Likelihood>> {
    let features = Features::of(text, material, names, matches);
    let likelihood = |index: usize| {
        let mut is_said = false;
        let likelihood = weights.likelihood(|emit| is_said = features.write(index, emit).is_some());
        is_said.then_some(Likelihood(likelihood))
    };
    (0..text.sentences.len()).map(likelihood).collect()
}

#[cfg(test)]
mod tests {
    use super::super::weights::Learned;
    use super::*;
    use crate::action_items::tracking::Tracked;
    use crate::decisions::by_rules;
    use crate::material::Chunk;

    fn read(lines: &[(&str, &str)]) -> Vec<Option<Likelihood>> {
        let chunks = Chunk::of_talk(lines, None);
        let material = Material { chunks, notes: "We decided to keep it.".to_owned(), ..Material::default() };
        let text = Text::of(&material);
        let names = Names::of(&material.people);
        let tracked = Tracked::of(&text, &material, &names, &by_rules(&text).sentences);
        likelihoods(&text, &material, &names, tracked.matches(), &Learned::known().acts)
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
            assert!(decision.of(Act::Decision) > other.of(Act::Decision), "{told:?}");
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
            assert!(promise.of(Act::Own) > other.of(Act::Own), "{told:?}");
        }
    }
}
