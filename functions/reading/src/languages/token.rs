//! A word of a sentence, as phrases are found in it.

use std::ops::Range;

use super::classes::{Class, Classes};
use super::meanings::Found;

/// A word of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// In lower case, with one kind of apostrophe.
    pub lower: String,
    /// Where it stands in its sentence, in bytes.
    pub place: Range<usize>,
    pub classes: Classes,
    pub has_capital: bool,
    pub before: Break,
    /// Of every meaning the longest phrase that begins here.
    pub phrases: Vec<Found>,
}

/// What stands between a word and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Break {
    None,
    /// The border of two chunks, where nothing tells whether a sentence ends.
    Pause,
    Comma,
    /// A colon, a dash, a bracket, quotation marks, the end of a sentence.
    Stop,
}

impl Token {
    #[must_use]
    pub fn has(&self, class: Class) -> bool {
        self.classes.has(class)
    }

    #[must_use]
    pub fn is_after_stop(&self) -> bool {
        self.before == Break::Stop
    }

    #[must_use]
    pub fn is_after_break(&self) -> bool {
        self.before != Break::None
    }
}

impl Classes {
    /// Those of several words together.
    #[must_use]
    pub fn of_all(tokens: &[Token]) -> Classes {
        tokens.iter().fold(Classes::default(), |all, token| all.and(token.classes))
    }
}

/// Letters in which two words are compared: lower case, one kind of apostrophe.
#[must_use]
pub fn lowered(word: &str) -> String {
    word.to_lowercase().replace('’', "'")
}
