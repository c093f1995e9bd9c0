//! The language of a text, its stop words and its stems.
//!
//! The language of a chunk is the one in the transcript, or is detected. Stop words (`stop-words`), stems (Snowball,
//! `rust-stemmers`) and detection (`whatlang`) come from these crates. Unknown languages are processed without grammar.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation as _;
use whatlang::Lang;

use crate::languages::classes::Class;
use crate::languages::phrases::{CODES, Phrases};
use crate::material::Material;

/// Words of the stop word lists that have content in meetings: nouns of English and Portuguese.
pub const MEANINGFUL: &[&str] = &[
    "area",
    "areas",
    "bill",
    "computer",
    "group",
    "groups",
    "home",
    "homepage",
    "index",
    "information",
    "invention",
    "key",
    "keys",
    "member",
    "members",
    "page",
    "pages",
    "research",
    "room",
    "rooms",
    "section",
    "site",
    "system",
    "test",
    "text",
    "value",
    "web",
    "webpage",
    "website",
    "grupo",
    "obra",
    "sistema",
    "viagem",
];

/// Language of a text that is too short to detect.
const DEFAULT: &str = "en";

/// Bytes of a text for detection, more than sufficient.
const SAMPLE_BYTES: usize = 4000;

/// Fewest function words of a language in a text of that language.
const SMALL_WORDS_MIN: usize = 2;

/// Spoken words without content that are missing in lists for written text.
const FILLERS: &[&str] = &[
    "um", "uh", "uhm", "erm", "hmm", "mhm", "yeah", "yep", "yup", "nope", "okay", "ok", "gonna", "wanna", "gotta",
    "kinda", "sorta", "lot", "bit", "stuff", "thing", "things", "guys", "let", "äh", "ähm", "euh", "ben",
];

/// The words of one language.
pub struct Language {
    stop_words: HashSet<&'static str>,
    stemmer: Option<Stemmer>,
    elides: bool,
    phrases: Option<&'static Phrases>,
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Language").field("stop_words", &self.stop_words.len()).finish_non_exhaustive()
    }
}

impl Language {
    /// Returns the language of an ISO 639-1 code.
    #[must_use]
    pub fn of(code: &str) -> Language {
        let listed = stop_words::lookup(code).unwrap_or_default();
        Language {
            stop_words: listed.iter().chain(FILLERS).copied().filter(|word| !MEANINGFUL.contains(word)).collect(),
            stemmer: algorithm(code).map(Stemmer::create),
            elides: matches!(code, "fr" | "it" | "ca"),
            phrases: Phrases::of(code),
        }
    }

    /// Returns its phrases, if they are known.
    #[must_use]
    pub fn phrases(&self) -> Option<&'static Phrases> {
        self.phrases
    }

    /// Returns true if a lower-case word has no content.
    #[must_use]
    pub fn is_stop_word(&self, lower: &str) -> bool {
        if self.stop_words.contains(lower) {
            return true;
        }
        // In "we'll" and "report's", the part before the apostrophe counts.
        lower.split_once('\'').is_some_and(|(head, _)| self.stop_words.contains(head))
    }

    /// Returns the stem of a lower-case word.
    #[must_use]
    pub fn stem<'a>(&self, lower: &'a str) -> Cow<'a, str> {
        match &self.stemmer {
            Some(stemmer) => stemmer.stem(lower),
            None => Cow::Borrowed(lower),
        }
    }

    /// Returns the word without an attached article or pronoun ("l'équipe" → "équipe").
    #[must_use]
    pub fn without_elision<'a>(&self, word: &'a str) -> &'a str {
        match word.split_once(['\'', '’']) {
            Some((head, tail)) if self.elides && !tail.is_empty() && elided(head) => tail,
            _ => word,
        }
    }
}

fn elided(head: &str) -> bool {
    head.chars().count() <= 2
        || matches!(head.to_lowercase().as_str(), "jusqu" | "lorsqu" | "puisqu" | "dell" | "nell" | "all")
}

