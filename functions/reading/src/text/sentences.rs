//! The words of a meeting, divided into sentences and words.
//!
//! Sentences and words follow UAX #29, in turns and in lines of the notes; ICU's dictionaries divide Chinese and
//! Japanese, which have no spaces. Words with one stem share a term, a number by which all later steps compare them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use unicode_segmentation::UnicodeSegmentation as _;

use super::addresses;
use super::language::{Language, Languages};
use super::tokens::tokens;
use super::turns::{Turn, turns};
use crate::languages::classes::Class;
use crate::languages::phrases::Phrases;
use crate::languages::token::{Break, Token, lowered};
use crate::material::Material;

/// The words of a meeting.
#[derive(Debug)]
pub struct Text {
    /// Sentences of the transcript in order of time, then those of the notes.
    pub sentences: Vec<Sentence>,
    /// Turns in order of time.
    pub turns: Vec<Turn>,
    /// Number of terms.
    pub terms: u32,
    /// Terms of the names of participants and of mentioned people.
    pub names: HashSet<u32>,
    vocabulary: Vocabulary,
    languages: Languages,
}

/// A sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// Text as said or written, with single spaces, without list markers.
    pub text: String,
    pub source: Source,
    /// Start and end of the chunk in which it ends, ms; zero in the notes.
    pub times: (i64, i64),
    pub words: Vec<Word>,
    /// The same words as tokens for phrases; empty if the language has no phrases.
    pub tokens: Vec<Token>,
    pub language: Spoken,
}

/// The language of a sentence.
#[derive(Debug, Clone, Copy)]
pub enum Spoken {
    /// A language with known phrases.
    Known(&'static Phrases),
    Other,
}

impl PartialEq for Spoken {
    fn eq(&self, other: &Spoken) -> bool {
        self.phrases().map(|one| one.code) == other.phrases().map(|one| one.code)
    }
}

impl Spoken {
    /// Returns its phrases, if they are known.
    #[must_use]
    pub fn phrases(self) -> Option<&'static Phrases> {
        match self {
            Spoken::Known(phrases) => Some(phrases),
            Spoken::Other => None,
        }
    }
}

/// The source of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The turn with this index.
    Turn(usize),
    /// A line of the notes.
    Notes,
    /// An open task of the notes (`- [ ] …`), complete.
    OpenTask,
    /// A done task of the notes (`- [x] …`), complete.
    DoneTask,
}

/// A word of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    pub surface: String,
    /// Position in the sentence, in bytes.
    pub place: Range<usize>,
    pub term: u32,
    pub class: WordClass,
    /// True if punctuation or a URL precedes it, so that no phrase includes both.
    pub after_break: bool,
}

/// The content of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordClass {
    Content,
    Stop,
    /// Digits, alone or with letters.
    Number,
}

impl Text {
    /// Divides a meeting's material.
    #[must_use]
    pub fn of(material: &Material) -> Text {
        let mut languages = Languages::of(material);
        let turns = turns(&material.chunks, |chunk| languages.phrases_of(chunk.language.as_deref()));
        let mut vocabulary = Vocabulary::default();
        let mut sentences = Vec::new();
        for (index, turn) in turns.iter().enumerate() {
            let language = languages.of_chunk(turn.language.as_deref());
            for place in split_turn(turn, language) {
                let times = turn.times_at(place.end.saturating_sub(1));
                let found = vocabulary.sentence(&turn.text[place.clone()], Source::Turn(index), times, language);
                let Some(mut sentence) = found else { continue };
                for pause in turn.pauses.iter().filter(|pause| place.contains(pause)) {
                    let at = sentence.tokens.partition_point(|token| place.start + token.place.start < *pause);
                    if let Some(token) =
                        sentence.tokens.get_mut(at).filter(|token| token.before == Break::None && at > 0)
                    {
                        token.before = Break::Pause;
                    }
                }
                sentences.push(sentence);
            }
        }
        let language = languages.of_notes(&material.notes);
        for line in material.notes.lines() {
            let (line, source) = unmarked(line);
            let pieces =
                if source == Source::Notes { split(line, language) } else { std::iter::once(0..line.len()).collect() };
            for place in pieces {
                sentences.extend(vocabulary.sentence(&line[place], source, (0, 0), language));
            }
        }
        let main = languages.main();
        let mut names = HashSet::new();
        for person in &material.people {
            let words = word_indices(&person.name).into_iter().map(|(_, word)| lowered(word));
            names.extend(words.filter_map(|word| vocabulary.terms.get(main.stem(&word).as_ref()).copied()));
        }
        Text { sentences, turns, terms: vocabulary.len(), names, vocabulary, languages }
    }

    /// Returns the code of the language with the most text (ISO 639-1).
    #[must_use]
    pub fn language(&self) -> &str {
        self.languages.main_code()
    }

    /// Returns the phrases of the language with the most text; English ones if it has none.
    #[must_use]
    pub fn phrases(&self) -> &'static Phrases {
        Phrases::of(self.languages.main_code()).unwrap_or_else(Phrases::english)
    }

    /// Returns the terms of a name as it was said; empty for a role ("the plumber").
    #[must_use]
    pub fn terms_of_name(&self, name: &str) -> Vec<u32> {
        let is_role = |word: &str| self.phrases().classes(&lowered(word)).has(Class::Role);
        if word_indices(name).iter().any(|(_, word)| is_role(word)) { Vec::new() } else { self.terms_of(name) }
    }

    /// Returns the terms of other words, as far as they occur in this text.
    #[must_use]
    pub fn terms_of(&self, words: &str) -> Vec<u32> {
        let language = self.languages.main();
        word_indices(words)
            .into_iter()
            .map(|(_, word)| lowered(word))
            .filter(|lower| !language.is_stop_word(lower))
            .filter_map(|lower| self.vocabulary.terms.get(language.stem(&lower).as_ref()).copied())
            .collect()
    }
}

