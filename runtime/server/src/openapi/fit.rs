//! Validation of values against schemas, for the keywords that the document uses.

use serde_json::{Map, Value};

use super::schemas::referred;

/// Validates `value` against `schema`.
///
/// # Errors
/// The location and the reason of the first violation.
pub(super) fn check(schema: &Value, value: &Value, components: &Map<String, Value>) -> Result<(), String> {
    Checker { components }.check(schema, value, "")
}

struct Checker<'a> {
    components: &'a Map<String, Value>,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        if schema.get("$ref").is_some() {
            let target = referred(schema, self.components).ok_or_else(|| format!("{at}: has an unknown reference"))?;
            return self.check(target, value, at);
        }
        if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
            return Ok(());
        }
        if let Some(words) = list(schema, "enum")
            && !words.contains(value)
        {
            return Err(format!("{at}: {value} is not one of {}", Value::from(words.to_vec())));
        }
        for part in list(schema, "allOf").unwrap_or_default() {
            self.check(part, value, at)?;
        }
        for (key, most) in [("anyOf", usize::MAX), ("oneOf", 1)] {
            if let Some(choices) = list(schema, key) {
                let fitting = choices.iter().filter(|choice| self.check(choice, value, at).is_ok()).count();
                if fitting == 0 || fitting > most {
                    return Err(format!("{at}: matches {fitting} of the choices"));
                }
            }
        }
        self.check_type(schema, value, at)
    }

    fn check_type(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let wrong = || Err(format!("{at}: {value} is not of type {}", schema["type"]));
        match (schema.get("type").and_then(Value::as_str), value) {
            (None, _) | (Some("boolean"), Value::Bool(_)) => Ok(()),
            (Some("object"), Value::Object(members)) => self.check_object(schema, members, at),
            (Some("array"), Value::Array(items)) => {
                within(schema, "minItems", "maxItems", items.len() as f64, at)?;
                let of = schema.get("items").unwrap_or(&Value::Null);
                items.iter().enumerate().try_for_each(|(i, item)| self.check(of, item, &format!("{at}[{i}]")))
            }
            (Some("string"), Value::String(text)) => {
                within(schema, "minLength", "maxLength", text.chars().count() as f64, at)?;
                let pattern = schema.get("pattern").and_then(Value::as_str).map(regex_lite::Regex::new);
                match pattern {
                    Some(Ok(pattern)) if !pattern.is_match(text) => Err(format!("{at}: {text:?} is not {pattern}")),
                    Some(_) | None => Ok(()),
                }
            }
            (Some("integer"), Value::Number(number)) if number.is_f64() => wrong(),
            (Some("integer" | "number"), Value::Number(number)) => {
                within(schema, "minimum", "maximum", number.as_f64().unwrap_or(f64::NAN), at)
            }
            (Some(_), _) => wrong(),
        }
    }

    fn check_object(&self, schema: &Value, members: &Map<String, Value>, at: &str) -> Result<(), String> {
        within(schema, "minProperties", "maxProperties", members.len() as f64, at)?;
        for name in list(schema, "required").unwrap_or_default().iter().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                return Err(format!("{at}.{name} is missing"));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, value) in members {
            let at = format!("{at}.{name}");
            match (properties.and_then(|properties| properties.get(name)), schema.get("additionalProperties")) {
                (Some(property), _) => self.check(property, value, &at)?,
                (None, Some(Value::Bool(false))) => return Err(format!("{at} is unknown")),
                (None, Some(other @ Value::Object(_))) => self.check(other, value, &at)?,
                (None, _) => {}
            }
        }
        Ok(())
    }
}

fn list<'a>(schema: &'a Value, key: &str) -> Option<&'a [Value]> {
    schema.get(key).and_then(Value::as_array).map(Vec::as_slice)
}

fn within(schema: &Value, least: &str, most: &str, size: f64, at: &str) -> Result<(), String> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    match (bound(least), bound(most)) {
        (Some(least), _) if size < least => Err(format!("{at}: {size} is below {least}")),
        (_, Some(most)) if size > most => Err(format!("{at}: {size} is above {most}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn violation_has_its_location() {
        let components = json!({ "Id": { "type": "string", "pattern": "^a_[0-9]$" } });
        let schema = json!({
            "type": "object", "required": ["id"], "additionalProperties": false,
            "properties": {
                "id": { "$ref": "#/components/schemas/Id" },
                "many": { "type": "array", "maxItems": 1, "items": { "type": "integer", "minimum": 3 } },
                "word": { "type": "string", "enum": ["a", null], "nullable": true },
            },
        });
        let said = |value: Value| check(&schema, &value, components.as_object().unwrap()).err().unwrap_or_default();
        assert_eq!(said(json!({ "id": "a_1", "many": [3], "word": null })), "");
        assert_eq!(said(json!({})), ".id is missing");
        assert_eq!(said(json!({ "id": "a_x" })), ".id: \"a_x\" is not ^a_[0-9]$");
        assert_eq!(said(json!({ "id": "a_1", "many": [2] })), ".many[0]: 2 is below 3");
        assert_eq!(said(json!({ "id": "a_1", "many": [3, 3] })), ".many: 2 is above 1");
        assert_eq!(said(json!({ "id": "a_1", "word": "b" })), ".word: \"b\" is not one of [\"a\",null]");
        assert_eq!(said(json!({ "id": "a_1", "more": 1 })), ".more is unknown");
    }
}
