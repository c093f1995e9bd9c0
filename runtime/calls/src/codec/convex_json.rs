//! The second value format, `convex_encoded_json`: values that plain JSON loses, as tagged objects.
//!
//! Integers beyond 2^53 are `{"$integer": base64 of 8 bytes, little-endian}`, bytes are `{"$bytes": base64}`, and NaN,
//! infinities and −0 are `{"$float": base64 of 8 bytes}`. Every other number is a float (`1.0`), in both directions.
//!
//! The clients of this format stop reading permanently at an object with a key that they do not allow. No such object
//! is ever sent: the call fails instead, and its error names the key.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Number, Value};

use super::described;
use super::excerpt::shortened;
use convoke_core::answer::pieces::Pieces;
use convoke_core::answer::writer::Writer;
use convoke_core::error::{Error, Result};
use convoke_core::wire::INTEGER_MAX;

/// Converts encoded JSON to plain JSON.
///
/// # Errors
/// `INVALID_ARGUMENT` with the path of an unreadable tagged object.
pub(crate) fn decode(json: &str) -> Result<String> {
    let value: Value = serde_json::from_str(json).map_err(Error::internal)?;
    Ok(plain(value, "")?.to_string())
}

/// Converts plain JSON of our own functions to encoded JSON. `bytes` knows which of its strings are bytes.
///
/// # Errors
/// `FAILED_PRECONDITION` with the path of a key that clients cannot read; `INTERNAL` if it is not JSON, or exceeds the
/// limit of `out`; `OVERLOADED` if the memory budget of `out` is exhausted.
pub(crate) fn encode(json: &[u8], bytes: Option<&BytesWithin>, mut out: Writer) -> Result<Pieces> {
    let value: Value = serde_json::from_slice(json).map_err(Error::internal)?;
    require_readable(&value, &Path::Root)?;
    let value = match bytes {
        Some(bytes) => bytes.tagged(value, &bytes.schema),
        None => value,
    };
    let written = serde_json::to_writer(&mut out, &tagged(value));
    written.map_err(|error| out.failure().unwrap_or_else(|| Error::internal(error)))?;
    out.finish()
}

/// Checks that plain JSON can be encoded: for a mutation, before its commit.
pub(crate) fn require_encodable(json: &[u8]) -> Result<()> {
    require_readable(&serde_json::from_slice(json).map_err(Error::internal)?, &Path::Root)
}

/// Encodes the members of an object that is not a result: the data of an error. It omits members that clients cannot
/// read, so that clients still receive the error.
pub(crate) fn encode_members(members: &Map<String, Value>) -> Map<String, Value> {
    let readable = |(key, value): &(&String, &Value)| {
        unreadable(key).is_none() && require_readable(value, &Path::Member(&Path::Root, key)).is_ok()
    };
    members.iter().filter(readable).map(|(key, value)| (key.clone(), tagged(value.clone()))).collect()
}

/// Maximum length of a key that clients read, in characters.
const KEY_CHARS_MAX: usize = 1_024;

/// Returns the reason why clients cannot read an object with this key, if any (`validateObjectField` of npm's
/// `convex`).
fn unreadable(key: &str) -> Option<&'static str> {
    if key.starts_with('$') {
        Some("begins with $")
    } else if !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        Some("has a character that is not printable ASCII")
    } else if key.len() > KEY_CHARS_MAX {
        Some("has more than 1,024 characters")
    } else {
        None
    }
}

/// The path to a part of a value.
enum Path<'a> {
    Root,
    Item(&'a Path<'a>, usize),
    Member(&'a Path<'a>, &'a str),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Item(within, place) => write!(f, "{within}[{place}]"),
            Path::Member(Path::Root, name) => f.write_str(name),
            Path::Member(within, name) => write!(f, "{within}.{name}"),
        }
    }
}

