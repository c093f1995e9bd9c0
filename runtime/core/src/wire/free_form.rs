//! Free-form values: JSON objects whose members have no declared type.
//!
//! One client writes such an object and others read it, so the keys and numbers obey a rule that suits the clients of
//! all formats. Stored values may be older than the rule, so their invalid members are left out.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::invalid::{Invalid, shown};
use super::number::INTEGER_MAX;

/// The longest key, in characters.
pub const KEY_CHARS_MAX: usize = 64;

/// Returns true if all clients can read this key. It has 1 to 64 printable ASCII characters and does not begin with
/// `$`, which marks tagged values in `convex_encoded_json`.
pub fn is_key(key: &str) -> bool {
    (1..=KEY_CHARS_MAX).contains(&key.len())
        && key.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && !key.starts_with('$')
}

/// Checks a key.
///
/// # Errors
/// The key breaks the rule of [`is_key`].
pub fn require_key(key: &str) -> Result<(), Invalid> {
    if is_key(key) {
        return Ok(());
    }
    let rule = format_args!(
        "a member whose key has 1 to {KEY_CHARS_MAX} printable ASCII characters and does not begin with $"
    );
    Err(Invalid::must_be(rule, shown(key)))
}

/// Checks a key and reads its value. The error of a key has the path of the member; the error of an empty key has the
/// path of the object.
///
/// # Errors
/// Those of [`require_key`] and of the seed.
pub fn value_under<'de, A: MapAccess<'de>, S: DeserializeSeed<'de>>(
    map: &mut A,
    key: &str,
    seed: S,
) -> Result<S::Value, A::Error> {
    if key.is_empty() {
        require_key(key).map_err(A::Error::custom)?;
    }
    map.next_value_seed(Under(key, seed))
}

struct Under<'k, S>(&'k str, S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Under<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        require_key(self.0).map_err(D::Error::custom)?;
        self.1.deserialize(deserializer)
    }
}

/// The strictness with which a free-form value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A value from a caller: an invalid member is rejected.
    Given,
    /// A value from the database: invalid members are left out, and numbers become the nearest double.
    Stored,
}

impl Reading {
    /// Converts an integer to a number. A free-form number is a double, as usual in JSON.
    ///
    /// # Errors
    /// No double equals the integer.
    pub fn integer(self, integer: i128) -> Result<Number, Invalid> {
        if let Ok(small) = i64::try_from(integer)
            && small.unsigned_abs() <= INTEGER_MAX.unsigned_abs()
        {
            return Ok(small.into());
        }
        #[allow(clippy::cast_precision_loss, reason = "the next line checks for a loss")]
        let double = integer as f64;
        #[allow(clippy::cast_possible_truncation, reason = "an integer of 64 bits is far within those of 128")]
        let is_exact = double as i128 == integer;
        match Number::from_f64(double) {
            Some(number) if is_exact || self == Reading::Stored => Ok(number),
            _ => Err(Invalid::must_be("a number that a double holds exactly, or a string", integer)),
        }
    }

    /// Reads the members of an object.
    ///
    /// # Errors
    /// The value is not an object. For a value from a caller, also an invalid key or number, U+0000, or a duplicate
    /// key.
    pub fn members<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Map<String, Value>, D::Error> {
        struct Object(Reading);
        impl<'de> Visitor<'de> for Object {
            type Value = Map<String, Value>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                members(map, self.0)
            }
        }
        deserializer.deserialize_map(Object(self))
    }
}

fn members<'de, A: MapAccess<'de>>(mut map: A, reading: Reading) -> Result<Map<String, Value>, A::Error> {
    let mut members = Map::new();
    while let Some(key) = map.next_key::<String>()? {
        if reading == Reading::Stored && !is_key(&key) {
            map.next_value::<IgnoredAny>()?;
            continue;
        }
        let value = value_under(&mut map, &key, Any(reading))?;
        if members.contains_key(&key) && reading == Reading::Given {
            return Err(A::Error::custom(Invalid::must_be(
                "an object whose keys differ",
                format_args!("{key:?} twice"),
            )));
        }
        members.insert(key, value);
    }
    Ok(members)
}

/// Reads any value and applies the rule to its objects.
#[derive(Clone, Copy)]
struct Any(Reading);

impl<'de> DeserializeSeed<'de> for Any {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }
    fn visit_i64<E: Error>(self, integer: i64) -> Result<Value, E> {
        self.0.integer(integer.into()).map(Value::Number).map_err(E::custom)
    }
    fn visit_u64<E: Error>(self, integer: u64) -> Result<Value, E> {
        self.0.integer(integer.into()).map(Value::Number).map_err(E::custom)
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("must be a finite number"))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        if text.contains('\0') {
            return Err(E::custom("must be a text without U+0000"));
        }
        Ok(Value::String(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        members(map, self.0).map(Value::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, reading: Reading) -> Result<String, String> {
        let mut reader = serde_json::Deserializer::from_str(json);
        let members = reading.members(&mut reader).map_err(|error| error.to_string())?;
        Ok(Value::Object(members).to_string())
    }

    #[test]
    fn key_has_at_most_64_printable_ascii_characters_and_no_dollar_first() {
        for good in ["a", " ", "a$", "packetLoss", "a.b/c~", &"x".repeat(64)] {
            assert!(is_key(good), "{good:?}");
        }
        for bad in ["", "$", "$integer", "größe", "a\u{7f}", "a\nb", "a\0", "\u{1f600}", &"x".repeat(65)] {
            assert!(!is_key(bad), "{bad:?}");
            assert!(read(&serde_json::json!({ "a": [{ bad: 1 }] }).to_string(), Reading::Given).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn stored_object_loses_invalid_members_at_any_depth() {
        let json = r#"{"größe":1,"a":[{"$x":{"b":2},"c":3}],"$integer":"AQAAAAAAIAA=","n":9007199254740993}"#;
        assert_eq!(read(json, Reading::Stored).unwrap(), r#"{"a":[{"c":3}],"n":9007199254740992.0}"#);
    }

    #[test]
    fn integer_without_an_equal_double_is_rejected() {
        let given = |number: &str| read(&format!("{{\"n\":{number}}}"), Reading::Given);
        assert_eq!(given("9007199254740991").unwrap(), r#"{"n":9007199254740991}"#);
        assert_eq!(given("-9007199254740991").unwrap(), r#"{"n":-9007199254740991}"#);
        assert_eq!(given("9007199254740992").unwrap(), r#"{"n":9007199254740992.0}"#);
        assert_eq!(given("9223372036854775808").unwrap(), r#"{"n":9.223372036854776e+18}"#);
        let rejection = given("9007199254740993").unwrap_err();
        assert!(
            rejection.starts_with("must be a number that a double holds exactly, or a string (got 9007"),
            "{rejection}"
        );
        assert!(given("18446744073709551615").is_err());
    }
}
