//! Gender and number: a pronoun and the noun phrase that it stands for agree.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Deserialize;

/// A gender and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Masculine,
    Feminine,
    Neuter,
    MasculinePlural,
    FemininePlural,
    /// Of any gender.
    Plural,
}

impl Kind {
    fn bits(self) -> u8 {
        match self {
            Kind::Masculine => 1,
            Kind::Feminine => 2,
            Kind::Neuter => 4,
            Kind::MasculinePlural => 8,
            Kind::FemininePlural => 16,
            Kind::Plural => 8 | 16,
        }
    }
}

/// The genders and numbers that a word can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Returns true if only the neuter is possible.
    #[must_use]
    pub fn are_neuter(self) -> bool {
        self.0 == Kind::Neuter.bits()
    }

    /// Of one person, of several.
    pub(super) const ONE: Kinds = Kinds(1 | 2 | 4);
    pub(super) const SEVERAL: Kinds = Kinds(8 | 16);

    /// Returns those of either.
    pub(super) fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Returns true if two words can agree.
    #[must_use]
    pub fn agrees(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

/// The articles, pronouns and endings that show gender or number.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    words: FxHashMap<String, u8>,
    /// Endings of nouns, longest first.
    endings: Vec<(String, u8)>,
}

impl Agreement {
    /// Reads words by kind; a hyphen precedes an ending.
    pub(super) fn read(listed: &BTreeMap<Kind, String>) -> Agreement {
        let mut agreement = Agreement::default();
        for (kind, words) in listed {
            for word in words.split_whitespace() {
                match word.strip_prefix('-') {
                    None => *agreement.words.entry(word.to_owned()).or_default() |= kind.bits(),
                    Some(ending) => match agreement.endings.iter_mut().find(|known| known.0 == ending) {
                        Some(known) => known.1 |= kind.bits(),
                        None => agreement.endings.push((ending.to_owned(), kind.bits())),
                    },
                }
            }
        }
        agreement.endings.sort_by_key(|(ending, _)| std::cmp::Reverse(ending.len()));
        agreement
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the kinds of an article or a pronoun.
    pub(super) fn of(&self, lower: &str) -> Option<Kinds> {
        self.words.get(lower).copied().map(Kinds)
    }

    /// Returns the kinds of a noun by its ending.
    pub(super) fn of_noun(&self, lower: &str) -> Option<Kinds> {
        self.endings.iter().find(|(ending, _)| lower.ends_with(ending.as_str())).map(|(_, bits)| Kinds(*bits))
    }
}
