//! Words and phrases of a language, from the files beside this one.
//!
//! A native reader can correct those files without Rust. Their form:
//!
//! - `[words]`: classes of single words. `[[verbs]]`: verbs by their infinitive, with the endings of their forms; an
//!   entry `infinitive/stem` names the stem that the endings follow. `[irregular]`: forms of single verbs.
//!   `[endings]`: endings by which a form is known whatever the verb.
//! - `[agreement]`: articles, pronouns and, behind a hyphen, endings of nouns, by the gender and number that they show.
//! - `[pronouns]`: whom or what a word stands for, as far as it can be told without the words around it.
//! - `[phrases]`: what a phrase means, and the phrases. A phrase is words with spaces between: `a|b` is either, `word?`
//!   may be missing, `@class` is any word of a class, `*ing` is any word with this ending that is in none, `...` is up to
//!   eight words, `^` and `$` are the beginning and the end of a clause. Between any two words, words of the class `between` may stand.
//! - `[dates]`: what `dates` reads. `[frames]`: what `frames` writes.
//!
//! The meanings of single words are in a separate file per language, see `senses`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::agreement::{Agreement, Kind, Kinds};
use super::classes::{Class, Classes};
use super::dates::{Calendar, CalendarFile};
use super::frames::Frames;
use super::meanings::{Found, Meaning, Pronoun};
use super::senses::{Sense, Senses};
use super::token::Token;

/// The languages with files.
pub const CODES: [&str; 7] = ["en", "de", "fr", "es", "pt", "it", "nl"];

/// Most words of the class `between` between two words of a phrase.
const BETWEEN_MAX: usize = 4;
/// Most words for `...`.
const GAP_MAX: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Endings before attached pronouns of a verb.
    #[serde(default)]
    enclitics: String,
    /// True if days of a date have a full stop ("3. März").
    #[serde(default)]
    dotted_days: bool,
    /// True if every noun is capitalized.
    #[serde(default)]
    capital_nouns: bool,
    /// Prefixes of infinitives in languages with final verbs ("mitbringen").
    #[serde(default)]
    verb_prefixes: String,
    /// Forms of auxiliary verbs besides the modal ones. A task is written without them.
    #[serde(default)]
    helpers: String,
    /// Words beside a time that mark it as the latest one.
    latest: Vec<String>,
    /// True if a negation always precedes its verb.
    #[serde(default)]
    denies_before: bool,
    /// Articles that are no pronouns before a verb, and may precede a name ("o Nuno").
    #[serde(default)]
    articles: String,
    /// Endings of infinitives, if they identify a word behind "is going to".
    #[serde(default)]
    infinitives: String,
    words: BTreeMap<Class, String>,
    verbs: Vec<VerbsFile>,
    #[serde(default)]
    irregular: BTreeMap<String, BTreeMap<Class, String>>,
    #[serde(default)]
    endings: BTreeMap<Class, String>,
    #[serde(default)]
    not_verbs: String,
    #[serde(default)]
    agreement: BTreeMap<Kind, String>,
    pronouns: BTreeMap<Pronoun, String>,
    #[serde(default)]
    indirect: Indirect,
    phrases: BTreeMap<Meaning, Vec<String>>,
    dates: CalendarFile,
    frames: Frames,
}

/// Pronouns for a person who receives something, and the words in their place.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Indirect {
    /// Those for one person, for several. A word can be in both.
    one: String,
    several: String,
    /// A preposition before the person; empty in languages with a dative.
    to: String,
    /// Articles, and the words in place of the preposition with the article.
    articles: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerbsFile {
    /// Ending of the infinitive that is removed before the endings.
    ending: String,
    /// `-` is no ending.
    forms: BTreeMap<Class, String>,
    list: String,
}