fn require_readable(value: &Value, path: &Path<'_>) -> Result<()> {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().try_for_each(|(place, item)| require_readable(item, &Path::Item(path, place)))
        }
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            let path = Path::Member(path, key);
            match unreadable(key) {
                Some(why) => Err(unencodable(&path, why)),
                None => require_readable(value, &path),
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn unencodable(path: &Path<'_>, why: &str) -> Error {
    let path = shortened(&path.to_string());
    let message = format!(
        "The result cannot be sent as convex_encoded_json: the key at {path} {why}. Call it with the format \"json\", or \
         return a list of pairs instead of a map"
    );
    Error::failed_precondition(message).with("path", path)
}

/// The positions of bytes in the result of a function. Plain JSON has bytes as base64, like any string.
pub(crate) struct BytesWithin {
    schema: Value,
    definitions: Map<String, Value>,
}

impl BytesWithin {
    /// Returns the positions for a function's result, or `None` if there are no bytes, as for most functions.
    pub(crate) fn the_result_of(schema_of: fn(&mut SchemaGenerator) -> Schema) -> Option<Self> {
        let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let schema = schema_of(&mut generator).to_value();
        let definitions = generator.take_definitions(true);
        let has_bytes = is_somewhere(&schema) || definitions.values().any(is_somewhere);
        has_bytes.then_some(Self { schema, definitions })
    }

    /// Converts the bytes in a value to tagged objects.
    fn tagged(&self, value: Value, schema: &Value) -> Value {
        let schema = described::behind(schema, &self.definitions, &value);
        match value {
            Value::String(text) if is_bytes(schema) => {
                Value::Object(Map::from_iter([("$bytes".to_owned(), Value::String(text))]))
            }
            Value::Array(items) => {
                let each = items.into_iter().enumerate();
                each.map(|(place, value)| self.member(value, described::item(schema, place))).collect()
            }
            Value::Object(members) => {
                let each = members.into_iter();
                each.map(|(name, value)| (name.clone(), self.member(value, described::member(schema, &name)))).collect()
            }
            other => other,
        }
    }

    fn member(&self, value: Value, schema: Option<&Value>) -> Value {
        match schema {
            Some(schema) => self.tagged(value, schema),
            None => value,
        }
    }
}

fn is_bytes(schema: &Value) -> bool {
    schema.get("contentEncoding").is_some_and(|encoding| encoding == "base64")
}

/// Returns true if there are bytes in a schema.
fn is_somewhere(schema: &Value) -> bool {
    is_bytes(schema)
        || match schema {
            Value::Object(members) => members.values().any(is_somewhere),
            Value::Array(items) => items.iter().any(is_somewhere),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
}

fn plain(value: Value, path: &str) -> Result<Value> {
    match value {
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(i, item)| plain(item, &format!("{path}[{i}]")))
            .collect::<Result<_>>()
            .map(Value::Array),
        Value::Object(members) => match untagged(&members, path)? {
            Some(value) => Ok(value),
            None => members
                .into_iter()
                .map(|(key, value)| {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    Ok((key, plain(value, &path)?))
                })
                .collect::<Result<_>>()
                .map(Value::Object),
        },
        Value::Number(number) => Ok(Value::Number(float_where_large(number))),
        other => Ok(other),
    }
}

/// Converts a number without a tag: it is a float in this format, even if it is written as an integer beyond 2^53.
fn float_where_large(number: Number) -> Number {
    let is_small = number.as_i64().is_some_and(|integer| integer.unsigned_abs() <= INTEGER_MAX.unsigned_abs());
    let float = if is_small { None } else { number.as_f64().and_then(Number::from_f64) };
    float.unwrap_or(number)
}

fn untagged(members: &Map<String, Value>, path: &str) -> Result<Option<Value>> {
    let mut entries = members.iter();
    let (Some((tag, value)), None) = (entries.next(), entries.next()) else { return Ok(None) };
    let refuse = |expected: &str| Error::invalid_argument(path, format!("{path}: must be {expected} in {tag}"));
    let bytes = || value.as_str().and_then(|text| STANDARD.decode(text).ok());
    let eight = || bytes().and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
    match tag.as_str() {
        "$integer" => {
            let number = i64::from_le_bytes(eight().ok_or_else(|| refuse("8 bytes of base64"))?);
            Ok(Some(Value::from(number)))
        }
        "$float" => {
            let number = f64::from_le_bytes(eight().ok_or_else(|| refuse("8 bytes of base64"))?);
            let number = Number::from_f64(number).ok_or_else(|| refuse("a finite number"))?;
            Ok(Some(Value::Number(number)))
        }
        "$bytes" => match bytes() {
            Some(_) => Ok(Some(value.clone())),
            None => Err(refuse("base64")),
        },
        _ => Ok(None),
    }
}

fn tagged(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(tagged).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, tagged(value))).collect(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) if integer.unsigned_abs() > INTEGER_MAX.unsigned_abs() => {
                tag("$integer", &integer.to_le_bytes())
            }
            _ => match number.as_f64() {
                Some(float) if float == 0.0 && float.is_sign_negative() => tag("$float", &float.to_le_bytes()),
                Some(float) => Value::from(float),
                None => Value::Number(number),
            },
        },
        other => other,
    }
}

