//! Numbers that several features use.

use convoke::value;

/// An integer of at least 0: a position, length, sequence, version or count.
///
/// ```json
/// 1
/// ```
#[value(integer, min = 0)]
#[derive(Default)]
pub struct Natural(i64);

impl Natural {
    /// Returns the number as a `usize`.
    pub fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// The confidence of a recognizer or generator: 0 … 1.
///
/// ```json
/// 0.98
/// ```
#[value(number, min = 0.0, max = 1.0)]
pub struct Confidence(f64);

/// A score: 0 … 1.
///
/// ```json
/// 0.75
/// ```
#[value(number, min = 0.0, max = 1.0)]
pub struct Score(f64);

impl Confidence {
    /// Returns the nearest confidence, so that a rounding error is no error. NaN becomes 0.
    pub fn clamped(value: f64) -> Self {
        Self(clamped(value))
    }
}

impl Score {
    /// Returns the nearest score, so that a rounding error is no error. NaN becomes 0.
    pub fn clamped(value: f64) -> Self {
        Self(clamped(value))
    }
}

fn clamped(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }
}

/// The rating of a match in stars: 1 … 5.
///
/// ```json
/// 5
/// ```
#[value(integer, min = 1, max = 5)]
pub struct Rating(i64);

#[cfg(test)]
mod tests {
    use serde_json::from_str;

    use super::*;

    #[test]
    fn a_natural_number_is_whole_and_not_negative() {
        assert_eq!(from_str::<Natural>("0").unwrap().get(), 0);
        assert_eq!(from_str::<Natural>("9007199254740991").unwrap().get(), 9_007_199_254_740_991);
        for json in ["-1", "0.5", "9007199254740992", "1e300", "\"1\"", "true"] {
            assert!(from_str::<Natural>(json).is_err(), "{json}");
        }
        assert_eq!(Natural::new(-1).unwrap_err().sentence(), "must be an integer of at least 0 (got -1)");
    }

    #[test]
    fn a_confidence_is_between_zero_and_one() {
        for json in ["0", "0.0", "1", "1.0", "0.25"] {
            assert!(from_str::<Confidence>(json).is_ok(), "{json}");
        }
        for json in ["-0.001", "1.001", "\"1\"", "null"] {
            assert!(from_str::<Confidence>(json).is_err(), "{json}");
        }
        assert_eq!(Confidence::clamped(1.000_000_1).get(), 1.0);
        assert_eq!(Score::clamped(f64::NAN).get(), 0.0);
    }

    #[test]
    fn a_rating_has_one_to_five_stars() {
        assert!(Rating::new(0).is_err() && Rating::new(6).is_err());
        assert!(Rating::new(1).is_ok() && Rating::new(5).is_ok());
    }
}