/// The words and phrases of a language.
pub struct Phrases {
    pub code: &'static str,
    pub frames: Frames,
    pub calendar: Calendar,
    pub dotted_days: bool,
    pub capital_nouns: bool,
    verb_prefixes: Vec<String>,
    helpers: Vec<String>,
    latest: Vec<Vec<String>>,
    /// True if a negation always precedes its verb.
    pub denies_before: bool,
    /// Articles that are no pronouns before a verb, and may precede a name.
    pub articles: Vec<String>,
    infinitives: Vec<String>,
    words: FxHashMap<String, Classes>,
    senses: Senses,
    /// Number of the verb of a form.
    verbs: FxHashMap<String, u32>,
    /// Infinitives by their numbers.
    infinitive_of: Vec<String>,
    endings: Vec<(String, Class)>,
    not_verbs: Vec<String>,
    agreement: Agreement,
    pronouns: FxHashMap<String, Pronoun>,
    indirect: Indirect,
    enclitics: Vec<String>,
    rules: Vec<Rule>,
    /// Rules by their possible first words.
    by_word: FxHashMap<String, Vec<usize>>,
    /// Rules that begin with a class.
    by_class: Vec<(Class, usize)>,
    /// Rules that begin with any word of no class.
    by_ending: Vec<usize>,
}

impl std::fmt::Debug for Phrases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Phrases").field(&self.code).finish()
    }
}

#[derive(Debug)]
struct Rule {
    meaning: Meaning,
    elements: Vec<Element>,
    /// True if it contains a form of a verb.
    has_verb: bool,
    /// True if it consists of words alone.
    is_fixed: bool,
}

#[derive(Debug)]
struct Element {
    any_of: Vec<Piece>,
    is_optional: bool,
}

impl Element {
    /// Returns true if it can match no word.
    fn is_place(&self) -> bool {
        matches!(self.any_of[..], [Piece::Begin | Piece::End])
    }
}

#[derive(Debug)]
enum Piece {
    Word(String),
    Of(Class),
    /// A word of no class with this ending.
    Ending(String),
    Gap,
    /// The beginning of a clause.
    Begin,
    /// The end of a clause.
    End,
}

impl Piece {
    fn fits(&self, token: &Token) -> bool {
        match self {
            Piece::Word(word) => *word == token.lower,
            Piece::Of(class) => token.classes.has(*class),
            Piece::Ending(ending) => {
                token.is_unlisted()
                    && token.lower.len() >= ending.len() + 2
                    && token.lower.ends_with(ending.as_str())
                    && token.lower.chars().all(char::is_alphabetic)
            }
            Piece::Gap | Piece::Begin | Piece::End => false,
        }
    }
}

macro_rules! files {
    ($($code:literal),*) => {
        &[$((
            $code,
            include_str!(concat!($code, ".toml")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $code, ".forms")),
        )),*]
    };
}

/// Phrases and senses of each language, by code.
const FILES: &[(&str, &str, &[u8])] = files!("en", "de", "fr", "es", "pt", "it", "nl");

static LOADED: LazyLock<Vec<Phrases>> =
    LazyLock::new(|| FILES.iter().map(|(code, text, senses)| Phrases::read(code, text, senses)).collect());

