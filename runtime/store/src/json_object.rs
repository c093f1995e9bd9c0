//! JSON objects with arbitrary members, as arguments, table fields and results.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::error::StoreError;
use super::schema::table::{Column, json, json_from_value, json_to_value};
use super::value::{ColumnType, Value, ValueRef};
use convoke_core::wire::Invalid;
use convoke_core::wire::free_form::{KEY_CHARS_MAX, Reading};

/// Any JSON object of at most `BYTES_MAX` bytes whose keys every client can read.
///
/// - A key has 1 to 64 printable ASCII characters and does not begin with `$`, at any depth. No key comes twice.
/// - A number is a double: an integer that no double holds exactly is refused.
/// - A refusal is `INVALID_ARGUMENT` with the path of the member (`settings.größe`).
/// - Of a stored object, members that break these rules are left out: they were written before there was a rule.
///
/// As an argument or a field: `pub details: JsonObject<4096>`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct JsonObject<const BYTES_MAX: usize = { 16 * 1024 }>(Map<String, Json>);

impl<const BYTES_MAX: usize> JsonObject<BYTES_MAX> {
    /// Creates an object with these members.
    ///
    /// # Errors
    /// A key or a number breaks the rule, or the JSON is larger than `BYTES_MAX` bytes.
    pub fn new(members: Map<String, Json>) -> Result<Self, Invalid> {
        Reading::Given.members(&Json::Object(members)).map_err(refused).and_then(Self::bounded)
    }

    /// Returns the members.
    pub fn members(&self) -> &Map<String, Json> {
        &self.0
    }

    fn bounded(members: Map<String, Json>) -> Result<Self, Invalid> {
        let bytes = serde_json::to_vec(&members).map_or(usize::MAX, |json| json.len());
        if bytes > BYTES_MAX {
            return Err(Invalid::must_be(format_args!("an object of at most {BYTES_MAX} bytes of JSON"), bytes));
        }
        Ok(Self(members))
    }
}

fn refused(error: serde_json::Error) -> Invalid {
    Invalid::new(error.to_string())
}

impl<'de, const BYTES_MAX: usize> Deserialize<'de> for JsonObject<BYTES_MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::bounded(Reading::Given.members(deserializer)?).map_err(D::Error::custom)
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
            "description": format!(
                "Any object of at most {BYTES_MAX} bytes of JSON. A key has 1 to {KEY_CHARS_MAX} printable ASCII \
                 characters and does not begin with $."
            ),
        })
    }
}

impl<const BYTES_MAX: usize> Column for JsonObject<BYTES_MAX> {
    const TYPE: ColumnType = ColumnType::Json;

    fn to_value(&self) -> Value {
        json_to_value(self)
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        match value {
            ValueRef::Text(text) => {
                let members = Reading::Stored.members(&mut serde_json::Deserializer::from_str(text));
                members.map(Self).map_err(|error| error.to_string())
            }
            other => json_from_value(other),
        }
    }

    fn accept(value: ValueRef<'_>) -> Result<Value, String> {
        json_from_value::<Self>(value).map(|object| object.to_value())
    }

    fn write_json(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match Option::<Self>::from_value(value) {
            Ok(object) => json(&object, out),
            Err(reason) => Err(StoreError::Engine(format!("a stored value is no object: {reason}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use super::*;

    type Small = JsonObject<32>;

    #[test]
    fn object_round_trips() {
        let json = r#"{"a":[1,-2,0.5,null,true,{"b":"x"}]}"#;
        assert_eq!(serde_json::to_string(&from_str::<JsonObject<64>>(json).unwrap()).unwrap(), json);
        for other in ["[]", "1", "null", "\"x\""] {
            assert!(from_str::<Small>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn size_is_that_of_the_shortest_json() {
        assert!(from_str::<Small>(&json!({"a": "x".repeat(24)}).to_string()).is_ok());
        let refusal = from_str::<Small>(&json!({"a": "x".repeat(25)}).to_string()).unwrap_err().to_string();
        assert!(refusal.starts_with("must be an object of at most 32 bytes of JSON (got 33)"), "{refusal}");
        assert!(from_str::<Small>(&format!("{{ {} }}", " ".repeat(100))).is_ok());
    }

    #[test]
    fn duplicate_key_is_rejected_at_any_depth() {
        for json in [r#"{"a":1,"a":1}"#, r#"{"x":{"a":1,"a":1}}"#, r#"{"x":[{"a":1,"a":1}]}"#] {
            assert!(from_str::<Small>(json).is_err(), "{json}");
        }
        assert!(from_str::<Small>(r#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
        assert!(from_str::<Small>(r#"{"a":"\u0000"}"#).is_err());
    }

    #[test]
    fn invalid_stored_members_are_omitted_on_every_read() {
        let stored = Value::Text(r#"{"größe":1,"a":{"$x":1,"b":2}}"#.to_owned());
        let mut written = Vec::new();
        Small::write_json(stored.as_ref(), &mut written).unwrap();
        assert_eq!(written, br#"{"a":{"b":2}}"#);
        assert_eq!(Small::from_value(stored.as_ref()).unwrap().to_value(), Value::Text(r#"{"a":{"b":2}}"#.to_owned()));
        assert!(Small::check(stored.as_ref()).is_ok(), "an archive of such rows can be imported");
        assert!(Small::accept(stored.as_ref()).is_err(), "such a row cannot be written now");
    }

    #[test]
    fn rule_applies_to_objects_built_in_code() {
        let object = |json: Json| JsonObject::<64>::new(json.as_object().unwrap().clone());
        assert_eq!(object(json!({"a": {"b": 1}})).unwrap().members()["a"], json!({"b": 1}));
        let refusal = object(json!({"a": {"$b": 1}})).unwrap_err();
        assert!(refusal.sentence().starts_with("must be a member whose key has 1 to 64"), "{refusal}");
        assert!(object(json!({"a": "x".repeat(64)})).is_err());
    }
}
