//! The second transport, `convex_encoded_json`: values that plain JSON loses, as tagged objects.
//!
//! Integers beyond 2^53 are `{"$integer": base64 of 8 bytes, little-endian}`, bytes `{"$bytes": base64}`, NaN,
//! infinities and −0 `{"$float": base64 of 8 bytes}`; every other number is a float (`1.0`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};
use crate::wire::INTEGER_MAX;

/// Plain JSON of encoded JSON.
///
/// # Errors
/// `INVALID_ARGUMENT` with the path of a tagged object that cannot be read.
pub(crate) fn decode(json: &str) -> Result<String> {
    let value: Value = serde_json::from_str(json).map_err(Error::internal)?;
    Ok(plain(value, "")?.to_string())
}

/// Encoded JSON of plain JSON that our own functions wrote.
///
/// # Errors
/// `INTERNAL` if it is not JSON.
pub(crate) fn encode(json: &[u8]) -> Result<Vec<u8>> {
    let value: Value = serde_json::from_slice(json).map_err(Error::internal)?;
    serde_json::to_vec(&tagged(value)).map_err(Error::internal)
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
        other => Ok(other),
    }
}

fn untagged(members: &Map<String, Value>, path: &str) -> Result<Option<Value>> {
    let mut entries = members.iter();
    let (Some((tag, value)), None) = (entries.next(), entries.next()) else { return Ok(None) };
    let refuse = |expected: &str| Error::invalid(path, format!("{path}: must be {expected} in {tag}"));
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
            Some(integer) if integer.abs() > INTEGER_MAX => tag("$integer", &integer.to_le_bytes()),
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

    #[test]
    fn integers_beyond_doubles_bytes_and_minus_zero_survive() {
        let max = STANDARD.encode(i64::MAX.to_le_bytes());
        let plain = decode(&format!(r#"{{"a":{{"$integer":"{max}"}},"b":[{{"$bytes":"AQI="}}],"c":1.0}}"#)).unwrap();
        assert_eq!(plain, r#"{"a":9223372036854775807,"b":["AQI="],"c":1.0}"#);
        assert_eq!(encode(b"[9223372036854775807,1,-0.0,null]").unwrap(), {
            let zero = STANDARD.encode((-0.0f64).to_le_bytes());
            format!(r#"[{{"$integer":"{max}"}},1.0,{{"$float":"{zero}"}},null]"#).into_bytes()
        });
    }

    #[test]
    fn a_damaged_tag_is_refused_with_its_path() {
        let error = decode(r#"{"a":[{"$integer":"AQ=="}]}"#).unwrap_err();
        assert_eq!(error.field(), Some("a[0]"));
    }
}
