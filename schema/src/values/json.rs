//! Objects whose members we do not know.

use std::borrow::Cow;
use std::fmt;

use convoke::table::{json_from_value, json_to_value};
use convoke::wire::Invalid;
use convoke::{Column, ColumnType, Value as Stored, ValueRef};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};

/// Any JSON object of at most `BYTES_MAX` bytes, in which no key comes twice, at no depth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct JsonObject<const BYTES_MAX: usize>(Map<String, Value>);

impl<const BYTES_MAX: usize> JsonObject<BYTES_MAX> {
    /// The object with these members.
    ///
    /// # Errors
    /// Its JSON is larger than `BYTES_MAX` bytes.
    pub fn new(members: Map<String, Value>) -> Result<Self, Invalid> {
        let bytes = serde_json::to_vec(&members).map_or(usize::MAX, |json| json.len());
        if bytes > BYTES_MAX {
            return Err(Invalid::must_be(format_args!("an object of at most {BYTES_MAX} bytes of JSON"), bytes));
        }
        Ok(Self(members))
    }

    /// The members.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl<'de, const BYTES_MAX: usize> Deserialize<'de> for JsonObject<BYTES_MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(deserializer.deserialize_map(Members)?).map_err(D::Error::custom)
    }
}

impl<const BYTES_MAX: usize> JsonSchema for JsonObject<BYTES_MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("JsonObject_{BYTES_MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": true,
            "description": format!("Any object of at most {BYTES_MAX} bytes of JSON."),
        })
    }
}

impl<const BYTES_MAX: usize> Column for JsonObject<BYTES_MAX> {
    const TYPE: ColumnType = ColumnType::Json;

    fn to_value(&self) -> Stored {
        json_to_value(self)
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        json_from_value(value)
    }
}

/// Reads the members of an object; a key that comes twice is an error, where `serde_json` would keep the last.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if key.contains('\0') {
                return Err(A::Error::custom("must be an object without U+0000"));
            }
            if members.contains_key(&key) {
                return Err(A::Error::custom(Invalid::must_be(
                    "an object whose keys differ",
                    format_args!("{key:?} twice"),
                )));
            }
            let value = map.next_value_seed(Strict)?;
            members.insert(key, value);
        }
        Ok(members)
    }
}

/// Reads any value, as strictly as its objects.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
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
    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
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
        while let Some(item) = seq.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        Members.visit_map(map).map(Value::Object)
    }
}

/// What an audit entry tells beside who, what and whom: made by the server, never by a client.
///
/// ```json
/// {"from": "participant", "to": "host"}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Details(Map<String, Value>);

impl Details {
    /// Nothing more to tell.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this member; one whose value has no JSON becomes null.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.0.insert(name.to_owned(), serde_json::to_value(value).unwrap_or_default());
        self
    }

    /// The members.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl Column for Details {
    const TYPE: ColumnType = ColumnType::Json;

    fn to_value(&self) -> Stored {
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

    type Small = JsonObject<32>;

    #[test]
    fn an_object_comes_back_as_it_was() {
        let json = r#"{"a":[1,-2,0.5,null,true,{"b":"x"}]}"#;
        assert_eq!(serde_json::to_string(&from_str::<JsonObject<64>>(json).unwrap()).unwrap(), json);
        for other in ["[]", "1", "null", "\"x\""] {
            assert!(from_str::<Small>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn its_size_is_that_of_its_shortest_json() {
        assert!(from_str::<Small>(&json!({"a": "x".repeat(24)}).to_string()).is_ok());
        let refusal = from_str::<Small>(&json!({"a": "x".repeat(25)}).to_string()).unwrap_err().to_string();
        assert!(refusal.starts_with("must be an object of at most 32 bytes of JSON (got 33)"), "{refusal}");
        assert!(from_str::<Small>(&format!("{{ {} }}", " ".repeat(100))).is_ok());
    }

    #[test]
    fn a_key_that_comes_twice_is_refused_at_any_depth() {
        for json in [r#"{"a":1,"a":1}"#, r#"{"x":{"a":1,"a":1}}"#, r#"{"x":[{"a":1,"a":1}]}"#] {
            assert!(from_str::<Small>(json).is_err(), "{json}");
        }
        assert!(from_str::<Small>(r#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
        assert!(from_str::<Small>(r#"{"a":"\u0000"}"#).is_err());
    }

    #[test]
    fn details_gather_members() {
        let details = Details::new().with("from", "participant").with("count", 2);
        assert_eq!(serde_json::to_value(&details).unwrap(), json!({"from": "participant", "count": 2}));
        assert_eq!(Details::from_value(details.to_value().as_ref()).unwrap(), details);
    }
}
