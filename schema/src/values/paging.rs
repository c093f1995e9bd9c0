//! The requested part of a list.
//!
//! The store defines the cursor, and a limit of the runtime bounds the size of a page.

use std::borrow::Cow;

use convoke::value;
use convoke::wire::{Invalid, integer};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// The largest number of rows of a list: 1 … `MAX`, `DEFAULT` if absent.
///
/// ```
/// # use schema::Limit;
/// assert_eq!(Limit::<20, 1000>::default().get(), 20);
/// assert!(Limit::<20, 1000>::new(1001).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Limit<const DEFAULT: i64, const MAX: i64>(i64);

impl<const DEFAULT: i64, const MAX: i64> Limit<DEFAULT, MAX> {
    /// Creates a limit of this many rows.
    ///
    /// # Errors
    /// The number is less than 1 or more than `MAX`.
    pub fn new(rows: i64) -> Result<Self, Invalid> {
        if (1..=MAX).contains(&rows) {
            Ok(Self(rows))
        } else {
            Err(Invalid::must_be(format_args!("an integer between 1 and {MAX}"), rows))
        }
    }

    /// Returns the number of rows.
    pub fn get(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const DEFAULT: i64, const MAX: i64> Default for Limit<DEFAULT, MAX> {
    fn default() -> Self {
        const { assert!(1 <= DEFAULT && DEFAULT <= MAX, "the default of a limit is within its bounds") }
        Self(DEFAULT)
    }
}

impl<'de, const DEFAULT: i64, const MAX: i64> Deserialize<'de> for Limit<DEFAULT, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        integer(deserializer, 1, MAX).map(Self)
    }
}

impl<const DEFAULT: i64, const MAX: i64> JsonSchema for Limit<DEFAULT, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Limit_{DEFAULT}_{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer", "format": "int64", "minimum": 1, "maximum": MAX, "default": DEFAULT,
            "description": "At most so many rows.",
        })
    }
}

/// The number of rows of a list to skip.
#[value(integer, min = 0, max = 100_000)]
#[derive(Default)]
pub struct Offset(i64);

impl Offset {
    /// Returns the number of rows.
    pub fn rows(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use super::*;

    #[test]
    fn a_limit_has_its_bounds_and_its_default() {
        type Rows = Limit<20, 1000>;
        assert_eq!(Rows::default().get(), 20);
        for (json, rows) in [("1", 1), ("1000", 1000), ("31.0", 31), ("3.1e1", 31)] {
            assert_eq!(from_str::<Rows>(json).unwrap().get(), rows);
        }
        for json in ["0", "1001", "-1", "1.5", "\"1\"", "null"] {
            assert!(from_str::<Rows>(json).is_err(), "{json}");
        }
        assert_eq!(Rows::new(0).unwrap_err().sentence(), "must be an integer between 1 and 1000 (got 0)");
        assert_eq!(serde_json::to_value(Rows::default()).unwrap(), json!(20));
        let schema = schemars::schema_for!(Rows);
        assert_eq!(schema.get("maximum"), Some(&json!(1000)));
        assert_eq!(schema.get("default"), Some(&json!(20)));
    }

    #[test]
    fn an_offset_ends_at_a_hundred_thousand() {
        assert_eq!(Offset::default().rows(), 0);
        assert_eq!(from_str::<Offset>("100000").unwrap().rows(), 100_000);
        assert!(from_str::<Offset>("100001").is_err());
        assert!(from_str::<Offset>("-1").is_err());
    }
}
