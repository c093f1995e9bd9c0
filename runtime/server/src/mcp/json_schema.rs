//! From the schemas of OpenAPI 3.0 to JSON Schema 2020-12, which the protocol uses.

use serde_json::{Map, Value, json};

use crate::openapi::schemas::{PLACE, referred};

/// The place of definitions in a schema that stands alone.
const DEFINITIONS: &str = "#/$defs/";

/// Returns a schema that stands alone: the definitions to which it refers are part of it. A reference at the root is
/// replaced by its target, since clients look for `"type": "object"` there.
pub(super) fn standalone(schema: &Value, components: &Map<String, Value>) -> Value {
    let mut root = converted(referred(schema, components).unwrap_or(schema));
    let mut definitions = Map::new();
    let mut pending = names(&root);
    while let Some(name) = pending.pop() {
        if let Some(component) = components.get(&name).filter(|_| !definitions.contains_key(&name)) {
            let component = converted(component);
            pending.extend(names(&component));
            definitions.insert(name, component);
        }
    }
    if !definitions.is_empty() {
        root["$defs"] = Value::Object(definitions);
    }
    root
}

/// Returns the names of the definitions to which a schema refers.
fn names(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| match value {
                Value::String(target) if key == "$ref" => {
                    target.strip_prefix(DEFINITIONS).map(str::to_owned).into_iter().collect()
                }
                value => names(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn converted(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut out = Map::new();
    let mut is_nullable = false;
    for (key, value) in members {
        let value = match (key.as_str(), value) {
            ("nullable", value) => {
                is_nullable = value == true;
                continue;
            }
            // Only OpenAPI has it; the alternatives themselves have the tag as a constant.
            ("discriminator", _) => continue,
            ("$ref", Value::String(target)) => target.replacen(PLACE, DEFINITIONS, 1).into(),
            ("example", value) => {
                out.insert("examples".to_owned(), json!([value]));
                continue;
            }
            ("properties", Value::Object(inner)) => {
                inner.iter().map(|(name, inner)| (name.clone(), converted(inner))).collect::<Map<_, _>>().into()
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(inner)) => inner.iter().map(converted).collect(),
            ("items" | "additionalProperties" | "not", inner) => converted(inner),
            (_, value) => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    match is_nullable {
        true => nullable(out),
        false => Value::Object(out),
    }
}

/// Adds null to the values of a schema. Its description stays outside of the alternatives.
fn nullable(mut members: Map<String, Value>) -> Value {
    if let Some(Value::String(kind)) = members.get("type") {
        let kinds = json!([kind, "null"]);
        members.insert("type".to_owned(), kinds);
        return Value::Object(members);
    }
    let described = members.remove("description");
    let mut choice = json!({ "anyOf": [members, { "type": "null" }] });
    if let Some(described) = described {
        choice["description"] = described;
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standalone_schema_has_its_definitions_and_null_as_a_type() {
        let components = json!({
            "Add": { "type": "object", "properties": {
                "title": { "type": "string", "nullable": true, "example": "Stand-up" },
                "place": { "allOf": [{ "$ref": "#/components/schemas/Place" }], "nullable": true, "description": "Where." },
            } },
            "Place": { "type": "object", "properties": { "within": { "$ref": "#/components/schemas/Place" } } },
            "Unused": { "type": "string" },
        });
        let schema = standalone(&json!({ "$ref": "#/components/schemas/Add" }), components.as_object().unwrap());
        assert_eq!(
            schema,
            json!({
                "type": "object", "properties": {
                    "title": { "type": ["string", "null"], "examples": ["Stand-up"] },
                    "place": {
                        "anyOf": [{ "allOf": [{ "$ref": "#/$defs/Place" }] }, { "type": "null" }],
                        "description": "Where.",
                    },
                },
                "$defs": { "Place": { "type": "object", "properties": { "within": { "$ref": "#/$defs/Place" } } } },
            })
        );
    }

    #[test]
    fn values_that_look_like_keywords_stay() {
        let schema =
            json!({ "type": "object", "default": { "nullable": true, "example": 1 }, "additionalProperties": false });
        assert_eq!(standalone(&schema, &Map::new()), schema);
        let property = json!({ "type": "object", "properties": { "nullable": { "type": "boolean" } } });
        assert_eq!(standalone(&property, &Map::new()), property);
    }
}