impl Phrases {
    /// Returns those of a language by its two letters; None without a file.
    #[must_use]
    pub fn of(code: &str) -> Option<&'static Phrases> {
        LOADED.iter().find(|phrases| phrases.code == code)
    }

    /// Returns those of English, for text without a language.
    ///
    /// # Panics
    /// Never: the file is part of the program, and a test reads it.
    #[must_use]
    pub fn english() -> &'static Phrases {
        Phrases::of("en").expect("the file of English is part of the program")
    }

    fn read(code: &'static str, text: &str, senses: &'static [u8]) -> Phrases {
        let file: File = toml::from_str(text).unwrap_or_else(|error| panic!("languages/{code}.toml: {error}"));
        let mut words: FxHashMap<String, Classes> = FxHashMap::default();
        let mut verbs: FxHashMap<String, u32> = FxHashMap::default();
        let mut infinitives: FxHashMap<String, u32> = FxHashMap::default();
        let mut infinitive_of: Vec<String> = Vec::new();
        let mut add = |word: String, class: Class| words.entry(word).or_default().add(class);
        let mut form = |infinitive: &str, form: &str| {
            let next = u32::try_from(infinitives.len()).unwrap_or(u32::MAX);
            let verb = *infinitives.entry(infinitive.to_owned()).or_insert(next);
            if verb == next {
                infinitive_of.push(infinitive.to_owned());
            }
            verbs.entry(form.to_owned()).or_insert(verb);
        };
        for (class, listed) in &file.words {
            listed.split_whitespace().for_each(|word| add(word.to_owned(), *class));
        }
        for group in &file.verbs {
            for entry in group.list.split_whitespace() {
                let (infinitive, stem) = entry
                    .split_once('/')
                    .unwrap_or_else(|| (entry, entry.strip_suffix(group.ending.as_str()).unwrap_or(entry)));
                add(infinitive.to_owned(), Class::Infinitive);
                form(infinitive, infinitive);
                let irregular = file.irregular.get(infinitive);
                // Forms that are not listed are regular.
                let regular =
                    group.forms.iter().filter(|(class, _)| irregular.is_none_or(|forms| !forms.contains_key(class)));
                for (class, endings) in regular {
                    for ending in endings.split_whitespace() {
                        let word = with(stem, ending);
                        form(infinitive, &word);
                        add(word, *class);
                    }
                }
            }
        }
        for (infinitive, forms) in &file.irregular {
            add(infinitive.clone(), Class::Infinitive);
            form(infinitive, infinitive);
            for (class, listed) in forms {
                for word in listed.split_whitespace() {
                    form(infinitive, word);
                    add(word.to_owned(), *class);
                }
            }
        }
        // "Una" is no "unite!".
        let is_small = |classes: Classes| classes.has_any(&[Class::Determiner, Class::Preposition, Class::Pronoun]);
        words.values_mut().filter(|classes| is_small(**classes)).for_each(Classes::remove_verbs);
        let mut rules = Vec::new();
        for (meaning, phrases) in &file.phrases {
            rules.extend(phrases.iter().map(|phrase| rule(*meaning, phrase)));
        }
        let mut by_word: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        let mut by_class = Vec::new();
        let mut by_ending = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            // A phrase can begin with each of its first elements up to the first required one.
            for element in &rule.elements {
                for piece in &element.any_of {
                    match piece {
                        Piece::Word(word) => by_word.entry(word.clone()).or_default().push(index),
                        Piece::Of(class) => by_class.push((*class, index)),
                        Piece::Ending(_) => by_ending.push(index),
                        Piece::Gap | Piece::Begin | Piece::End => {}
                    }
                }
                if !element.is_optional && !element.is_place() {
                    break;
                }
            }
        }
        let ending = |(class, endings): (&Class, &String)| {
            endings.split_whitespace().map(|ending| (ending.to_owned(), *class)).collect::<Vec<_>>()
        };
        let pronoun = |(pronoun, words): (&Pronoun, &String)| {
            words.split_whitespace().map(|word| (word.to_owned(), *pronoun)).collect::<Vec<_>>()
        };
        let owned = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        Phrases {
            code,
            frames: file.frames,
            calendar: Calendar::new(file.dates),
            dotted_days: file.dotted_days,
            capital_nouns: file.capital_nouns,
            verb_prefixes: owned(&file.verb_prefixes),
            helpers: owned(&file.helpers),
            latest: file.latest.iter().map(|words| owned(words)).collect(),
            denies_before: file.denies_before,
            articles: owned(&file.articles),
            infinitives: owned(&file.infinitives),
            words,
            senses: Senses::packed(senses),
            verbs,
            infinitive_of,
            endings: file.endings.iter().flat_map(ending).collect(),
            not_verbs: owned(&file.not_verbs),
            agreement: Agreement::read(&file.agreement),
            pronouns: file.pronouns.iter().flat_map(pronoun).collect(),
            indirect: file.indirect,
            enclitics: owned(&file.enclitics),
            rules,
            by_word,
            by_class,
            by_ending,
        }
    }

    /// Returns the classes of a lower-case word.
    #[must_use]
    pub fn classes(&self, lower: &str) -> Classes {
        if let Some(known) = self.words.get(lower) {
            return *known;
        }
        let mut classes = Classes::default();
        if self.not_verbs.iter().any(|word| word == lower) {
            return classes;
        }
        for (ending, class) in &self.endings {
            // A stem has at least two letters.
            if lower.len() >= ending.len() + 2 && lower.ends_with(ending.as_str()) {
                classes.add(*class);
            }
        }
        if self.is_compound(lower) {
            classes.add(Class::Infinitive);
        }
        if classes == Classes::default() { self.without_enclitics(lower) } else { classes }
    }

    /// Returns the classes of a lower-case word in the file, independent of its ending.
    #[must_use]
    pub fn listed(&self, lower: &str) -> Classes {
        self.words.get(lower).copied().unwrap_or_default()
    }

    /// Returns the meaning of a lower-case word, if it is known.
    #[must_use]
    pub fn sense(&self, lower: &str) -> Option<Sense> {
        self.senses.of(lower)
    }

    /// Returns the group of the meaning of a lower-case word, with the form of a verb ("document", "give/past"); empty if
    /// it is unknown.
    #[must_use]
    pub fn group(&self, lower: &str) -> &'static str {
        self.sense(lower).map_or("", |sense| sense.group)
    }

    /// Returns the form of a lower-case word that is a verb by its meaning ("inf", "3").
    #[must_use]
    pub fn form(&self, lower: &str) -> Option<&'static str> {
        Some(self.group(lower).split_once('/')?.1)
    }

    /// Returns the referent of a lower-case word, if it is a pronoun with one.
    #[must_use]
    pub fn pronoun(&self, lower: &str) -> Option<Pronoun> {
        self.pronouns.get(lower).copied()
    }

    /// Returns the numbers of persons for whom a lower-case word stands as the recipient ("lui").
    #[must_use]
    pub fn indirect(&self, lower: &str) -> Option<Kinds> {
        let has = |listed: &str| listed.split(' ').any(|word| word == lower);
        match (has(&self.indirect.one), has(&self.indirect.several)) {
            (true, true) => Some(Kinds::ONE.or(Kinds::SEVERAL)),
            (true, false) => Some(Kinds::ONE),
            (false, true) => Some(Kinds::SEVERAL),
            (false, false) => None,
        }
    }

    /// Returns a noun phrase as a recipient ("au photographe").
    #[must_use]
    pub fn to_person(&self, noun: &str) -> String {
        let Indirect { to, articles, .. } = &self.indirect;
        let end = noun.find([' ', '\'', '’']).map_or(0, |end| end + usize::from(!noun[end..].starts_with(' ')));
        let (article, rest) = noun.split_at(end);
        match articles.get(article.to_lowercase().replace('’', "'").as_str()) {
            Some(joined) => format!("{joined}{rest}"),
            None => format!("{to} {noun}").trim_start().to_owned(),
        }
    }

    /// Returns the genders and numbers of a lower-case article or pronoun, or of the pronoun attached to a verb
    /// ("mandarlo"), as far as its form shows them.
    #[must_use]
    pub fn kinds(&self, lower: &str) -> Option<Kinds> {
        let hung = || {
            let attached = self.enclitics.iter().filter(|ending| self.listed(ending).has(Class::Object));
            attached.filter(|ending| lower.ends_with(ending.as_str())).max_by_key(|ending| ending.len())
        };
        let is_verb = || self.classes(lower).is_verb();
        self.agreement.of(lower).or_else(|| self.agreement.of(hung().filter(|_| is_verb())?))
    }

    /// Returns true if the file says which words agree.
    #[must_use]
    pub fn has_agreement(&self) -> bool {
        !self.agreement.is_empty()
    }

    /// Returns the genders and numbers of a lower-case noun, as far as its ending shows them.
    #[must_use]
    pub fn kinds_of_noun(&self, lower: &str) -> Option<Kinds> {
        self.agreement.of_noun(lower)
    }

    /// Returns true if verbs are at the end of their clause.
    #[must_use]
    pub fn sets_verbs_last(&self) -> bool {
        !self.verb_prefixes.is_empty()
    }

    /// "mitbringen", "mitzubringen": finds a known verb with a prefix.
    fn is_compound(&self, lower: &str) -> bool {
        self.verb_prefixes.iter().filter_map(|prefix| lower.strip_prefix(prefix.as_str())).any(|verb| {
            let is_verb = |verb: &str| self.words.get(verb).is_some_and(|classes| classes.has(Class::Infinitive));
            is_verb(verb) || verb.strip_prefix("zu").or_else(|| verb.strip_prefix("te")).is_some_and(is_verb)
        })
    }

    /// Returns the classes of a verb with attached pronouns ("mándame", "inviarci").
    fn without_enclitics(&self, lower: &str) -> Classes {
        let mut stem = lower;
        for _ in 0..2 {
            let Some(shorter) = self
                .enclitics
                .iter()
                .filter_map(|ending| stem.strip_suffix(ending.as_str()))
                .min_by_key(|left| left.len())
            else {
                break;
            };
            stem = shorter;
            let plain: String = stem.chars().map(unaccented).collect();
            for form in [stem.to_owned(), format!("{stem}e"), plain] {
                let Some(known) = self.words.get(&form) else { continue };
                let mut classes = Classes::default();
                for class in [Class::Infinitive, Class::Order] {
                    if known.has(class) {
                        classes.add(class);
                    }
                }
                if classes != Classes::default() {
                    let hung = &lower[stem.len()..];
                    let is_object = |ending: &String| {
                        hung.ends_with(ending.as_str())
                            && self.words.get(ending).is_some_and(|known| known.has(Class::Object))
                    };
                    if self.enclitics.iter().any(is_object) {
                        classes.add(Class::Object);
                    }
                    return classes;
                }
            }
        }
        Classes::default()
    }

    /// Returns true if a word can be an infinitive at this position, also one that is not in the file.
    #[must_use]
    pub fn can_be_infinitive(&self, lower: &str) -> bool {
        let ends = |word: &str| {
            self.infinitives.iter().any(|ending| word.len() > ending.len() + 1 && word.ends_with(ending.as_str()))
        };
        ends(lower) || self.enclitics.iter().filter_map(|ending| lower.strip_suffix(ending.as_str())).any(ends)
    }

    /// Returns the number of the verb of a form; None if the word is no form of a verb in the file.
    #[must_use]
    pub fn verb(&self, lower: &str) -> Option<u32> {
        self.verbs.get(lower).copied()
    }

    /// Returns the infinitive of a form of a verb in the file.
    #[must_use]
    pub fn infinitive(&self, lower: &str) -> Option<&str> {
        self.verb(lower).and_then(|verb| self.infinitive_of.get(verb as usize)).map(String::as_str)
    }

    /// Returns the end of words at a token that mark a time as the latest one ("at the latest").
    #[must_use]
    pub fn latest(&self, tokens: &[Token], at: usize) -> Option<usize> {
        let is_there = |words: &&Vec<String>| {
            tokens
                .get(at..at + words.len())
                .is_some_and(|tokens| tokens.iter().zip(*words).all(|(token, word)| token.lower == *word))
        };
        self.latest.iter().find(is_there).map(|words| at + words.len())
    }

    /// Returns true if the verb is only an auxiliary.
    #[must_use]
    pub fn helps(&self, token: &Token) -> bool {
        token.has(Class::Modal) || self.helpers.contains(&token.lower)
    }

    /// Returns an infinitive without its prefix, unless a form has it, too.
    #[must_use]
    pub fn unprefixed<'i>(&self, infinitive: &'i str, form: &str) -> &'i str {
        let is_added = |prefix: &&String| infinitive.starts_with(prefix.as_str()) && !form.starts_with(prefix.as_str());
        self.verb_prefixes.iter().find(is_added).map_or(infinitive, |prefix| &infinitive[prefix.len()..])
    }

    /// Returns true if a word is a prefix of infinitives.
    #[must_use]
    pub fn is_verb_prefix(&self, lower: &str) -> bool {
        self.verb_prefixes.iter().any(|prefix| prefix == lower)
    }

    /// Returns the infinitive of a form with a prefix ("terugstuurt"), in languages with final verbs.
    #[must_use]
    pub fn infinitive_of_compound(&self, lower: &str) -> Option<String> {
        let prefixes = self.verb_prefixes.iter().filter(|_| self.verb(lower).is_none());
        prefixes.filter_map(|prefix| Some((prefix, lower.strip_prefix(prefix.as_str())?))).find_map(|(prefix, rest)| {
            self.listed(rest)
                .has(Class::Third)
                .then(|| format!("{prefix}{}", self.unprefixed(self.infinitive(rest).unwrap_or(rest), rest)))
        })
    }

    /// Returns the infinitive of a participle ("verlängert", "eingebaut"), in languages with final verbs.
    #[must_use]
    pub fn infinitive_of_participle(&self, lower: &str) -> Option<String> {
        let known = self.infinitive(lower).or_else(|| self.infinitive(lower.strip_prefix("ge")?));
        let known = known.map(|infinitive| self.unprefixed(infinitive, lower).to_owned());
        known.or_else(|| {
            self.verb_prefixes.iter().find_map(|prefix| {
                let rest = lower.strip_prefix(prefix.as_str())?;
                let form = rest.strip_prefix("ge")?;
                let regular = || match (self.code, form.strip_suffix(['t', 'd'])?) {
                    ("de", stem) => Some(format!("{stem}en")),
                    (_, stem) => dutch_infinitive(stem),
                };
                let known = self.infinitive(form).map(|infinitive| self.unprefixed(infinitive, form).to_owned());
                Some(format!("{prefix}{}", known.or_else(regular)?))
            })
        })
    }

    /// Returns the infinitive of a form of the first person that is in no file, by the regular endings.
    #[must_use]
    pub fn guessed(&self, lower: &str) -> Option<String> {
        let with = |ending: &str, infinitive: &str| Some(format!("{}{infinitive}", lower.strip_suffix(ending)?));
        match self.code {
            "de" if lower.ends_with("en") => Some(lower.to_owned()),
            "de" if lower.ends_with('t') && (self.group(lower).is_empty() || self.form(lower) == Some("3")) => {
                with("et", "en").or_else(|| with("t", "en"))
            }
            "de" => with("e", "en").or_else(|| with("", "en")),
            "nl" => dutch_infinitive(lower),
            "fr" => with("e", "er"),
            "es" | "pt" => with("o", "ar"),
            "it" => with("o", "are"),
            _ => None,
        }
    }

    /// Returns the infinitive of an English form with "-ing" that is in no file of verbs: a word of known meaning.
    #[must_use]
    pub fn without_ing(&self, lower: &str) -> Option<String> {
        let stem = lower.strip_suffix("ing").filter(|stem| self.code == "en" && stem.len() > 2)?;
        let mut ends = stem.chars().rev();
        let is_double = ends.next() == ends.next();
        let single = if is_double { &stem[..stem.len() - 1] } else { stem };
        let is_verb = |verb: &&String| self.sense(verb).is_some_and(|sense| sense.group.ends_with("/inf"));
        let stems = [stem.to_owned(), format!("{stem}e"), single.to_owned()];
        let known = stems.iter().find(is_verb).or_else(|| stems.iter().find(|stem| self.sense(stem).is_some()));
        known.cloned()
    }

    /// Returns the infinitive in the file of a form that is not: of a wish ("actualices"), of the future or of the first
    /// person.
    #[must_use]
    pub fn related(&self, lower: &str) -> Option<String> {
        let endings: &[(&str, &[&str])] = match self.code {
            "fr" => &[
                ("erais", &["er"]),
                ("erai", &["er"]),
                ("eras", &["er"]),
                ("era", &["er"]),
                ("es", &["er"]),
                ("e", &["er"]),
                ("isse", &["ir"]),
            ],
            "es" | "pt" => &[
                ("quemos", &["car"]),
                ("ques", &["car"]),
                ("quen", &["car"]),
                ("que", &["car"]),
                ("gues", &["gar"]),
                ("guen", &["gar"]),
                ("gue", &["gar"]),
                ("ces", &["zar"]),
                ("cen", &["zar"]),
                ("ce", &["zar"]),
                ("emos", &["ar"]),
                ("es", &["ar"]),
                ("en", &["ar"]),
                ("em", &["ar"]),
                ("e", &["ar"]),
                ("as", &["er", "ir"]),
                ("an", &["er", "ir"]),
                ("am", &["er", "ir"]),
                ("a", &["er", "ir"]),
                ("o", &["ar", "er", "ir"]),
            ],
            "it" => &[("hi", &["are"]), ("i", &["are", "iare"]), ("a", &["ere", "ire"]), ("o", &["are", "ere", "ire"])],
            _ => &[],
        };
        let is_known = |verb: &String| self.listed(verb).has(Class::Infinitive);
        // "Fasses" is beside "fasse".
        let beside = || self.infinitive(lower.strip_suffix('s').filter(|_| self.code == "fr")?).map(str::to_owned);
        let found = endings.iter().find_map(|(ending, infinitives)| {
            let stem = lower.strip_suffix(ending).filter(|stem| stem.chars().count() > 1)?;
            infinitives.iter().map(|infinitive| format!("{stem}{infinitive}")).find(is_known)
        });
        found.or_else(beside)
    }

    /// Returns the infinitive of a form with attached pronouns ("mandarlo").
    #[must_use]
    pub fn without_hung(&self, lower: &str) -> Option<String> {
        let mut stem = lower;
        for _ in 0..2 {
            stem = self
                .enclitics
                .iter()
                .filter_map(|ending| stem.strip_suffix(ending.as_str()))
                .min_by_key(|left| left.len())?;
            let plain: String = stem.chars().map(unaccented).collect();
            let known = [stem.to_owned(), format!("{stem}e"), plain]
                .into_iter()
                .find_map(|form| Some(self.infinitive(&form)?.to_owned()));
            if known.is_some() {
                return known;
            }
        }
        None
    }

    /// Returns the accusative form of an article, if it differs from the nominative.
    #[must_use]
    pub fn accusative(&self, article: &str, is_governed: bool) -> Option<&'static str> {
        match (self.capital_nouns, article, is_governed) {
            (true, "der", false) | (true, "dem", _) => Some("den"),
            (true, "der", true) => Some("die"),
            _ => None,
        }
    }

    /// Returns the longest phrase with one of these meanings at a token.
    pub fn at(&self, tokens: &[Token], start: usize, is_meant: impl Fn(Meaning) -> bool) -> Option<Found> {
        let found = tokens.get(start)?.phrases.iter().filter(|found| is_meant(found.meaning));
        // Of equals, the one whose meaning is listed first.
        found.copied().rev().max_by_key(|found| found.end)
    }

    /// Returns the longest phrase of every meaning at a token.
    #[must_use]
    pub fn beginning(&self, tokens: &[Token], start: usize) -> Vec<Found> {
        let Some(token) = tokens.get(start) else { return Vec::new() };
        let by_word = self.by_word.get(token.lower.as_str()).into_iter().flatten().copied();
        let by_class = self.by_class.iter().filter(|(class, _)| token.classes.has(*class)).map(|(_, index)| *index);
        let mut all: Vec<Found> = Vec::new();
        let is_unknown = token.is_unlisted();
        let by_ending = self.by_ending.iter().filter(|_| is_unknown).copied();
        for index in by_word.chain(by_class).chain(by_ending) {
            let rule = &self.rules[index];
            let Some(end) = matched(&rule.elements, tokens, start, true) else { continue };
            let found = Found { meaning: rule.meaning, start, end, has_verb: rule.has_verb, is_fixed: rule.is_fixed };
            match all.iter_mut().find(|known| known.meaning == rule.meaning) {
                Some(known) if known.end >= end => {}
                Some(known) => *known = found,
                None => all.push(found),
            }
        }
        all.sort_by_key(|found| found.meaning);
        all
    }

    /// Returns the phrases of some meanings in a sentence, from the left, none inside another.
    pub fn all(&self, tokens: &[Token], is_meant: impl Fn(Meaning) -> bool) -> Vec<Found> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            match self.at(tokens, at, &is_meant) {
                Some(one) => {
                    at = one.end.max(at + 1);
                    found.push(one);
                }
                None => at += 1,
            }
        }
        found
    }

    /// Returns true if a sentence contains a phrase of this meaning.
    #[must_use]
    pub fn has(&self, tokens: &[Token], meaning: Meaning) -> bool {
        (0..tokens.len()).any(|at| self.at(tokens, at, |one| one == meaning).is_some())
    }
}

