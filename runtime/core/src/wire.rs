//! How values are read from JSON and described: the rules that many value types share, and the sentences of their
//! refusal.
//!
//! A refusal reads "must be an integer between 13 and 120 (got 7)"; the decoder of a call puts the argument's path
//! before it. A sentence that does not begin with "must be" stands for itself (see `call::decode`). The attributes
//! call what is here, so that what they write stays short.

pub mod default;
pub mod forms;
pub mod free_form;
pub mod invalid;
pub mod number;
pub mod object;
pub mod schema;
pub mod text;
pub mod union;

use serde::Deserializer;

pub use invalid::Invalid;
use number::IntegerRule;

/// The integers that JSON carries without loss: ±(2^53 − 1).
pub const INTEGER_MAX: i64 = (1 << 53) - 1;

/// Reads an integer in `min ..= max`: any JSON number with an integral value (`31`, `31.0`, `3.1e1`).
///
/// # Errors
/// Another type, a fraction, or a value outside the bounds.
pub fn integer<'de, D: Deserializer<'de>>(deserializer: D, min: i64, max: i64) -> Result<i64, D::Error> {
    number::integer(deserializer, &IntegerRule { min, max, ..IntegerRule::ANY })
}

/// The place of `text` in `names`.
///
/// # Errors
/// "must be one of …" if it is none of them.
pub fn one_of(text: &str, names: &[&str]) -> Result<usize, Invalid> {
    names
        .iter()
        .position(|name| *name == text)
        .ok_or_else(|| Invalid::must_be(format_args!("one of {}", names.join(", ")), invalid::shown(text)))
}
