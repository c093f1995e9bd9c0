//! Numbers: integers and doubles, with their bounds.

use std::fmt;

use schemars::{Schema, json_schema};
use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

use super::invalid::Invalid;

/// The largest integer that JSON transports without loss: 2^53 − 1.
pub const INTEGER_MAX: i64 = (1 << 53) - 1;

/// The rule of an integer.
#[derive(Clone, Copy)]
pub struct IntegerRule {
    /// The minimum.
    pub min: i64,
    /// The maximum.
    pub max: i64,
    /// The complete message for a number below `min`.
    pub too_small: Option<&'static str>,
    /// The complete message for a number above `max`.
    pub too_large: Option<&'static str>,
}

impl IntegerRule {
    /// Allows all integers that JSON transports without loss.
    pub const ANY: IntegerRule = IntegerRule { min: -INTEGER_MAX, max: INTEGER_MAX, too_small: None, too_large: None };

    /// Returns the rule limited to the range of a smaller integer type.
    #[must_use]
    pub const fn within(mut self, min: i64, max: i64) -> Self {
        if self.min < min {
            self.min = min;
        }
        if self.max > max {
            self.max = max;
        }
        self
    }

    /// Returns the number if it obeys the rule.
    ///
    /// # Errors
    /// The rule that the number breaks.
    pub fn apply(&self, number: i64) -> Result<i64, Invalid> {
        match number {
            number if number < self.min => Err(self.too_small(&number)),
            number if number > self.max => Err(self.too_large(&number)),
            number => Ok(number),
        }
    }

    fn too_small(&self, got: &dyn fmt::Display) -> Invalid {
        self.invalid(self.too_small, self.min <= -INTEGER_MAX, got)
    }

    fn too_large(&self, got: &dyn fmt::Display) -> Invalid {
        self.invalid(self.too_large, self.max >= INTEGER_MAX, got)
    }

    /// Builds the error. `is_implied` is true for a bound that `Display` leaves out because all integers in JSON have
    /// it.
    fn invalid(&self, sentence: Option<&'static str>, is_implied: bool, got: &dyn fmt::Display) -> Invalid {
        match sentence {
            Some(sentence) => Invalid::new(sentence),
            None if is_implied => {
                Invalid::must_be(format_args!("an integer between {} and {}", self.min, self.max), got)
            }
            None => Invalid::must_be(self, got),
        }
    }

    /// Returns the JSON schema of such a number.
    pub fn schema(&self, doc: &str) -> Schema {
        let mut schema = json_schema!({ "type": "integer", "format": "int64" });
        // The bounds of lossless integers in JSON are implied. Other bounds are stated.
        if self.min != -INTEGER_MAX {
            schema.insert("minimum".to_owned(), self.min.into());
        }
        if self.max != INTEGER_MAX {
            schema.insert("maximum".to_owned(), self.max.into());
        }
        super::schema::describe(&mut schema, doc);
        schema
    }
}

/// Formats the rule as words that follow "must be".
impl fmt::Display for IntegerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min > -INTEGER_MAX, self.max < INTEGER_MAX) {
            (false, false) => f.write_str("an integer"),
            (true, false) => write!(f, "an integer of at least {}", self.min),
            (false, true) => write!(f, "an integer of at most {}", self.max),
            (true, true) => write!(f, "an integer between {} and {}", self.min, self.max),
        }
    }
}

/// Reads an integer that obeys `rule`: any JSON number with an integral value (`31`, `31.0`, `3.1e1`).
///
/// # Errors
/// Another type, a fraction, or a number that breaks the rule.
pub fn integer<'de, D: Deserializer<'de>>(deserializer: D, rule: &IntegerRule) -> Result<i64, D::Error> {
    deserializer.deserialize_any(Integer(rule))
}

/// Reads an integer in `min ..= max`: any JSON number with an integral value (`31`, `31.0`, `3.1e1`).
///
/// # Errors
/// Another type, a fraction, or a value outside the bounds.
pub fn integer_between<'de, D: Deserializer<'de>>(deserializer: D, min: i64, max: i64) -> Result<i64, D::Error> {
    integer(deserializer, &IntegerRule { min, max, ..IntegerRule::ANY })
}

struct Integer<'a>(&'a IntegerRule);

impl Visitor<'_> for Integer<'_> {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        self.0.apply(number).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(E::custom(self.0.too_large(&number))),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "the value is integral and within the type's bounds")]
    fn visit_f64<E: Error>(self, number: f64) -> Result<i64, E> {
        const BOUND: f64 = 9_223_372_036_854_775_808.0;
        if number.fract() != 0.0 || !number.is_finite() {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        if (-BOUND..BOUND).contains(&number) {
            return self.visit_i64(number as i64);
        }
        let invalid = if number > 0.0 { self.0.too_large(&number) } else { self.0.too_small(&number) };
        Err(E::custom(invalid))
    }
}

/// The rule of a number.
#[derive(Clone, Copy)]
pub struct NumberRule {
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The complete message for a number below `min`.
    pub too_small: Option<&'static str>,
    /// The complete message for a number above `max`.
    pub too_large: Option<&'static str>,
}

impl NumberRule {
    /// Allows all finite numbers.
    pub const ANY: NumberRule = NumberRule { min: f64::MIN, max: f64::MAX, too_small: None, too_large: None };

