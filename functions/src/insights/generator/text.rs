//! A meeting's words, cut into sentences and words.
//!
//! Sentences and words are those of UAX #29. A chunk is one utterance and a line of the notes one paragraph: no
//! sentence goes across. Words of one stem share a term, a number by which all later steps compare them.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::language::{Language, Languages};
use super::links;
use super::material::Material;

/// A meeting's words.
#[derive(Debug)]
pub struct Text {
    /// Those of the transcript in its order, then those of the notes.
    pub sentences: Vec<Sentence>,
    /// Every term below this number is one that occurs.
    pub terms: u32,
    vocabulary: Vocabulary,
    languages: Languages,
}

/// One sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// As it was said or written, white space made single, without list markers.
    pub text: String,
    pub source: Source,
    pub words: Vec<Word>,
}

/// Where a sentence comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The index of its chunk.
    Chunk(usize),
    /// A line of the notes.
    Notes,
    /// A task of the notes that is still open (`- [ ] …`), whole.
    OpenTask,
    /// A task of the notes that is done (`- [x] …`), whole.
    DoneTask,
}

/// One word of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    pub surface: String,
    pub term: u32,
    pub class: WordClass,
    /// Whether punctuation or an address stands before it: no phrase goes across.
    pub after_break: bool,
}

/// How much a word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordClass {
    Content,
    Stop,
    /// Digits, alone or with letters.
    Number,
}

impl Text {
    /// Cuts a meeting's material.
    #[must_use]
    pub fn of(material: &Material) -> Text {
        let mut languages = Languages::of(material);
        let mut vocabulary = Vocabulary::default();
        let mut sentences = Vec::new();
        for (index, chunk) in material.chunks.iter().enumerate() {
            let language = languages.of_chunk(chunk.language.as_deref());
            for piece in split(&chunk.text) {
                sentences.extend(vocabulary.sentence(piece, Source::Chunk(index), language));
            }
        }
        let language = languages.of_notes(&material.notes);
        for line in material.notes.lines() {
            let (line, source) = unmarked(line);
            let pieces = if source == Source::Notes { split(line) } else { vec![line] };
            for piece in pieces {
                sentences.extend(vocabulary.sentence(piece, source, language));
            }
        }
        Text { sentences, terms: vocabulary.len(), vocabulary, languages }
    }

    /// The terms of some words that come from elsewhere, as far as they occur in this text.
    #[must_use]
    pub fn terms_of(&self, words: &str) -> Vec<u32> {
        let language = self.languages.main();
        words
            .unicode_words()
            .map(lowered)
            .filter(|lower| !language.is_stop_word(lower))
            .filter_map(|lower| self.vocabulary.terms.get(language.stem(&lower).as_ref()).copied())
            .collect()
    }
}

/// Letters in which two words are compared: lower case, one kind of apostrophe.
#[must_use]
pub fn lowered(word: &str) -> String {
    word.to_lowercase().replace('’', "'")
}

/// A text by which repetitions are known: its words in lower case, nothing between them but one space.
#[must_use]
pub fn normalized(text: &str) -> String {
    text.unicode_words().map(lowered).collect::<Vec<_>>().join(" ")
}

#[derive(Debug, Default)]
struct Vocabulary {
    /// By stem.
    terms: HashMap<String, u32>,
}

impl Vocabulary {
    fn len(&self) -> u32 {
        u32::try_from(self.terms.len()).unwrap_or(u32::MAX)
    }

    fn term(&mut self, stem: &str) -> u32 {
        if let Some(term) = self.terms.get(stem) {
            return *term;
        }
        let term = self.len();
        self.terms.insert(stem.to_owned(), term);
        term
    }

    fn sentence(&mut self, piece: &str, source: Source, language: &Language) -> Option<Sentence> {
        let text = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = self.words(&text, language);
        (!text.is_empty()).then_some(Sentence { text, source, words })
    }

    fn words(&mut self, text: &str, language: &Language) -> Vec<Word> {
        let addresses = links::spans(text);
        let mut words = Vec::new();
        let mut end = 0;
        for (at, written) in text.unicode_word_indices() {
            if around(&addresses, at).is_some() {
                continue;
            }
            let after_break = text[end..at].chars().any(|c| !c.is_whitespace() && c != '-');
            end = at + written.len();
            let surface = language.without_elision(written);
            let lower = lowered(surface);
            let class = class(surface, &lower, language);
            let term = self.term(&language.stem(&lower));
            words.push(Word { surface: surface.to_owned(), term, class, after_break });
        }
        words
    }
}

fn class(surface: &str, lower: &str, language: &Language) -> WordClass {
    if surface.chars().any(char::is_numeric) {
        WordClass::Number
    } else if language.is_stop_word(lower) || too_short(surface) {
        WordClass::Stop
    } else {
        WordClass::Content
    }
}

/// One or two letters say nothing, unless they are an acronym ("UX") or a script in which they are a word.
fn too_short(surface: &str) -> bool {
    let letters = surface.chars().count();
    letters < 3
        && !surface.chars().any(|c| c >= '\u{2e80}')
        && !(letters == 2 && surface.chars().all(char::is_uppercase))
}

/// The sentences of a text by UAX #29, except that no address is cut at its question mark.
fn split(text: &str) -> Vec<&str> {
    let addresses = links::spans(text);
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, piece) in text.split_sentence_bound_indices() {
        let end = at + piece.len();
        if around(&addresses, end).is_some_and(|span| span.start < end) {
            continue;
        }
        pieces.push(&text[start..end]);
        start = end;
    }
    pieces.push(&text[start..]);
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