/// Returns the infinitive of a Dutch stem by its spelling ("wis", "maak", "lees").
fn dutch_infinitive(stem: &str) -> Option<String> {
    let chars: Vec<char> = stem.chars().collect();
    let is_vowel = |c: char| "aeiou".contains(c);
    let [before @ .., first, second, last] = chars.as_slice() else { return None };
    let (first, second, last) = (*first, *second, *last);
    if is_vowel(last) || !stem.chars().all(char::is_lowercase) {
        return None;
    }
    let before: String = before.iter().collect();
    let voiced = |c: char| match c {
        'f' => 'v',
        's' => 'z',
        other => other,
    };
    Some(match (is_vowel(first), is_vowel(second)) {
        (true, true) if first == second => format!("{before}{first}{}en", voiced(last)),
        (true, true) => format!("{before}{first}{second}{}en", voiced(last)),
        (false, true) => format!("{before}{first}{second}{last}{last}en"),
        _ => format!("{stem}en"),
    })
}

fn with(stem: &str, ending: &str) -> String {
    if ending == "-" { stem.to_owned() } else { format!("{stem}{ending}") }
}

fn unaccented(c: char) -> char {
    match c {
        'á' => 'a',
        'é' => 'e',
        'í' => 'i',
        'ó' => 'o',
        'ú' => 'u',
        other => other,
    }
}

