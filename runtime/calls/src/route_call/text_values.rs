//! Texts of a path, a query or a form as JSON: the schema of the type decides which texts are numbers or booleans, so
//! that the one reader of arguments reads them all, with its messages.

use serde_json::{Map, Value};

use convoke_core::error::{Error, Result};

/// Returns the text as a value of the schema. A text that does not fit stays a text: the reader rejects it.
pub(super) fn value(text: &str, schema: &Value) -> Value {
    let number = || {
        let number = serde_json::from_str::<Value>(text).ok()?;
        number.is_number().then_some(number)
    };
    let is = |name: &str| has_type(schema, name);
    match text {
        _ if is("string") => text.into(),
        "true" if is("boolean") => true.into(),
        "false" if is("boolean") => false.into(),
        _ if is("integer") || is("number") => number().unwrap_or_else(|| text.into()),
        _ => text.into(),
    }
}

/// Returns the members of a query or a form as an object. A member may be repeated if it is an array.
///
/// # Errors
/// `INVALID_ARGUMENT`: a member is sent twice and is not an array.
pub(super) fn object(encoded: &[u8], schema: &Value) -> Result<Value> {
    let mut object = Map::new();
    let properties = schema.get("properties");
    for (name, text) in form_urlencoded::parse(encoded) {
        let member = properties.and_then(|properties| properties.get(&*name)).unwrap_or(&Value::Null);
        match items(member) {
            Some(of_items) => match object.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(list) => list.push(value(&text, of_items)),
                other => *other = Value::Null,
            },
            None if object.contains_key(&*name) => {
                let message = format!("{name} is sent twice");
                return Err(Error::invalid_argument(name, message));
            }
            None => drop(object.insert(name.into_owned(), value(&text, member))),
        }
    }
    Ok(Value::Object(object))
}

/// Returns the schema of the items of an array.
fn items(schema: &Value) -> Option<&Value> {
    alternatives(schema).find_map(|one| one.get("items"))
}

fn has_type(schema: &Value, name: &str) -> bool {
    alternatives(schema).any(|one| match one.get("type") {
        Some(Value::String(own)) => own == name,
        Some(Value::Array(several)) => several.iter().any(|own| own == name),
        _ => name == "string" && (one.get("enum").is_some() || one.get("const").is_some_and(Value::is_string)),
    })
}

/// Returns the schema itself and the schemas of which one must fit.
fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let several = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
    std::iter::once(schema).chain(several.flatten())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_decides_the_form_of_a_text() {
        for (text, schema, expected) in [
            ("7", json!({ "type": "integer" }), json!(7)),
            ("7", json!({ "type": "string" }), json!("7")),
            ("7", json!({ "type": ["integer", "null"] }), json!(7)),
            ("-0.5", json!({ "anyOf": [{ "type": "number" }, { "type": "null" }] }), json!(-0.5)),
            ("seven", json!({ "type": "integer" }), json!("seven")),
            ("true", json!({ "type": "boolean" }), json!(true)),
            ("true", json!({}), json!("true")),
            ("[1]", json!({ "type": "integer" }), json!("[1]")),
            ("", json!({ "type": "integer" }), json!("")),
        ] {
            assert_eq!(value(text, &schema), expected, "{text} {schema}");
        }
    }

    #[test]
    fn members_are_decoded_and_only_arrays_repeat() {
        let schema = json!({ "properties": {
            "tags": { "type": "array", "items": { "type": "integer" } }, "name": { "type": "string" },
        } });
        let read = |query: &str| object(query.as_bytes(), &schema);
        assert_eq!(read("tags=1&tags=2&name=a+b%26").unwrap(), json!({ "tags": [1, 2], "name": "a b&" }));
        assert_eq!(read("").unwrap(), json!({}));
        assert_eq!(read("name=a&name=b").unwrap_err().field(), Some("name"));
    }
}
