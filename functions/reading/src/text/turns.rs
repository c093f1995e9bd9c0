//! A transcript as turns: the speech of one person until another person speaks.
//!
//! Recognizers end a chunk anywhere, often in the middle of a sentence, and chunks arrive in any order. Turns are
//! ordered by start time; the words on both sides of a chunk border show if the sentence continues.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::languages::classes::Class;
use crate::languages::phrases::Phrases;
use crate::languages::token::lowered;
use crate::material::Chunk;

/// Silence after which an unfinished sentence ends, ms.
const SILENCE_MS: i64 = 10_000;
/// Most words of a turn that only shows that a person listens.
const LISTENING_WORDS_MAX: usize = 2;

/// The speech of one person until another person speaks.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub speaker_id: String,
    pub speaker_name: String,
    /// The texts of the chunks, joined.
    pub text: String,
    /// Positions of chunks that begin a sentence in any case, in bytes.
    pub starts: Vec<usize>,
    /// Positions of chunks that may begin a sentence.
    pub pauses: Vec<usize>,
    /// Language of its first chunk, BCP 47.
    pub language: Option<String>,
    /// Position of each chunk's text, with its times.
    chunks: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
struct Part {
    place: Range<usize>,
    start_ms: i64,
    end_ms: i64,
}

impl Turn {
    /// Returns start and end of the chunk that contains a position of the text.
    #[must_use]
    pub fn times_at(&self, place: usize) -> (i64, i64) {
        let part = self.chunks.iter().find(|part| place < part.place.end).or(self.chunks.last());
        part.map_or((0, 0), |part| (part.start_ms, part.end_ms))
    }

    fn of(chunk: &Chunk) -> Turn {
        let text = spaced(&chunk.text);
        Turn {
            speaker_id: chunk.speaker_id.clone(),
            speaker_name: chunk.speaker_name.clone(),
            chunks: vec![Part { place: 0..text.len(), start_ms: chunk.start_ms, end_ms: chunk.end_ms }],
            text,
            starts: Vec::new(),
            pauses: Vec::new(),
            language: chunk.language.clone(),
        }
    }

    fn add(&mut self, chunk: &Chunk, phrases: &Phrases) {
        let next = spaced(&chunk.text);
        let silence = chunk.start_ms.saturating_sub(self.chunks.last().map_or(chunk.start_ms, |part| part.end_ms));
        let is_open = dangles(&self.text, phrases);
        if is_open {
            // A full stop of the recognizer at the end of a chunk.
            let kept = self.text.trim_end_matches(['.', '…', ' ']).len();
            self.text.truncate(kept);
        }
        let goes_on = is_open || (!ends_sentence(&self.text) && silence <= SILENCE_MS && !starts_anew(&next, phrases));
        self.text.push(' ');
        let start = self.text.len();
        if !goes_on {
            self.starts.push(start);
        } else if !is_open {
            self.pauses.push(start);
        }
        self.text.push_str(&next);
        self.chunks.push(Part { place: start..self.text.len(), start_ms: chunk.start_ms, end_ms: chunk.end_ms });
    }
}

/// Returns the turns of a transcript in order of time.
#[must_use]
pub fn turns(chunks: &[Chunk], language: impl Fn(&Chunk) -> &'static Phrases) -> Vec<Turn> {
    let mut ordered: Vec<&Chunk> = chunks.iter().filter(|chunk| !chunk.text.trim().is_empty()).collect();
    // The sort is stable: of equals, the one that arrived first.
    ordered.sort_by_key(|chunk| chunk.start_ms);
    let mut turns: Vec<Turn> = Vec::new();
    for chunk in ordered {
        let phrases = language(chunk);
        let last = turns.len().checked_sub(1);
        if let Some(last) = last.filter(|last| turns[*last].speaker_id == chunk.speaker_id) {
            turns[last].add(chunk, phrases);
            continue;
        }
        // "I'll call their" – "mhm" – "regional director".
        let before = turns.len().checked_sub(2).filter(|before| {
            turns[*before].speaker_id == chunk.speaker_id
                && dangles(&turns[*before].text, phrases)
                && is_listening(&turns[turns.len() - 1].text, phrases)
        });
        match before {
            Some(before) => turns[before].add(chunk, phrases),
            None => turns.push(Turn::of(chunk)),
        }
    }
    turns
}

/// Returns a text with single spaces.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if a chunk begins with the capital of a sentence: a word that otherwise has none.
fn starts_anew(text: &str, phrases: &Phrases) -> bool {
    let Some(first) = text.unicode_words().next() else { return false };
    let lower = lowered(first);
    let is_capital = first.chars().next().is_some_and(char::is_uppercase);
    let classes = phrases.classes(lower.split('\'').next().unwrap_or(&lower));
    let is_name = lower == "i" || lower.starts_with("i'") || classes.has(Class::Title);
    is_capital && !is_name && classes != crate::languages::classes::Classes::default()
}

fn ends_sentence(text: &str) -> bool {
    text.trim_end_matches(['"', '\'', '”', '’', '»', ')', ' '])
        .ends_with(['.', '!', '?', '…', '。', '！', '？', '؟', '।', ':'])
}

/// Returns true if a text ends with a word that needs a continuation ("their", "and", "to").
fn dangles(text: &str, phrases: &Phrases) -> bool {
    if text.ends_with(['!', '?']) {
        return false;
    }
    if text.trim_end().ends_with(',') {
        return true;
    }
    let tail = text.char_indices().rev().nth(40).map_or(text, |(at, _)| &text[at..]);
    tail.unicode_words().next_back().is_some_and(|word| {
        let lower = lowered(word);
        let last = lower.rsplit('\'').next().unwrap_or(&lower).to_owned();
        phrases.classes(&lower).has(Class::Dangling)
            || (lower.contains('\'') && phrases.classes(&format!("'{last}")).has(Class::Dangling))
    })
}

fn is_listening(text: &str, phrases: &Phrases) -> bool {
    let mut words = text.unicode_words().map(lowered);
    let said: Vec<String> = words.by_ref().take(LISTENING_WORDS_MAX + 1).collect();
    said.len() <= LISTENING_WORDS_MAX
        && said
            .iter()
            .all(|word| phrases.classes(word).has(Class::Interjection) || phrases.classes(word).has(Class::Between))
}