/// The languages of one meeting, each loaded once.
#[derive(Debug)]
pub struct Languages {
    main: String,
    loaded: BTreeMap<String, Language>,
}

impl Languages {
    /// Returns the languages of a meeting; the main one has the most text.
    #[must_use]
    pub fn of(material: &Material) -> Languages {
        let mut amount: BTreeMap<String, usize> = BTreeMap::new();
        for chunk in &material.chunks {
            if let Some(code) = chunk.language.as_deref().and_then(primary) {
                *amount.entry(code).or_default() += chunk.text.len();
            }
        }
        let told: Vec<String> = amount.keys().cloned().collect();
        // Chunks without a language have one common language: people in one meeting understand each other.
        let untold = |chunk: &&crate::material::Chunk| chunk.language.as_deref().and_then(primary).is_none();
        let spoken: Vec<&str> = material.chunks.iter().filter(untold).map(|chunk| chunk.text.as_str()).collect();
        let notes = if amount.is_empty() { material.notes.as_str() } else { "" };
        if let Some(code) = detected(spoken.iter().copied().chain([notes])) {
            *amount.entry(code.to_owned()).or_default() +=
                spoken.iter().map(|text| text.len()).sum::<usize>() + notes.len();
        }
        // Of equals, the first code, so that the same meeting always has the same main language.
        let most =
            amount.iter().max_by_key(|(code, bytes)| (**bytes, std::cmp::Reverse(*code))).map(|(code, _)| code.clone());
        let main = most.unwrap_or_else(|| DEFAULT.to_owned());
        let mut languages = Languages { main, loaded: BTreeMap::new() };
        for code in told.into_iter().chain([languages.main.clone()]) {
            languages.load(&code);
        }
        languages
    }

    /// Returns the language with the most text.
    #[must_use]
    pub fn main(&self) -> &Language {
        &self.loaded[&self.main]
    }

    /// Returns its code (ISO 639-1).
    #[must_use]
    pub fn main_code(&self) -> &str {
        &self.main
    }

    /// Returns the phrases of a chunk's language; English ones if it has none.
    #[must_use]
    pub fn phrases_of(&self, told: Option<&str>) -> &'static Phrases {
        self.of_chunk(told).phrases().unwrap_or_else(Phrases::english)
    }

    /// Returns the language of a chunk.
    #[must_use]
    pub fn of_chunk(&self, told: Option<&str>) -> &Language {
        told.and_then(primary).and_then(|code| self.loaded.get(&code)).unwrap_or_else(|| self.main())
    }

    /// Returns the language of the notes, which may differ from the spoken one.
    pub fn of_notes(&mut self, notes: &str) -> &Language {
        let code = detected([notes].into_iter()).map_or_else(|| self.main.clone(), str::to_owned);
        self.load(&code);
        &self.loaded[&code]
    }

    fn load(&mut self, code: &str) {
        if !self.loaded.contains_key(code) {
            self.loaded.insert(code.to_owned(), Language::of(code));
        }
    }
}

/// Returns the language subtag of a BCP 47 tag in lower case (RFC 5646 §2.2.1).
fn primary(tag: &str) -> Option<String> {
    let subtag = tag.split(['-', '_']).next()?.trim().to_lowercase();
    match subtag.as_str() {
        "" => None,
        // Bokmål and Nynorsk share stop words and stems.
        "nb" | "nn" => Some("no".to_owned()),
        _ => Some(subtag),
    }
}

/// Returns the ISO 639-1 code of a text's language, if it is certain.
fn detected<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<&'static str> {
    let sample = sampled(texts);
    let info = whatlang::detect(&sample)?;
    let reliable = if info.is_reliable() { code(info.lang()) } else { None };
    if reliable.is_some_and(|code| !CODES.contains(&code)) || info.script() != whatlang::Script::Latin {
        return reliable;
    }
    // Function words identify common languages within one sentence.
    by_small_words(&sample).or(reliable)
}

