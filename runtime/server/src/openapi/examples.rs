//! Example values of schemas: the author's example if the docs of the type contain one, else a generated value.
//!
//! An author adds an example as a block of ```` ```json ```` to the docs of a type: arguments, a result, or a single
//! value. It is then the only example of the type, because a generated combination of members may violate a rule that
//! no schema states. Invalid examples are omitted and reported by [`super::Document::gaps`].
//!
//! Cursors are issued by the server and never generated.

use serde_json::{Map, Value};

use super::fit;
use super::schemas::referred;

/// The members of objects in an example.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// All members.
    All,
    /// Required members only.
    Required,
}

/// Returns an example for the `schema` of the member `name`.
pub(super) fn of(schema: &Value, name: &str, components: &Map<String, Value>, shown: Shown) -> Value {
    Generator { components, shown }.make(schema, name, 0)
}

/// Depth at which recursive types end.
const DEPTH_MAX: usize = 12;

struct Generator<'a> {
    components: &'a Map<String, Value>,
    shown: Shown,
}

impl Generator<'_> {
    fn make(&self, schema: &Value, name: &str, depth: usize) -> Value {
        if let Some(target) = referred(schema, self.components) {
            return self.make(target, name, depth);
        }
        if let Some(example) = schema.get("example")
            && fit::check(schema, example, self.components).is_ok()
        {
            return example.clone();
        }
        if is_cursor(schema) && fit::check(schema, &Value::Null, self.components).is_ok() {
            return Value::Null;
        }
        if let Some(value) = schema.get("default").or_else(|| schema.get("enum")?.get(0)) {
            return value.clone();
        }
        if let Some(one) = ["allOf", "anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.get(0)) {
            return self.make(one, name, depth);
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, name, depth),
            Some("integer") => bound(schema, "minimum").filter(|least| *least > 0.0).map_or(1.into(), whole),
            Some("number") => bound(schema, "maximum").filter(|most| *most <= 1.0).map_or(1.5.into(), |_| 0.5.into()),
            Some("boolean") => true.into(),
            Some("string") => text(schema, name),
            _ => Value::Null,
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let is_shown = |property: &Value| self.shown == Shown::All && depth < DEPTH_MAX && !is_cursor(property);
        let wanted = properties.filter(|(name, property)| required.contains(&name.as_str()) || is_shown(property));
        wanted
            .map(|(name, property)| (name.clone(), self.make(property, name, depth + 1)))
            .collect::<Map<_, _>>()
            .into()
    }

    fn array(&self, schema: &Value, name: &str, depth: usize) -> Value {
        let least = bound(schema, "minItems").unwrap_or(0.0);
        let most = bound(schema, "maxItems").unwrap_or(1.0);
        let shown = if self.shown == Shown::All && depth < DEPTH_MAX { least.max(1.0).min(most) } else { least };
        let items = schema.get("items").unwrap_or(&Value::Null);
        std::iter::repeat_with(|| self.make(items, name, depth + 1)).take(shown as usize).collect()
    }
}

/// Returns true if a schema is a cursor or a nullable cursor.
fn is_cursor(schema: &Value) -> bool {
    let is_named = |schema: &Value| {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.rsplit('/').next());
        name == Some("Cursor")
    };
    let choices = ["allOf", "anyOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    is_named(schema) || choices.into_iter().any(is_named)
}

fn bound(schema: &Value, key: &str) -> Option<f64> {
    schema.get(key).and_then(Value::as_f64)
}

fn whole(number: f64) -> Value {
    (number as i64).into()
}

/// Returns the name, extended or cut to the allowed length.
fn text(schema: &Value, name: &str) -> Value {
    let least = bound(schema, "minLength").unwrap_or(0.0) as usize;
    let most = bound(schema, "maxLength").map_or(usize::MAX, |most| most as usize);
    let mut text: String = name.chars().take(most).collect();
    while text.chars().count() < least {
        text.push('x');
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn example_is_valid_and_has_the_requested_members() {
        let components = json!({
            "Word": { "type": "string", "minLength": 8 },
            "Pair": { "type": "object", "required": ["a"], "example": { "a": "shown", "b": 7 },
                      "properties": { "a": { "type": "string" }, "b": { "type": "integer" } } },
            "Cursor": { "type": "string" },
        });
        let components = components.as_object().unwrap();
        let schema = json!({
            "type": "object", "required": ["word", "pair", "age", "from"],
            "properties": {
                "from": { "anyOf": [
                    { "$ref": "#/components/schemas/Cursor" }, { "nullable": true, "enum": [null] },
                ] },
                "until": { "$ref": "#/components/schemas/Cursor" },
                "word": { "$ref": "#/components/schemas/Word" },
                "pair": { "$ref": "#/components/schemas/Pair" },
                "age": { "type": "integer", "minimum": 13 },
                "part": { "type": "number", "maximum": 1 },
                "many": { "type": "array", "items": { "type": "boolean" } },
            },
        });
        let all = of(&schema, "args", components, Shown::All);
        assert_eq!(
            all,
            json!({ "word": "wordxxxx", "pair": { "a": "shown", "b": 7 }, "age": 13, "part": 0.5, "many": [true], "from": null })
        );
        let least = of(&schema, "args", components, Shown::Required);
        assert_eq!(least, json!({ "word": "wordxxxx", "pair": { "a": "shown", "b": 7 }, "age": 13, "from": null }));
        for example in [all, least] {
            fit::check(&schema, &example, components).unwrap();
        }
    }
}
