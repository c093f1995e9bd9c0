//! How single values are read from JSON: the rules that many value types share, and the sentences of their refusal.
//!
//! A refusal reads "must be an integer between 13 and 120 (got 7)"; whoever decodes a call puts the argument's path
//! before it. A sentence that does not begin with "must be" stands for itself (see `call::decode`).

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

/// The integers that JSON carries without loss: ±(2^53 − 1).
pub const INTEGER_MAX: i64 = (1 << 53) - 1;

/// Reads an integer in `min ..= max`: any JSON number with an integral value (`31`, `31.0`, `3.1e1`).
///
/// # Errors
/// Another type, a fraction, or a value outside the bounds.
pub fn integer<'de, D: Deserializer<'de>>(deserializer: D, min: i64, max: i64) -> Result<i64, D::Error> {
    deserializer.deserialize_any(Integer { min, max })
}

struct Integer {
    min: i64,
    max: i64,
}

impl Integer {
    fn within<E: Error>(&self, number: i64) -> Result<i64, E> {
        if (self.min..=self.max).contains(&number) {
            Ok(number)
        } else {
            Err(E::invalid_value(Unexpected::Signed(number), self))
        }
    }
}

impl Visitor<'_> for Integer {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, max) if min <= -INTEGER_MAX && max >= INTEGER_MAX => write!(f, "an integer"),
            (min, max) if max >= INTEGER_MAX => write!(f, "an integer of at least {min}"),
            (min, max) => write!(f, "an integer between {min} and {max}"),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        self.within(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        match i64::try_from(number) {
            Ok(number) => self.within(number),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "the value is integral and within the bounds of exact doubles")]
    fn visit_f64<E: Error>(self, number: f64) -> Result<i64, E> {
        if number.fract() == 0.0 && number.abs() <= INTEGER_MAX as f64 {
            self.within(number as i64)
        } else {
            Err(E::invalid_value(Unexpected::Float(number), &self))
        }
    }
}