/// Returns texts for detection: all of a short meeting, or pieces from the beginning to the end of a long one, since
/// greetings may be in another language.
fn sampled<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> String {
    let all: usize = texts.clone().map(str::len).sum();
    let one_in = all.div_ceil(SAMPLE_BYTES).max(1);
    let mut sample = String::new();
    for text in texts.step_by(one_in) {
        let room = SAMPLE_BYTES.saturating_sub(sample.len());
        sample.push_str(&text[..text.floor_char_boundary(room)]);
        sample.push(' ');
    }
    sample
}

/// Returns the common language with the most articles, pronouns and prepositions in a text, if it is far ahead.
fn by_small_words(sample: &str) -> Option<&'static str> {
    let words: Vec<String> = sample.unicode_words().map(|word| word.to_lowercase().replace('’', "'")).collect();
    let small = [Class::Determiner, Class::Pronoun, Class::Preposition, Class::Modal, Class::Negation];
    let mut counts: Vec<(usize, &'static str)> = CODES
        .into_iter()
        .filter_map(|code| {
            let phrases = Phrases::of(code)?;
            let is_small = |word: &str| small.iter().any(|class| phrases.listed(word).has(*class));
            // "l'équipe" begins with its article, "I'll" with its pronoun.
            let hits = words.iter().filter(|word| match word.split_once('\'') {
                Some((head, _)) => is_small(head) || is_small(&format!("{head}'")),
                None => is_small(word),
            });
            Some((hits.count(), code))
        })
        .collect();
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let (best, second) = (counts.first()?, counts.get(1)?);
    let is_ahead = best.0 >= SMALL_WORDS_MIN && best.0 * 4 >= second.0 * 5 && best.0 * 5 >= words.len();
    is_ahead.then_some(best.1)
}

/// Returns the code of a detected language, if there are stop words or stems for it.
fn code(lang: Lang) -> Option<&'static str> {
    TABLE.iter().find(|row| row.0 == lang).map(|row| row.1)
}

fn algorithm(code: &str) -> Option<Algorithm> {
    TABLE.iter().find(|row| row.1 == code).and_then(|row| row.2)
}