fn rule(meaning: Meaning, phrase: &str) -> Rule {
    // Phrases treat a hyphenated word as two words.
    let hyphened = |element: &str| !element.contains(['@', '|', '*']) && element.contains('-');
    let phrase: Vec<String> = phrase
        .split_whitespace()
        .map(|element| if hyphened(element) { element.replace('-', " ") } else { element.to_owned() })
        .collect();
    let phrase = phrase.join(" ");
    let elements: Vec<Element> = phrase
        .split_whitespace()
        .map(|element| {
            match element {
                "..." => return Element { any_of: vec![Piece::Gap], is_optional: true },
                "^" => return Element { any_of: vec![Piece::Begin], is_optional: false },
                "$" => return Element { any_of: vec![Piece::End], is_optional: false },
                _ => {}
            }
            let (element, is_optional) = element.strip_suffix('?').map_or((element, false), |word| (word, true));
            let any_of = element.split('|').map(|piece| match (piece.strip_prefix('@'), piece.strip_prefix('*')) {
                (Some(class), _) => Piece::Of(named(class)),
                (_, Some(ending)) => Piece::Ending(ending.to_owned()),
                _ => Piece::Word(piece.to_owned()),
            });
            Element { any_of: any_of.collect(), is_optional }
        })
        .collect();
    let is_form = |piece: &Piece| match piece {
        Piece::Of(class) => class.is_verb(),
        Piece::Ending(_) => true,
        _ => false,
    };
    let has_verb = elements.iter().any(|element| element.any_of.iter().any(is_form));
    let is_fixed = elements
        .iter()
        .all(|element| element.any_of.iter().all(|piece| matches!(piece, Piece::Word(_) | Piece::Begin | Piece::End)));
    Rule { meaning, elements, has_verb, is_fixed }
}

