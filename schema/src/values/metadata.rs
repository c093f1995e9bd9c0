//! Metadata that a client attaches to a session or a presence: a flat object of bounded size.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use convoke::table::{json, json_from_value, json_to_value};
use convoke::wire::Invalid;
use convoke::wire::free_form::{self, KEY_CHARS_MAX, Reading};
use convoke::{Column, ColumnType, StoreError, Value, ValueRef};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

/// Largest number of members. More than a few numbers and labels need a field of their own.
pub(super) const MEMBERS_MAX: usize = 32;
/// Largest size as JSON, in bytes: lists return many sessions with their metadata.
pub(super) const BYTES_MAX: usize = 4 * 1024;

/// A flat object of at most 32 members and 4 KiB of JSON. Keys have 1 … 64 printable ASCII characters and do not begin
/// with `$`. Values are texts, numbers or booleans. Results omit stored members with other keys, which are older than
/// this rule.
///
/// ```json
/// {"packetLoss": 0.4, "latency": 80, "device": "laptop", "muted": false}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Metadata(BTreeMap<String, MetadataValue>);

/// A value in [`Metadata`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MetadataValue {
    /// A text.
    Text(String),
    /// A number: a double, written as an integer if it is a small integer.
    Number(Number),
    /// True or false.
    Bool(bool),
}

impl Metadata {
    /// Creates metadata of these members.
    ///
    /// # Errors
    /// A key occurs twice, or a bound is exceeded.
    pub fn new(members: impl IntoIterator<Item = (String, MetadataValue)>) -> Result<Self, Invalid> {
        let mut metadata = Self::default();
        for (key, value) in members {
            metadata.add(key, value)?;
        }
        metadata.checked()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        self.0.get(key)
    }

    /// Returns the value of a key if it is a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.0.get(key)? {
            MetadataValue::Number(number) => number.as_f64(),
            MetadataValue::Text(_) | MetadataValue::Bool(_) => None,
        }
    }

    /// Returns the value of a key if it is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.0.get(key)? {
            MetadataValue::Text(text) => Some(text),
            MetadataValue::Number(_) | MetadataValue::Bool(_) => None,
        }
    }

    /// Returns the members, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &MetadataValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns these members, replaced by those of `newer` with the same key.
    ///
    /// # Errors
    /// Both together exceed a bound.
    pub fn merged(mut self, newer: Self) -> Result<Self, Invalid> {
        self.0.extend(newer.0);
        self.checked()
    }

    fn add(&mut self, key: String, value: MetadataValue) -> Result<(), Invalid> {
        free_form::require_key(&key)?;
        match self.0.entry(key) {
            Entry::Occupied(entry) => {
                Err(Invalid::must_be("an object whose keys differ", format_args!("{:?} twice", entry.key())))
            }
            Entry::Vacant(entry) => {
                entry.insert(value);
                Ok(())
            }
        }
    }

    fn checked(self) -> Result<Self, Invalid> {
        if self.0.len() > MEMBERS_MAX {
            return Err(Invalid::must_be(format_args!("an object of at most {MEMBERS_MAX} members"), self.0.len()));
        }
        let bytes = serde_json::to_vec(&self).map_or(usize::MAX, |json| json.len());
        if bytes > BYTES_MAX {
            let rule = format_args!("an object of at most {BYTES_MAX} bytes of JSON");
            return Err(Invalid::must_be(rule, format_args!("{bytes}")));
        }
        Ok(self)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                let mut metadata = Metadata::default();
                while let Some(key) = map.next_key::<String>()? {
                    let value = free_form::value_under(&mut map, &key, Flat)?;
                    metadata.add(key, value).map_err(A::Error::custom)?;
                }
                metadata.checked().map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// Deserializes one value.
struct Flat;

impl<'de> DeserializeSeed<'de> for Flat {
    type Value = MetadataValue;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<MetadataValue, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Flat {
    type Value = MetadataValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or a boolean")
    }
    fn visit_bool<E: Error>(self, truth: bool) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Bool(truth))
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<MetadataValue, E> {
        Reading::Given.integer(number.into()).map(MetadataValue::Number).map_err(E::custom)
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<MetadataValue, E> {
        Reading::Given.integer(number.into()).map(MetadataValue::Number).map_err(E::custom)
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<MetadataValue, E> {
        Number::from_f64(number).map(MetadataValue::Number).ok_or_else(|| E::custom("must be a finite number"))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<MetadataValue, E> {
        if text.contains('\0') {
            return Err(E::custom("must be a text without U+0000"));
        }
        Ok(MetadataValue::Text(text.to_owned()))
    }
}

impl From<&str> for MetadataValue {
    fn from(text: &str) -> Self {
        MetadataValue::Text(text.to_owned())
    }
}

impl From<i64> for MetadataValue {
    fn from(number: i64) -> Self {
        MetadataValue::Number(number.into())
    }
}

impl From<bool> for MetadataValue {
    fn from(truth: bool) -> Self {
        MetadataValue::Bool(truth)
    }
}

impl JsonSchema for Metadata {
    fn schema_name() -> Cow<'static, str> {
        "Metadata".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "maxProperties": MEMBERS_MAX,
            "additionalProperties": { "type": ["string", "number", "boolean"] },
            "examples": [{ "muted": true }],
            "description": format!(
                "At most {MEMBERS_MAX} members, keys of 1 … {KEY_CHARS_MAX} printable ASCII characters that do not begin \
                 with $, values text, number or boolean, {BYTES_MAX} bytes of JSON in all."
            ),
        })
    }
}

