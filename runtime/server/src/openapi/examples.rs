//! A value that fits a schema: the author's, where the docs of a type show one, else one made up of its bounds.
//!
//! An author shows one by a block of ```` ```json ```` in the docs of the type, be it the arguments, a result, or a
//! single value. It is then the only example of that type: a server accepts what its author shows, while a combination of
//! members that was made up may break a rule that no schema states. One that does not fit its schema is left out;
//! [`super::Document::gaps`] tells which.
//!
//! A cursor is issued by the server, so that none is made up.

use serde_json::{Map, Value};

use super::fit;
use super::schemas::referred;

/// How much of an object is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Every member.
    All,
    /// Those that must be there.
    Required,
}

/// A value for `schema`, which stands under `name`.
pub(super) fn of(schema: &Value, name: &str, components: &Map<String, Value>, shown: Shown) -> Value {
    Maker { components, shown }.make(schema, name, 0)
}

/// Types that hold themselves end here.
const DEPTH_MAX: usize = 12;

struct Maker<'a> {
    components: &'a Map<String, Value>,
    shown: Shown,
}

impl Maker<'_> {
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

/// Whether a schema is that of a cursor, as it stands or as one that may be null.
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

/// Its own name, stretched or cut to what is allowed.
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
    fn an_example_fits_and_shows_what_is_asked_for() {
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