/// The one of the ascending spans in which a place lies.
fn around(spans: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    spans.get(spans.partition_point(|span| span.end <= at)).filter(|span| span.contains(&at))
}

/// A line of the notes without its list marker, heading marker or check box.
fn unmarked(line: &str) -> (&str, Source) {
    let line = line.trim();
    let text = line
        .strip_prefix(['-', '*', '+', '•'])
        .filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        .unwrap_or_else(|| line.trim_start_matches(['#', '>']))
        .trim_start();
    if let Some(task) = text.strip_prefix("[ ]").or_else(|| text.strip_prefix("[]")) {
        (task.trim(), Source::OpenTask)
    } else if let Some(task) = text.strip_prefix("[x]").or_else(|| text.strip_prefix("[X]")) {
        (task.trim(), Source::DoneTask)
    } else {
        (text, Source::Notes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::material::Chunk;
    use super::*;

    fn said(text: &str, language: &str) -> Text {
        let chunk = Chunk { text: text.to_owned(), language: Some(language.to_owned()), ..Chunk::default() };
        Text::of(&Material { chunks: vec![chunk], ..Material::default() })
    }

    fn noted(notes: &str) -> Text {
        Text::of(&Material { notes: notes.to_owned(), ..Material::default() })
    }

    fn sentences(text: &Text) -> Vec<&str> {
        text.sentences.iter().map(|sentence| sentence.text.as_str()).collect()
    }

    #[test]
    fn sentences_end_where_the_standard_says() {
        let text = said("Version 1.2 is out.  It works!\nDoes it? Yes 🎉", "en");
        assert_eq!(sentences(&text), ["Version 1.2 is out.", "It works!", "Does it?", "Yes 🎉"]);
    }

    #[test]
    fn an_address_is_neither_cut_nor_made_of_words() {
        let text = said("Open https://example.org/a?b=c&d=Secret. Then read on.", "en");
        assert_eq!(sentences(&text), ["Open https://example.org/a?b=c&d=Secret.", "Then read on."]);
        let before = said("Is that it? https://example.org/a is the place.", "en");
        assert_eq!(sentences(&before), ["Is that it?", "https://example.org/a is the place."]);
        let words: Vec<&str> = text.sentences[0].words.iter().map(|word| word.surface.as_str()).collect();
        assert_eq!(words, ["Open"]);
    }

    #[test]
    fn notes_lose_their_markers_and_tasks_stay_whole() {
        let text = noted("# Plan\n- First. Second.\n- [ ] Call Bob. Today!\n* [x] Done\n\n3.5 is fine\n-5 degrees");
        let expected = [
            ("Plan", Source::Notes),
            ("First.", Source::Notes),
            ("Second.", Source::Notes),
            ("Call Bob. Today!", Source::OpenTask),
            ("Done", Source::DoneTask),
            ("3.5 is fine", Source::Notes),
            ("-5 degrees", Source::Notes),
        ];
        let cut: Vec<_> = text.sentences.iter().map(|s| (s.text.as_str(), s.source)).collect();
        assert_eq!(cut, expected);
    }

    #[test]
    fn forms_of_one_word_share_a_term() {
        let text = said("The database grows. Databases, DATABASE 7!", "en");
        let term = |sentence: usize, word: usize| text.sentences[sentence].words[word].term;
        assert_eq!(term(0, 1), term(1, 0));
        assert_eq!(term(1, 0), term(1, 1));
        let words = &text.sentences[1].words;
        assert!(words[1].after_break && !words[2].after_break);
        assert_eq!(words[2].class, WordClass::Number);
        assert_eq!(text.sentences[0].words[0].class, WordClass::Stop);
    }

    #[test]
    fn words_from_elsewhere_find_their_terms() {
        let text = said("We talked about machine learning and databases.", "en");
        assert_eq!(text.terms_of("Machine Learning").len(), 2);
        assert_eq!(text.terms_of("the Database"), [text.sentences[0].words[6].term]);
        assert!(text.terms_of("Hiking").is_empty());
    }

    #[test]
    fn acronyms_and_ideographs_are_words_and_single_letters_are_not() {
        let text = said("UX x 読", "en");
        let classes: Vec<_> = text.sentences[0].words.iter().map(|word| word.class).collect();
        assert_eq!(classes, [WordClass::Content, WordClass::Stop, WordClass::Content]);
    }

    #[test]
    fn right_to_left_text_is_cut_too() {
        let text = said("مرحبا بالجميع. هل نبدأ الاجتماع؟", "ar");
        assert_eq!(text.sentences.len(), 2);
        assert!(text.sentences[1].text.ends_with('؟'));
    }

    #[test]
    fn nothing_has_no_sentences() {
        assert!(said(" \n ", "en").sentences.is_empty());
        assert!(noted("- \n#\n- [ ]\n").sentences.is_empty());
    }

    proptest! {
        #[test]
        fn no_word_is_lost_or_made_up(text in "\\PC{0,200}") {
            let cut = said(&text, "en");
            let kept: String = cut.sentences.iter().flat_map(|s| s.text.chars()).filter(|c| !c.is_whitespace()).collect();
            let given: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            prop_assert_eq!(kept, given);
        }
    }
}
