//! The error of an invalid value, as a message for the client.

use std::borrow::Cow;
use std::fmt;

use crate::error::Error;

/// Largest number of characters of an invalid text in a message.
const SHOWN_CHARS_MAX: usize = 80;

/// A value that breaks the rule of its type.
///
/// The message either begins with "must be " and gets the path of the value in front ("must be an integer between 13
/// and 120 (got 7)"), or it is a complete sentence ("Display name cannot be empty").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(Cow<'static, str>);

impl Invalid {
    /// Creates an error with this message.
    pub fn new(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self(sentence.into())
    }

    /// Creates the message "must be `expected` (got `got`)".
    pub fn must_be(expected: impl fmt::Display, got: impl fmt::Display) -> Self {
        Self(format!("must be {expected} (got {got})").into())
    }

    /// The message.
    pub fn sentence(&self) -> &str {
        &self.0
    }

    /// Returns `INVALID_ARGUMENT` for the argument at `field`. A message that begins with "must be" gets `field` in
    /// front.
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

/// Quotes a text for a message, and truncates a long one.
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
    fn must_be_message_gets_its_field_and_other_messages_do_not() {
        let error = Invalid::must_be("an integer between 13 and 120", 7).at("age");
        assert_eq!(error.message(), "age: must be an integer between 13 and 120 (got 7)");
        assert_eq!(error.field(), Some("age"));
        let error = Invalid::new("Display name cannot be empty").at("displayName");
        assert_eq!(error.message(), "Display name cannot be empty");
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        assert_eq!(shown("a\"b"), r#""a\"b""#);
        assert_eq!(shown(&"ä".repeat(81)), format!("{:?}…", "ä".repeat(80)));
    }
}