/// Returns a text for the comparison of repetitions: its words in lower case, with single spaces.
#[must_use]
pub fn normalized(text: &str) -> String {
    text.unicode_words().map(lowered).collect::<Vec<_>>().join(" ")
}

#[derive(Debug, Default)]
struct Vocabulary {
    /// Terms by stem.
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

    fn sentence(&mut self, piece: &str, source: Source, times: (i64, i64), language: &Language) -> Option<Sentence> {
        let text = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = self.words(&text, language);
        let spoken = language.phrases().map_or(Spoken::Other, Spoken::Known);
        let tokens = spoken.phrases().map_or_else(Vec::new, |phrases| tokens(&text, phrases));
        (!text.is_empty()).then_some(Sentence { text, source, times, words, tokens, language: spoken })
    }

    fn words(&mut self, text: &str, language: &Language) -> Vec<Word> {
        let addresses = addresses::spans(text);
        let mut words = Vec::new();
        let mut end = 0;
        for (at, written) in word_indices(text) {
            if around(&addresses, at).is_some() {
                continue;
            }
            let after_break = text[end..at].chars().any(|c| !c.is_whitespace() && c != '-');
            end = at + written.len();
            let surface = language.without_elision(written);
            let lower = lowered(surface);
            let class = class(surface, &lower, language);
            let term = self.term(&language.stem(&lower));
            words.push(Word { surface: surface.to_owned(), place: end - surface.len()..end, term, class, after_break });
        }
        words
    }
}

/// Returns the words of a text by UAX #29, or by ICU's models for scripts without spaces.
#[must_use]
pub fn word_indices(text: &str) -> Vec<(usize, &str)> {
    if !text.chars().any(is_without_spaces) {
        return text.unicode_word_indices().collect();
    }
    let segmenter = WordSegmenter::new_auto(WordBreakInvariantOptions::default());
    let ends: Vec<usize> = segmenter.segment_str(text).collect();
    let pieces = ends.windows(2).map(|place| (place[0], &text[place[0]..place[1]]));
    pieces.filter(|(_, piece)| piece.chars().any(char::is_alphanumeric)).collect()
}

/// Returns true for scripts without spaces between words: Han, Hiragana, Katakana, Thai, Lao, Burmese and Khmer.
#[must_use]
pub fn is_without_spaces(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
        || matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
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

/// One or two letters have no content, except acronyms ("UX") and scripts in which two letters are a word. Japanese
/// words that end in Hiragana have little content: particles, verbs, adjectives.
fn too_short(surface: &str) -> bool {
    let letters = surface.chars().count();
    if surface.chars().any(is_without_spaces) {
        return letters < 2 || surface.chars().next_back().is_some_and(|c| ('\u{3041}'..='\u{309f}').contains(&c));
    }
    letters < 3
        && !surface.chars().any(|c| c >= '\u{2e80}')
        && !(letters == 2 && surface.chars().all(char::is_uppercase))
}

/// Returns the positions of a turn's sentences.
fn split_turn(turn: &Turn, language: &Language) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for end in turn.starts.iter().copied().chain([turn.text.len()]) {
        pieces.extend(
            split(&turn.text[start..end], language).into_iter().map(|piece| piece.start + start..piece.end + start),
        );
        start = end;
    }
    pieces
}

/// Returns the sentences of a text by UAX #29, without splits at the question mark of a URL, the full stop of a title,
/// and the full stop of a day.
fn split(text: &str, language: &Language) -> Vec<Range<usize>> {
    let addresses = addresses::spans(text);
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, piece) in text.split_sentence_bound_indices() {
        let end = at + piece.len();
        if around(&addresses, end).is_some_and(|span| span.start < end) || goes_on(piece, &text[end..], language) {
            continue;
        }
        pieces.push(start..end);
        start = end;
    }
    pieces.push(start..text.len());
    pieces.retain(|piece| !text[piece.clone()].trim().is_empty());
    pieces
}

/// Returns true if a full stop does not end a sentence: that of a title, of a single letter, or of a day before its
/// month.
fn goes_on(piece: &str, rest: &str, language: &Language) -> bool {
    let Some(head) = piece.trim_end().strip_suffix('.') else { return false };
    let last = head.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let Some(phrases) = language.phrases() else { return false };
    let is_day = (1..=2).contains(&last.len()) && last.bytes().all(|byte| byte.is_ascii_digit());
    let next = rest.unicode_words().next().map(lowered).unwrap_or_default();
    let is_title = phrases.classes(&lowered(last)).has(Class::Title);
    let is_letter = last.chars().count() == 1 && last.chars().all(char::is_alphabetic) && !rest.is_empty();
    is_title || is_letter || (is_day && !rest.is_empty() && (phrases.dotted_days || phrases.calendar.is_word(&next)))
}

/// Returns the ascending span that contains a position.
fn around(spans: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    spans.get(spans.partition_point(|span| span.end <= at)).filter(|span| span.contains(&at))
}

/// Returns a line of the notes without its list marker, heading marker or check box.
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

    use super::*;
    use crate::material::Chunk;

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
    fn thai_words_are_found_without_spaces() {
        let words = |text| -> Vec<&str> { word_indices(text).into_iter().map(|(_, word)| word).collect() };
        assert_eq!(words("เราต้องส่งงบประมาณวันศุกร์"), ["เรา", "ต้อง", "ส่ง", "งบ", "ประมาณ", "วัน", "ศุกร์"]);
        assert_eq!(words("我们讨论了预算"), ["我们", "讨论", "了", "预算"]);
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
        let text = said("UX x 読書", "en");
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
