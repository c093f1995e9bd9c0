//! Texts: their length, white space, pattern, and the custom check of a value type.

use std::fmt;
use std::sync::OnceLock;

use regex_lite::Regex;
use schemars::{Schema, json_schema};
use serde::Deserializer;
use serde::de::{Error, Visitor};

use super::invalid::{Invalid, shown};

/// The rule of a text. Lengths are in Unicode scalar values. U+0000 is always invalid.
#[derive(Clone, Copy)]
pub struct TextRule {
    /// True if Unicode white space at both ends is removed before the checks.
    pub trim: bool,
    /// The minimum number of characters.
    pub chars_min: usize,
    /// The maximum number of characters.
    pub chars_max: usize,
    /// The complete message for a text below `chars_min`.
    pub too_short: Option<&'static str>,
    /// The complete message for a text above `chars_max`.
    pub too_long: Option<&'static str>,
    /// A pattern that a part of the text must match. Anchor it with `^` and `$` for the whole text.
    pub pattern: Option<&'static Pattern>,
    /// Words that follow "must be" in messages, instead of words generated from the bounds.
    pub expected: Option<&'static str>,
    /// Normalizes a text that passed the other checks, or returns the error message.
    pub check: Option<fn(String) -> Result<String, String>>,
}

impl TextRule {
    /// Allows any text.
    pub const ANY: TextRule = TextRule {
        trim: false,
        chars_min: 0,
        chars_max: usize::MAX,
        too_short: None,
        too_long: None,
        pattern: None,
        expected: None,
        check: None,
    };

    /// Returns the normalized text if it obeys the rule.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn apply(&self, text: impl AsRef<str> + Into<String>) -> Result<String, Invalid> {
        let whole = text.as_ref();
        let trimmed = if self.trim { whole.trim() } else { whole };
        self.check_bounds(trimmed)?;
        let trimmed = if trimmed.len() == whole.len() { text.into() } else { trimmed.to_owned() };
        match self.check {
            None => Ok(trimmed),
            Some(check) => {
                let got = shown(&trimmed);
                check(trimmed).map_err(|why| with_got(why, &got))
            }
        }
    }

    fn check_bounds(&self, text: &str) -> Result<(), Invalid> {
        if text.contains('\0') {
            return Err(Invalid::must_be("a text without U+0000", shown(text)));
        }
        let chars = text.chars().count();
        if chars < self.chars_min {
            return Err(self.length(self.too_short, chars));
        }
        if chars > self.chars_max {
            return Err(self.length(self.too_long, chars));
        }
        match self.pattern {
            Some(pattern) if !pattern.matches(text) => Err(Invalid::must_be(self, shown(text))),
            Some(_) | None => Ok(()),
        }
    }

    fn length(&self, sentence: Option<&'static str>, chars: usize) -> Invalid {
        match sentence {
            Some(sentence) => Invalid::new(sentence),
            None => Invalid::must_be(self, format_args!("{chars} character{}", plural(chars))),
        }
    }

    /// Returns the JSON schema of such a text.
    pub fn schema(&self, doc: &str) -> Schema {
        let mut schema = json_schema!({ "type": "string" });
        if self.chars_min > 0 {
            schema.insert("minLength".to_owned(), self.chars_min.into());
        }
        if self.chars_max < usize::MAX {
            schema.insert("maxLength".to_owned(), self.chars_max.into());
        }
        if let Some(pattern) = self.pattern {
            schema.insert("pattern".to_owned(), pattern.source.into());
        }
        super::schema::describe(&mut schema, doc);
        schema
    }
}

/// Formats the rule as words that follow "must be".
impl fmt::Display for TextRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(expected) = self.expected {
            return f.write_str(expected);
        }
        f.write_str("a text")?;
        match (self.chars_min, self.chars_max) {
            (0, usize::MAX) => {}
            (min, usize::MAX) => write!(f, " of at least {min} character{}", plural(min))?,
            (0, max) => write!(f, " of at most {max} character{}", plural(max))?,
            (min, max) if min == max => write!(f, " of {min} character{}", plural(min))?,
            (min, max) => write!(f, " of {min} to {max} characters")?,
        }
        match self.pattern {
            Some(pattern) => write!(f, " that matches {}", pattern.source),
            None => Ok(()),
        }
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Returns the error of a custom check. A message "must be …" also shows the value.
fn with_got(why: String, got: &str) -> Invalid {
    if why.starts_with("must be ") && !why.contains("(got ") {
        Invalid::new(format!("{why} (got {got})"))
    } else {
        Invalid::new(why)
    }
}

