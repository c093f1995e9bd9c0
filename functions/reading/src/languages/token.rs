//! A word of a sentence, prepared for phrases.

use std::ops::Range;

use super::classes::{Class, Classes};
use super::meanings::Found;

/// A word of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// In lower case, with one kind of apostrophe.
    pub lower: String,
    /// Position in its sentence, in bytes.
    pub place: Range<usize>,
    pub classes: Classes,
    pub has_capital: bool,
    pub before: Break,
    /// The longest phrase of every meaning that begins here.
    pub phrases: Vec<Found>,
}

/// The separation of a word from the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Break {
    None,
    /// The border of two chunks, which may or may not end a sentence.
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
    pub fn has_any(&self, classes: &[Class]) -> bool {
        self.classes.has_any(classes)
    }

    /// Returns true if the word has no class.
    #[must_use]
    pub fn is_unlisted(&self) -> bool {
        self.classes == Classes::default()
    }

    /// Returns true for a pronoun that is no article ("she", but not "that").
    #[must_use]
    pub fn is_plain_pronoun(&self) -> bool {
        self.has(Class::Pronoun) && !self.has(Class::Determiner)
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

/// Returns the text for the comparison of words: lower case, one kind of apostrophe.
#[must_use]
pub fn lowered(word: &str) -> String {
    word.to_lowercase().replace('’', "'")
}
