//! Unanswered questions.

use std::collections::HashSet;

use crate::commitments::clauses::is_question;
use crate::languages::meanings::Meaning;
use crate::material::{Chunk, Material};
use crate::text::lines::{LINE_CHARS_MAX, clipped};
use crate::text::sentences::{Sentence, Source, Text, normalized};

/// Time without another speaker after which a question is open, ms.
const ANSWER_MS: i64 = 30_000;

/// Smallest number of words of a question: "Right?" needs no answer.
const WORDS_MIN: usize = 3;

/// Returns the open questions of a meeting in order, without duplicates: those without another speaker within 30 s, and
/// lines of the notes that are marked as questions.
#[must_use]
pub fn open_questions(text: &Text, material: &Material) -> Vec<String> {
    let voices = Voices::of(&material.chunks);
    let mut seen = HashSet::new();
    text.sentences
        .iter()
        .filter_map(|sentence| open(sentence, text, &voices))
        .filter(|question| seen.insert(normalized(question)))
        .map(|question| clipped(question, LINE_CHARS_MAX))
        .collect()
}

fn open<'t>(sentence: &'t Sentence, text: &Text, voices: &Voices<'_>) -> Option<&'t str> {
    match sentence.source {
        Source::Turn(index) => {
            let asked = is_question(&sentence.text) && sentence.words.len() >= WORDS_MIN;
            (asked && !voices.answered(&text.turns[index].speaker_id, sentence.times)).then_some(sentence.text.as_str())
        }
        Source::Notes => marked(sentence),
        Source::OpenTask | Source::DoneTask => None,
    }
}

/// Returns the question of a marked line ("Open question: …").
fn marked(sentence: &Sentence) -> Option<&str> {
    let phrases = sentence.language.phrases()?;
    let label = phrases.at(&sentence.tokens, 0, |meaning| meaning == Meaning::QuestionLabel)?;
    let first = sentence.tokens.get(label.end).filter(|token| token.is_after_stop())?;
    Some(sentence.text[first.place.start..].trim())
}

/// Speakers with the start of their speech, in order of time: a transcript is in the order of receipt.
struct Voices<'m> {
    begun: Vec<(i64, &'m str)>,
}

impl<'m> Voices<'m> {
    fn of(chunks: &'m [Chunk]) -> Voices<'m> {
        let mut begun: Vec<_> = chunks.iter().map(|chunk| (chunk.start_ms, chunk.speaker_id.as_str())).collect();
        begun.sort_unstable();
        Voices { begun }
    }

    fn answered(&self, asker_id: &str, (start_ms, end_ms): (i64, i64)) -> bool {
        let from = self.begun.partition_point(|voice| voice.0 < start_ms);
        let until = end_ms.saturating_add(ANSWER_MS);
        self.begun[from..].iter().take_while(|voice| voice.0 <= until).any(|voice| voice.1 != asker_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[(&str, i64, i64, &str)]) -> Material {
        let chunk = |(speaker, start_ms, end_ms, text): &(&str, i64, i64, &str)| Chunk {
            speaker_id: (*speaker).to_owned(),
            start_ms: *start_ms,
            end_ms: *end_ms,
            text: (*text).to_owned(),
            ..Chunk::default()
        };
        Material { chunks: lines.iter().map(chunk).collect(), ..Material::default() }
    }

    fn open_in(material: &Material) -> Vec<String> {
        open_questions(&Text::of(material), material)
    }

    #[test]
    fn a_question_is_open_unless_another_voice_follows_within_half_a_minute() {
        let asked = ("ada", 0, 2_000, "Who pays for it?");
        assert_eq!(open_in(&said(&[asked, ("bob", 32_000, 33_000, "I do.")])), [] as [&str; 0]);
        assert_eq!(open_in(&said(&[asked, ("bob", 32_001, 33_000, "I do.")])), ["Who pays for it?"]);
        assert_eq!(open_in(&said(&[asked, ("ada", 3_000, 4_000, "Hm.")])), ["Who pays for it?"]);
        // The answer may begin before the end of the question.
        assert_eq!(open_in(&said(&[asked, ("bob", 1_000, 4_000, "I do.")])), [] as [&str; 0]);
    }

    #[test]
    fn the_order_of_time_counts_and_not_that_of_arrival() {
        let material = said(&[("bob", 5_000, 6_000, "I do."), ("ada", 0, 2_000, "Who pays for it?")]);
        assert_eq!(open_in(&material), [] as [&str; 0]);
    }

    #[test]
    fn short_and_repeated_questions_are_left_out() {
        let material =
            said(&[("ada", 0, 1, "Right?"), ("ada", 2, 3, "Who pays for it?"), ("ada", 4, 5, "Who pays for it?")]);
        assert_eq!(open_in(&material), ["Who pays for it?"]);
    }

    #[test]
    fn notes_mark_their_questions() {
        let material = Material { notes: "- Open question: who pays\n- Who else?".to_owned(), ..Material::default() };
        assert_eq!(open_in(&material), ["who pays"]);
    }
}
