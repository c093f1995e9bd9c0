//! Lists of bounded length.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use convoke::table::{json_from_value, json_to_value};
use convoke::wire::Invalid;
use convoke::{Column, ColumnType, Value, ValueRef};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A list of `MIN` … `MAX` values, each of which is valid by its own type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct List<T, const MIN: usize, const MAX: usize>(Vec<T>);

impl<T, const MIN: usize, const MAX: usize> List<T, MIN, MAX> {
    /// Creates a list of these values.
    ///
    /// # Errors
    /// There are fewer than `MIN` or more than `MAX` values.
    pub fn new(items: Vec<T>) -> Result<Self, Invalid> {
        match items.len() {
            len if (MIN..=MAX).contains(&len) => Ok(Self(items)),
            len => Err(Self::refused(len)),
        }
    }

    /// Returns the values.
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }

    fn refused(len: usize) -> Invalid {
        let items = if len == 1 { "1 item".to_owned() } else { format!("{len} items") };
        Invalid::must_be(Bounds::<MIN, MAX>, items)
    }
}

/// The bounds as text after "must be".
struct Bounds<const MIN: usize, const MAX: usize>;

impl<const MIN: usize, const MAX: usize> fmt::Display for Bounds<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match MIN {
            0 => write!(f, "an array of at most {MAX} items"),
            _ => write!(f, "an array of {MIN} to {MAX} items"),
        }
    }
}

impl<T, const MAX: usize> Default for List<T, 0, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MIN: usize, const MAX: usize> Deref for List<T, MIN, MAX> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MIN: usize, const MAX: usize> IntoIterator for List<T, MIN, MAX> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T, const MIN: usize, const MAX: usize> IntoIterator for &'a List<T, MIN, MAX> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Deserialize<'de> for List<T, MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T, const MIN: usize, const MAX: usize>(PhantomData<fn() -> T>);

        impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Visitor<'de> for Items<T, MIN, MAX> {
            type Value = List<T, MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", Bounds::<MIN, MAX>)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while items.len() < MAX {
                    match seq.next_element()? {
                        Some(item) => items.push(item),
                        None => return List::new(items).map_err(serde::de::Error::custom),
                    }
                }
                // Values beyond the bound are counted and dropped.
                let mut len = items.len();
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    len += 1;
                }
                if len > MAX { Err(serde::de::Error::custom(Self::Value::refused(len))) } else { Ok(List(items)) }
            }
        }

        deserializer.deserialize_seq(Items(PhantomData))
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for List<T, MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("List_{MIN}_{MAX}_of_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        let mut schema = json_schema!({ "type": "array", "items": items, "maxItems": MAX });
        if MIN > 0 {
            schema.insert("minItems".to_owned(), MIN.into());
        }
        schema
    }
}

impl<T: Serialize + for<'de> Deserialize<'de>, const MIN: usize, const MAX: usize> Column for List<T, MIN, MAX> {
    const TYPE: ColumnType = ColumnType::Json;

    fn to_value(&self) -> Value {
        json_to_value(self)
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        json_from_value(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use super::*;
    use crate::Natural;

    type Pair = List<Natural, 1, 2>;

    #[test]
    fn a_list_has_its_least_and_greatest_length() {
        assert_eq!(from_str::<Pair>("[1]").unwrap().len(), 1);
        assert_eq!(from_str::<Pair>("[1, 2]").unwrap().into_iter().map(Natural::get).sum::<i64>(), 3);
        let refusal = |json: &str| from_str::<Pair>(json).unwrap_err().to_string();
        assert!(refusal("[]").starts_with("must be an array of 1 to 2 items (got 0 items)"));
        assert!(refusal("[1, 2, 3, 4]").starts_with("must be an array of 1 to 2 items (got 4 items)"));
        assert!(refusal("{}").contains("expected an array of 1 to 2 items"));
        assert!(List::<Natural, 0, 2>::default().is_empty());
        assert_eq!(
            List::<(), 0, 0>::new(vec![()]).unwrap_err().sentence(),
            "must be an array of at most 0 items (got 1 item)"
        );
    }

    #[test]
    fn a_value_in_a_list_obeys_its_own_rule() {
        assert!(from_str::<Pair>("[-1]").is_err());
    }

    #[test]
    fn the_schema_shows_the_bounds() {
        let schema = schemars::schema_for!(Pair);
        assert_eq!(schema.get("minItems"), Some(&json!(1)));
        assert_eq!(schema.get("maxItems"), Some(&json!(2)));
    }
}