fn tag(name: &str, bytes: &[u8]) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), Value::String(STANDARD.encode(bytes)))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::answer::budget::Budget;

    fn encode(json: &[u8], bytes: Option<&BytesWithin>) -> Result<Vec<u8>> {
        super::encode(json, bytes, Writer::new(Budget::new(1_000_000), 10_000))
            .map(|pieces| pieces.joined().into_owned())
    }

    #[test]
    fn integers_beyond_doubles_bytes_and_minus_zero_survive() {
        let max = STANDARD.encode(i64::MAX.to_le_bytes());
        let plain = decode(&format!(r#"{{"a":{{"$integer":"{max}"}},"b":[{{"$bytes":"AQI="}}],"c":1.0}}"#)).unwrap();
        assert_eq!(plain, r#"{"a":9223372036854775807,"b":["AQI="],"c":1.0}"#);
        let min = STANDARD.encode(i64::MIN.to_le_bytes());
        assert_eq!(
            encode(b"-9223372036854775808", None).unwrap(),
            format!(r#"{{"$integer":"{min}"}}"#).as_bytes(),
            "the smallest integer, whose absolute value does not fit"
        );
        assert_eq!(encode(b"[9223372036854775807,1,-0.0,null]", None).unwrap(), {
            let zero = STANDARD.encode((-0.0f64).to_le_bytes());
            format!(r#"[{{"$integer":"{max}"}},1.0,{{"$float":"{zero}"}},null]"#).into_bytes()
        });
    }

    #[test]
    fn bytes_are_tagged_only_where_the_schema_has_them() {
        use serde_json::json;
        let bytes = || json!({ "type": "string", "contentEncoding": "base64" });
        let item = json!({ "type": "object", "properties": { "a": bytes(), "b": { "type": "string" } } });
        let within = BytesWithin {
            schema: json!({ "anyOf": [{ "type": "array", "items": { "$ref": "#/$defs/Item" } }, { "type": "null" }] }),
            definitions: Map::from_iter([("Item".to_owned(), item)]),
        };
        assert!(is_somewhere(&within.definitions["Item"]));
        assert_eq!(
            encode(br#"[{"a":"AQI=","b":"AQI="}]"#, Some(&within)).unwrap(),
            br#"[{"a":{"$bytes":"AQI="},"b":"AQI="}]"#
        );
        let variant = |text: &str, content: Value| {
            let tag = json!({ "type": "string", "enum": [text] });
            json!({ "type": "object", "properties": { "type": tag, "content": content } })
        };
        let union = BytesWithin {
            schema: json!({
                "oneOf": [{ "$ref": "#/$defs/Text" }, { "$ref": "#/$defs/File" }],
                "discriminator": {
                    "propertyName": "type",
                    "mapping": { "text": "#/$defs/Text", "file": "#/$defs/File" },
                },
            }),
            definitions: Map::from_iter([
                ("Text".to_owned(), variant("text", json!({ "type": "string" }))),
                ("File".to_owned(), variant("file", bytes())),
            ]),
        };
        let text = br#"{"type":"text","content":"AQI="}"#;
        let read = |json: &[u8]| serde_json::from_slice::<Value>(json).unwrap();
        assert_eq!(read(&encode(text, Some(&union)).unwrap()), read(text));
        assert_eq!(
            read(&encode(br#"{"type":"file","content":"AQI="}"#, Some(&union)).unwrap()),
            json!({ "type": "file", "content": { "$bytes": "AQI=" } })
        );
        let pair = BytesWithin { schema: json!({ "prefixItems": [true, bytes()] }), definitions: Map::new() };
        assert_eq!(encode(br#"["AQI=","AQI="]"#, Some(&pair)).unwrap(), br#"["AQI=",{"$bytes":"AQI="}]"#);
    }

    #[test]
    fn number_without_a_tag_round_trips_as_a_number() {
        for (sent, stored) in [
            ("9007199254740992", "9007199254740992.0"),
            ("-9223372036854775808", "-9.223372036854776e+18"),
            ("18446744073709551615", "1.8446744073709552e+19"),
            ("1e300", "1e+300"),
        ] {
            let plain = decode(&format!("{{\"n\":{sent}}}")).unwrap();
            assert_eq!(plain, format!("{{\"n\":{stored}}}"));
            assert_eq!(encode(plain.as_bytes(), None).unwrap(), plain.as_bytes());
        }
        assert_eq!(decode(r#"{"n":9007199254740991}"#).unwrap(), r#"{"n":9007199254740991}"#);
    }

    #[test]
    fn key_that_clients_cannot_read_fails_with_its_path() {
        let long = "x".repeat(1_025);
        for (key, why) in [
            ("größe", "has a character that is not printable ASCII"),
            ("a\u{7f}", "has a character that is not printable ASCII"),
            ("$map", "begins with $"),
            ("$bytes", "begins with $"),
            (&*long, "has more than 1,024 characters"),
        ] {
            let json = serde_json::json!({ "scores": [{ key: "AQI=" }] }).to_string();
            let error = encode(json.as_bytes(), None).unwrap_err();
            assert_eq!(error.code(), convoke_core::error::Code::FailedPrecondition);
            let path = shortened(&format!("scores[0].{key}"));
            assert_eq!(error.data()["path"], path);
            assert!(error.message().contains(&format!("the key at {path} {why}. ")), "{error}");
            assert_eq!(require_encodable(json.as_bytes()).unwrap_err().message(), error.message());
        }
        let good = serde_json::json!({ "": 0.5, "a b": 0.5, "x".repeat(1_024): 0.5 }).to_string();
        assert_eq!(encode(good.as_bytes(), None).unwrap(), good.as_bytes());
    }

    #[test]
    fn error_data_omits_members_that_clients_cannot_read() {
        let data = serde_json::json!({ "größe": 1, "deep": { "$x": 1 }, "field": "a", "count": 1 });
        let Value::Object(data) = data else { unreachable!("it is written as an object") };
        assert_eq!(Value::Object(encode_members(&data)), serde_json::json!({ "field": "a", "count": 1.0 }));
    }

    #[test]
    fn damaged_tag_is_rejected_with_its_path() {
        let error = decode(r#"{"a":[{"$integer":"AQ=="}]}"#).unwrap_err();
        assert_eq!(error.field(), Some("a[0]"));
    }
}