    /// Returns the number if it obeys the rule.
    ///
    /// # Errors
    /// The rule that the number breaks. Infinities and NaN are always invalid.
    pub fn apply(&self, number: f64) -> Result<f64, Invalid> {
        match number {
            number if number < self.min => Err(self.invalid(self.too_small, number)),
            number if number > self.max => Err(self.invalid(self.too_large, number)),
            number if number.is_finite() => Ok(number),
            number => Err(Invalid::must_be(self, number)),
        }
    }

    fn invalid(&self, sentence: Option<&'static str>, got: f64) -> Invalid {
        sentence.map_or_else(|| Invalid::must_be(self, got), Invalid::new)
    }

    /// Returns the JSON schema of such a number.
    pub fn schema(&self, doc: &str) -> Schema {
        let mut schema = json_schema!({ "type": "number", "format": "double" });
        if self.min > f64::MIN {
            schema.insert("minimum".to_owned(), self.min.into());
        }
        if self.max < f64::MAX {
            schema.insert("maximum".to_owned(), self.max.into());
        }
        super::schema::describe(&mut schema, doc);
        schema
    }
}

/// Formats the rule as words that follow "must be".
impl fmt::Display for NumberRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min > f64::MIN, self.max < f64::MAX) {
            (false, false) => f.write_str("a number"),
            (true, false) => write!(f, "a number of at least {}", self.min),
            (false, true) => write!(f, "a number of at most {}", self.max),
            (true, true) => write!(f, "a number between {} and {}", self.min, self.max),
        }
    }
}

/// Reads a number that obeys `rule`.
///
/// # Errors
/// Another type, or a number that breaks the rule.
pub fn number<'de, D: Deserializer<'de>>(deserializer: D, rule: &NumberRule) -> Result<f64, D::Error> {
    struct Number<'a>(&'a NumberRule);
    impl Visitor<'_> for Number<'_> {
        type Value = f64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Display::fmt(self.0, f)
        }
        fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
            self.visit_f64(number as f64)
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
            self.visit_f64(number as f64)
        }
        fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
            self.0.apply(number).map_err(E::custom)
        }
    }
    deserializer.deserialize_any(Number(rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, rule: &IntegerRule) -> Result<i64, String> {
        integer(&mut serde_json::Deserializer::from_str(json), rule)
            .map_err(|error| error.to_string().split(" at line").next().unwrap().to_owned())
    }

    #[test]
    fn any_number_with_an_integral_value_is_an_integer() {
        let age = IntegerRule { min: 13, max: 120, ..IntegerRule::ANY };
        for json in ["31", "31.0", "3.1e1"] {
            assert_eq!(read(json, &age), Ok(31));
        }
        assert_eq!(read("13", &age), Ok(13));
        assert_eq!(read("120", &age), Ok(120));
        for (json, got) in [("12", "12"), ("121", "121"), ("-0.0e0", "0"), ("1e300", &format!("{}", 1e300))] {
            assert_eq!(read(json, &age), Err(format!("must be an integer between 13 and 120 (got {got})")));
        }
        assert_eq!(
            read("13.5", &age).unwrap_err(),
            "invalid value: floating point `13.5`, expected an integer between 13 and 120"
        );
    }

    #[test]
    fn integers_end_where_doubles_stop_being_exact() {
        assert_eq!(read("9007199254740991", &IntegerRule::ANY), Ok(INTEGER_MAX));
        assert_eq!(read("-9007199254740991", &IntegerRule::ANY), Ok(-INTEGER_MAX));
        let rejects = |json: &str, rule: &IntegerRule, bounds: &str| {
            assert_eq!(read(json, rule), Err(format!("must be an integer between {bounds} (got {json})")));
        };
        let bounds = "-9007199254740991 and 9007199254740991";
        rejects("9007199254740992", &IntegerRule::ANY, bounds);
        rejects("-9007199254740992", &IntegerRule::ANY, bounds);
        rejects("18446744073709551615", &IntegerRule::ANY, bounds);
        let natural = IntegerRule { min: 0, ..IntegerRule::ANY };
        rejects("9007199254740992", &natural, "0 and 9007199254740991");
        assert_eq!(read("-1", &natural), Err("must be an integer of at least 0 (got -1)".to_owned()));
        assert!(read("9007199254740992.0", &IntegerRule::ANY).is_err());
    }

    #[test]
    fn type_of_wider_integers_accepts_integral_doubles() {
        let wide = IntegerRule { min: i64::MIN, max: i64::MAX, ..IntegerRule::ANY };
        assert_eq!(read("9007199254740992.0", &wide), Ok(1 << 53));
        assert_eq!(read("-9223372036854775808.0", &wide), Ok(i64::MIN));
        assert!(read("9223372036854775808.0", &wide).is_err());
    }

    #[test]
    fn custom_message_replaces_the_generated_one() {
        let rule = IntegerRule { min: 1, too_small: Some("It must be at least 1"), ..IntegerRule::ANY };
        assert_eq!(read("0", &rule), Err("It must be at least 1".to_owned()));
    }

    #[test]
    fn numbers_are_finite_and_within_their_bounds() {
        let share = NumberRule { min: 0.0, max: 1.0, ..NumberRule::ANY };
        assert_eq!(share.apply(0.0), Ok(0.0));
        assert_eq!(share.apply(1.0), Ok(1.0));
        assert_eq!(share.apply(1.5).unwrap_err().sentence(), "must be a number between 0 and 1 (got 1.5)");
        assert_eq!(NumberRule::ANY.apply(f64::INFINITY).unwrap_err().sentence(), "must be a number (got inf)");
        assert_eq!(NumberRule::ANY.apply(f64::NAN).unwrap_err().sentence(), "must be a number (got NaN)");
    }
}