fn named(class: &str) -> Class {
    let name = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(class);
    Class::deserialize(name).unwrap_or_else(|error| panic!("@{class}: {error}"))
}

/// Returns the end of a phrase that begins at a token.
fn matched(elements: &[Element], tokens: &[Token], at: usize, is_first: bool) -> Option<usize> {
    let Some((element, rest)) = elements.split_first() else { return Some(at) };
    if matches!(element.any_of[..], [Piece::Gap]) {
        for skipped in 0..=GAP_MAX.min(tokens.len().saturating_sub(at)) {
            if skipped > 0 && tokens[at + skipped - 1].is_after_stop() {
                break;
            }
            if let Some(end) = matched(rest, tokens, at + skipped, is_first) {
                return Some(end);
            }
        }
        return None;
    }
    if element.is_place() {
        let is_border = at == 0 || tokens.get(at).is_none_or(Token::is_after_break);
        return if is_border { matched(rest, tokens, at, is_first) } else { None };
    }
    let between = if is_first { 0 } else { BETWEEN_MAX };
    for skipped in 0..=between {
        let Some(token) = tokens.get(at + skipped) else { break };
        if !is_first && token.is_after_stop() {
            break;
        }
        if element.any_of.iter().any(|piece| piece.fits(token))
            && let Some(end) = matched(rest, tokens, at + skipped + 1, false)
        {
            return Some(end);
        }
        if !token.classes.has(Class::Between) {
            break;
        }
    }
    if element.is_optional { matched(rest, tokens, at, is_first) } else { None }
}