/// A regular expression that is compiled at its first use. `#[value]` has checked that it compiles.
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// Creates a pattern from `source`.
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| {
            Regex::new(self.source).expect("#[value] rejects a pattern that is not a regular expression")
        });
        compiled.is_match(text)
    }
}

/// Reads a text that obeys `rule`.
///
/// # Errors
/// Another type, or a text that breaks the rule.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D, rule: &TextRule) -> Result<String, D::Error> {
    struct Text<'a>(&'a TextRule);
    impl Visitor<'_> for Text<'_> {
        type Value = String;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Display::fmt(self.0, f)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            self.0.apply(text).map_err(E::custom)
        }
        fn visit_string<E: Error>(self, text: String) -> Result<String, E> {
            self.0.apply(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_string(Text(rule))
}

/// Returns the index of `text` in `names`.
///
/// # Errors
/// "must be one of …" for any other text.
pub fn one_of(text: &str, names: &[&str]) -> Result<usize, Invalid> {
    names
        .iter()
        .position(|name| *name == text)
        .ok_or_else(|| Invalid::must_be(format_args!("one of {}", names.join(", ")), shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: TextRule = TextRule { trim: true, chars_min: 1, chars_max: 5, ..TextRule::ANY };

    fn message(rule: &TextRule, text: &str) -> String {
        rule.apply(text).unwrap_err().to_string()
    }

    #[test]
    fn lengths_count_characters_after_trimming_unicode_white_space() {
        assert_eq!(SHORT.apply("\u{a0} äöü€𝄞\u{3000}\n").unwrap(), "äöü€𝄞");
        assert_eq!(message(&SHORT, "\u{3000}\t "), "must be a text of 1 to 5 characters (got 0 characters)");
        assert_eq!(message(&SHORT, "abcdef"), "must be a text of 1 to 5 characters (got 6 characters)");
        let untrimmed = TextRule { trim: false, ..SHORT };
        assert_eq!(untrimmed.apply(" a ").unwrap(), " a ");
    }

    #[test]
    fn custom_messages_replace_the_generated_ones() {
        let rule = TextRule { too_short: Some("It cannot be empty"), too_long: Some("It is too long"), ..SHORT };
        assert_eq!(message(&rule, ""), "It cannot be empty");
        assert_eq!(message(&rule, "abcdef"), "It is too long");
    }

    #[test]
    fn u0000_is_always_invalid() {
        assert_eq!(message(&TextRule::ANY, "a\0b"), r#"must be a text without U+0000 (got "a\0b")"#);
    }

    #[test]
    fn errors_of_patterns_and_checks_show_the_value() {
        static SLUG: Pattern = Pattern::new("^[a-z]+$");
        let rule = TextRule { pattern: Some(&SLUG), ..TextRule::ANY };
        assert_eq!(message(&rule, "A1"), r#"must be a text that matches ^[a-z]+$ (got "A1")"#);
        let rule = TextRule { expected: Some("a slug"), ..rule };
        assert_eq!(message(&rule, "A1"), r#"must be a slug (got "A1")"#);
        let rule = TextRule { check: Some(|_| Err("must be a URL".to_owned())), ..TextRule::ANY };
        assert_eq!(message(&rule, "x"), r#"must be a URL (got "x")"#);
        let rule = TextRule { check: Some(|_| Err("Not today".to_owned())), ..TextRule::ANY };
        assert_eq!(message(&rule, "x"), "Not today");
        let rule = TextRule { check: Some(|text| Ok(text.to_lowercase())), ..TextRule::ANY };
        assert_eq!(rule.apply("ABC").unwrap(), "abc");
    }
}
