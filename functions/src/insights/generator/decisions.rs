//! What the meeting decided, in its own sentences.

use std::collections::HashSet;

use super::commitments::is_decision;
use super::insights::{LINE_CHARS_MAX, clipped};
use super::text::{Source, Text, normalized};

/// The sentences that tell a decision, each once, in order.
#[must_use]
pub fn decisions(text: &Text) -> Vec<String> {
    let mut seen = HashSet::new();
    text.sentences
        .iter()
        .filter(|sentence| matches!(sentence.source, Source::Chunk(_) | Source::Notes))
        .filter(|sentence| is_decision(&sentence.text) && seen.insert(normalized(&sentence.text)))
        .map(|sentence| clipped(&sentence.text, LINE_CHARS_MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::material::Material;
    use super::*;

    #[test]
    fn a_decision_is_kept_once_and_in_its_own_words() {
        let notes = "We decided to use Postgres. It is fast.\nWe decided to use Postgres!\n- [ ] we decided to test it";
        let material = Material { notes: notes.to_owned(), ..Material::default() };
        assert_eq!(decisions(&Text::of(&material)), ["We decided to use Postgres."]);
    }
}
