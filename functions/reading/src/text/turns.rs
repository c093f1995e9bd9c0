//! A transcript as turns: what one person said until somebody else spoke.
//!
//! Recognizers end a chunk anywhere, often in the middle of a sentence, and chunks arrive in any order. Turns are by start
//! time; whether a sentence goes on across the border of two chunks is told by the words on both sides.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::languages::classes::Class;
use crate::languages::phrases::Phrases;
use crate::languages::token::lowered;
use crate::material::Chunk;

/// A silence after which even an unfinished sentence is over, ms.
const SILENCE_MS: i64 = 10_000;
/// The most words of a turn that only says that somebody listens.
const LISTENING_WORDS_MAX: usize = 2;

/// What one person said until somebody else spoke.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub speaker_id: String,
    pub speaker_name: String,
    /// The chunks' texts, one after the other.
    pub text: String,
    /// Where a chunk begins that is a sentence of its own, whatever stands before it; in bytes.
    pub starts: Vec<usize>,
    /// Where a chunk begins that may be a sentence of its own.
    pub pauses: Vec<usize>,
    /// What its first chunk says of its language, BCP 47.
    pub language: Option<String>,
    /// Where each chunk's text stands, with its times.
    chunks: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
struct Part {
    place: Range<usize>,
    start_ms: i64,
    end_ms: i64,
}

impl Turn {
    /// When the chunk was said, from and to, in which a place of the text lies.
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
            // A full stop that the recognizer set because its chunk was over.
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

/// The turns of a transcript in order of time.
#[must_use]
pub fn turns(chunks: &[Chunk], language: impl Fn(&Chunk) -> &'static Phrases) -> Vec<Turn> {
    let mut ordered: Vec<&Chunk> = chunks.iter().filter(|chunk| !chunk.text.trim().is_empty()).collect();
    // A stable order: of equals the one that arrived first.
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

/// A text with white space made single.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a chunk begins with the capital of a sentence: that of a word which has none otherwise.
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

/// Whether a text ends with a word that something must follow ("their", "and", "to").
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
