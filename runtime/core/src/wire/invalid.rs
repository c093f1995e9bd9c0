//! Why a value was refused, in a sentence for the client.

use std::borrow::Cow;
use std::fmt;

use crate::error::Error;

/// How many characters of a refused text a sentence shows.
const SHOWN_CHARS_MAX: usize = 80;

/// A value that breaks the rule of its type.
///
/// The sentence either begins with "must be " and is about whatever holds the value ("must be an integer between 13
/// and 120 (got 7)"), or it stands for itself ("Display name cannot be empty").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(Cow<'static, str>);

impl Invalid {
    /// A refusal with this sentence.
    pub fn new(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self(sentence.into())
    }

    /// "must be `expected` (got `got`)".
    pub fn must_be(expected: impl fmt::Display, got: impl fmt::Display) -> Self {
        Self(format!("must be {expected} (got {got})").into())
    }

    /// The sentence.
    pub fn sentence(&self) -> &str {
        &self.0
    }

    /// `INVALID_ARGUMENT` for the argument at `field`, which a sentence that begins with "must be" is put before.
    pub fn at(self, field: &str) -> Error {
        let message = if self.0.starts_with("must be ") { format!("{field}: {}", self.0).into() } else { self.0 };
        Error::invalid_argument(field, message)
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// A text as a sentence shows it: in quotes, and cut where it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_must_be_sentence_gets_its_field_and_any_other_stands_for_itself() {
        let error = Invalid::must_be("an integer between 13 and 120", 7).at("age");
        assert_eq!(error.message(), "age: must be an integer between 13 and 120 (got 7)");
        assert_eq!(error.field(), Some("age"));
        let error = Invalid::new("Display name cannot be empty").at("displayName");
        assert_eq!(error.message(), "Display name cannot be empty");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shown("a\"b"), r#""a\"b""#);
        assert_eq!(shown(&"ä".repeat(81)), format!("{:?}…", "ä".repeat(80)));
    }
}