const TABLE: &[(Lang, &str, Option<Algorithm>)] = &[
    (Lang::Ara, "ar", Some(Algorithm::Arabic)),
    (Lang::Bul, "bg", None),
    (Lang::Cat, "ca", None),
    (Lang::Ces, "cs", None),
    (Lang::Cmn, "zh", None),
    (Lang::Dan, "da", Some(Algorithm::Danish)),
    (Lang::Deu, "de", Some(Algorithm::German)),
    (Lang::Ell, "el", Some(Algorithm::Greek)),
    (Lang::Eng, "en", Some(Algorithm::English)),
    (Lang::Fin, "fi", Some(Algorithm::Finnish)),
    (Lang::Fra, "fr", Some(Algorithm::French)),
    (Lang::Heb, "he", None),
    (Lang::Hin, "hi", None),
    (Lang::Hrv, "hr", None),
    (Lang::Hun, "hu", Some(Algorithm::Hungarian)),
    (Lang::Ind, "id", None),
    (Lang::Ita, "it", Some(Algorithm::Italian)),
    (Lang::Jpn, "ja", None),
    (Lang::Kor, "ko", None),
    (Lang::Nld, "nl", Some(Algorithm::Dutch)),
    (Lang::Nob, "no", Some(Algorithm::Norwegian)),
    (Lang::Pes, "fa", None),
    (Lang::Pol, "pl", None),
    (Lang::Por, "pt", Some(Algorithm::Portuguese)),
    (Lang::Ron, "ro", Some(Algorithm::Romanian)),
    (Lang::Rus, "ru", Some(Algorithm::Russian)),
    (Lang::Slk, "sk", None),
    (Lang::Spa, "es", Some(Algorithm::Spanish)),
    (Lang::Swe, "sv", Some(Algorithm::Swedish)),
    (Lang::Tam, "ta", Some(Algorithm::Tamil)),
    (Lang::Tur, "tr", Some(Algorithm::Turkish)),
    (Lang::Ukr, "uk", None),
    (Lang::Vie, "vi", None),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Chunk;

    fn chunk(text: &str, language: Option<&str>) -> Chunk {
        Chunk { text: text.to_owned(), language: language.map(str::to_owned), ..Chunk::default() }
    }

    #[test]
    fn declared_chunk_language_wins_over_detected_language() {
        let german = "Wir müssen die neue Datenbank noch vor dem Wochenende einrichten und prüfen.";
        let told = Material { chunks: vec![chunk(german, Some("fr-CA"))], ..Material::default() };
        assert_eq!(Languages::of(&told).main, "fr");
        let untold = Material { chunks: vec![chunk(german, None)], ..Material::default() };
        assert_eq!(Languages::of(&untold).main, "de");
    }

    #[test]
    fn the_language_of_the_most_text_is_the_main_one() {
        let chunks =
            vec![chunk("court", Some("fr")), chunk("a much longer sentence", Some("en")), chunk("oui", Some("fr"))];
        let languages = Languages::of(&Material { chunks, ..Material::default() });
        assert_eq!(languages.main, "en");
        assert!(languages.of_chunk(Some("FR")).is_stop_word("nous"));
        assert!(!languages.of_chunk(Some("en")).is_stop_word("nous"));
    }

    #[test]
    fn a_long_meeting_is_heard_to_its_end() {
        let greeting = "Good morning everybody, can you hear me, and is everyone here today?";
        let german = "Wir müssen die neue Datenbank noch vor dem Wochenende einrichten und prüfen.";
        let greetings = std::iter::repeat_n(chunk(greeting, None), 100);
        let chunks: Vec<Chunk> = greetings.chain(std::iter::repeat_n(chunk(german, None), 400)).collect();
        assert_eq!(Languages::of(&Material { chunks, ..Material::default() }).main, "de");
    }

    #[test]
    fn too_little_text_is_taken_for_english() {
        for text in ["", "ok", "🎉🎉", "42"] {
            let material = Material { chunks: vec![chunk(text, None)], ..Material::default() };
            assert_eq!(Languages::of(&material).main, "en", "{text:?}");
        }
    }

    #[test]
    fn notes_may_be_in_another_language() {
        let chunks = vec![chunk("Good morning everybody", Some("en"))];
        let mut languages = Languages::of(&Material { chunks, ..Material::default() });
        let french = "Nous avons parlé du budget de la nouvelle équipe et de la prochaine livraison.";
        assert!(languages.of_notes(french).is_stop_word("avons"));
        assert!(languages.of_notes("x").is_stop_word("the"));
    }

    #[test]
    fn stems_join_the_forms_of_a_word() {
        let english = Language::of("en");
        assert_eq!(english.stem("databases"), english.stem("database"));
        let german = Language::of("de");
        assert_eq!(german.stem("häuser"), german.stem("haus"));
        assert_eq!(Language::of("xx").stem("unchanged"), "unchanged");
    }

    #[test]
    fn contractions_are_stop_words_and_elisions_come_off() {
        let english = Language::of("en");
        for word in ["we'll", "i've", "that's", "okay", "the"] {
            assert!(english.is_stop_word(word), "{word}");
        }
        assert!(!english.is_stop_word("database"));
        let french = Language::of("fr");
        assert_eq!(french.without_elision("l’équipe"), "équipe");
        assert_eq!(french.without_elision("aujourd'hui"), "aujourd'hui");
        assert_eq!(english.without_elision("o'brien"), "o'brien");
    }

    #[test]
    fn every_language_with_stems_has_stop_words() {
        for (_, code, stems) in TABLE {
            if stems.is_some() && *code != "ta" {
                assert!(stop_words::lookup(code).is_some(), "{code}");
            }
        }
    }
}
