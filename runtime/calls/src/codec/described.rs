//! Navigation of a schema beside the value that it describes.

use serde_json::{Map, Value};

/// Returns the schema of a value, resolved through references, "or null", and the tag of a variant.
pub(super) fn behind<'a>(mut schema: &'a Value, definitions: &'a Map<String, Value>, value: &Value) -> &'a Value {
    loop {
        let either = || ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
        let not_null = || either()?.iter().find(|one| one.get("type").is_none_or(|kind| kind != "null"));
        let next = referred(schema, definitions).or_else(|| variant(schema, value)).or_else(not_null);
        match next {
            Some(next) => schema = next,
            None => return schema,
        }
    }
}

fn referred<'a>(schema: &Value, definitions: &'a Map<String, Value>) -> Option<&'a Value> {
    definitions.get(schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?)
}

/// Returns the schema of the variant that the tag of a value names.
fn variant<'a>(schema: &'a Value, value: &Value) -> Option<&'a Value> {
    let discriminator = schema.get("discriminator")?;
    let text = value.get(discriminator.get("propertyName")?.as_str()?)?.as_str()?;
    let target = discriminator.get("mapping")?.get(text)?;
    schema.get("oneOf")?.as_array()?.iter().find(|variant| variant.get("$ref") == Some(target))
}

/// Returns the schema of the item at an index of an array.
pub(super) fn item(schema: &Value, place: usize) -> Option<&Value> {
    let places = schema.get("prefixItems").and_then(Value::as_array);
    places.and_then(|places| places.get(place)).or_else(|| schema.get("items"))
}

/// Returns the schema of a member of an object.
pub(super) fn member<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties").and_then(|members| members.get(name)).or_else(|| schema.get("additionalProperties"))
}