impl Column for Metadata {
    const TYPE: ColumnType = ColumnType::Json;

    fn to_value(&self) -> Value {
        json_to_value(self)
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        let ValueRef::Text(text) = value else { return json_from_value(value) };
        let members = Reading::Stored.members(&mut serde_json::Deserializer::from_str(text));
        let members = members.map_err(|error| error.to_string())?;
        let flat = |(key, value)| MetadataValue::stored(value).map(|value| (key, value));
        members.into_iter().map(flat).collect::<Result<_, _>>().map(Self)
    }

    fn accept(value: ValueRef<'_>) -> Result<Value, String> {
        json_from_value::<Self>(value).map(|metadata| metadata.to_value())
    }

    fn write_json(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match Option::<Self>::from_value(value) {
            Ok(metadata) => json(&metadata, out),
            Err(reason) => Err(StoreError::Engine(format!("a stored value is no metadata: {reason}"))),
        }
    }
}

impl MetadataValue {
    fn stored(value: serde_json::Value) -> Result<Self, String> {
        match value {
            serde_json::Value::String(text) => Ok(Self::Text(text)),
            serde_json::Value::Number(number) => Ok(Self::Number(number)),
            serde_json::Value::Bool(truth) => Ok(Self::Bool(truth)),
            other => Err(format!("expected a string, a number or a boolean, found {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use super::*;

    fn read(json: serde_json::Value) -> Result<Metadata, String> {
        from_str(&json.to_string()).map_err(|error| error.to_string())
    }

    fn members(count: usize) -> serde_json::Value {
        (0..count).map(|at| (format!("k{at}"), json!(at))).collect::<serde_json::Map<_, _>>().into()
    }

    #[test]
    fn texts_numbers_and_booleans_come_back_as_they_were() {
        let json = json!({"a": "x", "b": 1, "c": 0.5, "d": true, "e": -3, "a key": ""});
        let metadata = read(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&metadata).unwrap(), json);
        assert_eq!(metadata.number("c"), Some(0.5));
        assert_eq!(metadata.text("a"), Some("x"));
        assert_eq!(metadata.number("a"), None);
        assert_eq!(Metadata::from_value(metadata.to_value().as_ref()).unwrap(), metadata);
    }

    #[test]
    fn nesting_and_null_are_refused() {
        for value in [json!({"a": {}}), json!({"a": [1]}), json!({"a": null}), json!([]), json!("x"), json!(null)] {
            assert!(read(value.clone()).is_err(), "{value}");
        }
        assert!(read(json!({"a": "x\0"})).is_err());
        assert!(read(json!({"x\0": 1})).is_err());
    }

    #[test]
    fn members_keys_and_bytes_are_bounded() {
        assert!(read(members(32)).is_ok());
        assert!(read(members(33)).unwrap_err().starts_with("must be an object of at most 32 members (got 33)"));
        assert!(read(json!({"a".repeat(64): 1})).is_ok());
        assert!(read(json!({"a".repeat(65): 1})).is_err());
        assert!(read(json!({"": 1})).is_err());
        // {"a":"…"} is 8 bytes around the text.
        assert!(read(json!({"a": "x".repeat(BYTES_MAX - 8)})).is_ok());
        assert!(read(json!({"a": "x".repeat(BYTES_MAX - 7)})).is_err());
    }

    #[test]
    fn a_key_that_comes_twice_is_refused() {
        let refusal = from_str::<Metadata>(r#"{"a": 1, "a": 2}"#).unwrap_err().to_string();
        assert!(refusal.starts_with("must be an object whose keys differ (got \"a\" twice)"), "{refusal}");
    }

    #[test]
    fn a_key_that_some_client_cannot_read_is_refused() {
        for key in ["größe", "$x", "$integer", "a\u{7f}"] {
            let refusal = read(json!({ key: 1 })).unwrap_err();
            assert!(refusal.starts_with("must be a member whose key has 1 to 64 printable ASCII"), "{refusal}");
            assert!(Metadata::new([(key.to_owned(), true.into())]).is_err(), "{key}");
        }
    }

    #[test]
    fn stored_metadata_loses_the_members_that_are_older_than_the_rule() {
        let full =
            format!(r#"{{"größe":1,"$integer":"AQAAAAAAIAA=","n":9007199254740993,"x":"{}"}}"#, "x".repeat(4_020));
        let stored = Value::Text(full);
        let kept = Metadata::from_value(stored.as_ref()).unwrap();
        assert_eq!(kept.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["n", "x"]);
        assert_eq!(kept.number("n"), Some(9_007_199_254_740_992.0));
        let mut written = Vec::new();
        Metadata::write_json(stored.as_ref(), &mut written).unwrap();
        assert_eq!(Value::Text(String::from_utf8(written).unwrap()), kept.to_value());
        assert!(Metadata::accept(stored.as_ref()).is_err());
    }

    #[test]
    fn merging_keeps_the_bounds() {
        let old = read(json!({"a": 1, "b": 2})).unwrap();
        let merged = old.merged(read(json!({"b": 3, "c": 4})).unwrap()).unwrap();
        assert_eq!(serde_json::to_value(merged).unwrap(), json!({"a": 1, "b": 3, "c": 4}));
        assert!(read(members(32)).unwrap().merged(read(json!({"other": 1})).unwrap()).is_err());
    }
}
