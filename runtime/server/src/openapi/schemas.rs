//! From Rust types to the components of the document.
//!
//! A type has one component, unless its input and output forms differ: a member that may be null in input is absent in
//! output. Then it has two components with two names ([`convoke_core::wire::forms`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::prose::Prose;
use convoke_calls::function::FunctionDef;
use convoke_calls::route::Parameter;
use convoke_core::wire::INTEGER_MAX;
use convoke_core::wire::forms::Forms;

/// The place of components in a document.
pub(crate) const PLACE: &str = "#/components/schemas/";

/// Collects the types of all functions.
pub(crate) struct Schemas<'a> {
    incoming: SchemaGenerator,
    outgoing: SchemaGenerator,
    /// The output forms of the types of arguments.
    mirrored: SchemaGenerator,
    /// The names of the argument types.
    arguments: BTreeSet<String>,
    functions: &'a BTreeSet<&'static str>,
}

/// The collected types by name.
pub(crate) struct Named {
    /// The content of `components.schemas`.
    pub(crate) components: Map<String, Value>,
    forms: Forms,
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(functions: &'a BTreeSet<&'static str>) -> Self {
        Self {
            incoming: SchemaSettings::openapi3().for_deserialize().into_generator(),
            outgoing: SchemaSettings::openapi3().for_serialize().into_generator(),
            mirrored: SchemaSettings::openapi3().for_serialize().into_generator(),
            arguments: BTreeSet::new(),
            functions,
        }
    }

    /// Adds a function's arguments and returns their schema. [`Named::arguments`] resolves its references.
    pub(crate) fn arguments(&mut self, function: &FunctionDef) -> Value {
        (function.args_schema)(&mut self.mirrored);
        let schema = (function.args_schema)(&mut self.incoming);
        let schema = finished(&mut self.incoming, schema, self.functions);
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix(PLACE));
        self.arguments.extend(target.map(str::to_owned));
        schema
    }

    /// Adds a function's result and returns its schema. [`Named::result`] resolves its references.
    pub(crate) fn result(&mut self, function: &FunctionDef) -> Value {
        let schema = (function.output_schema)(&mut self.outgoing);
        finished(&mut self.outgoing, schema, self.functions)
    }

    /// Returns the schema of a parameter of a route, without references.
    pub(crate) fn parameter(&self, parameter: &Parameter) -> Value {
        let settings = SchemaSettings::openapi3().for_deserialize().with(|settings| settings.inline_subschemas = true);
        let mut generator = settings.into_generator();
        let schema = (parameter.schema)(&mut generator);
        finished(&mut generator, schema, self.functions)
    }

    /// Returns all collected types.
    pub(crate) fn finish(mut self) -> Named {
        let definitions = |generator: &mut SchemaGenerator| {
            let mut definitions: BTreeMap<String, Value> = generator.take_definitions(true).into_iter().collect();
            definitions.values_mut().for_each(|schema| tidy(schema, self.functions));
            definitions
        };
        let (incoming, outgoing) = (definitions(&mut self.incoming), definitions(&mut self.outgoing));
        let arguments = self.arguments.iter().map(String::as_str).collect();
        let forms = Forms::of(PLACE, &arguments, &incoming, &definitions(&mut self.mirrored));
        let mut components = Map::new();
        for (name, mut schema) in outgoing {
            rename(&mut schema, &|name| forms.returned(name));
            components.insert(forms.returned(&name).into_owned(), schema);
        }
        for (name, mut schema) in incoming {
            rename(&mut schema, &|name| forms.sent(name));
            components.insert(forms.sent(&name).into_owned(), schema);
        }
        Named { components, forms }
    }
}

impl Named {
    /// Resolves the references of a schema of arguments.
    pub(crate) fn arguments(&self, mut schema: Value) -> Value {
        rename(&mut schema, &|name| self.forms.sent(name));
        schema
    }

    /// Resolves the references of a schema of a result.
    pub(crate) fn result(&self, mut schema: Value) -> Value {
        rename(&mut schema, &|name| self.forms.returned(name));
        schema
    }
}

/// Returns a reference to a component.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{PLACE}{name}") })
}

/// Returns the component that a schema refers to.
pub(crate) fn referred<'a>(schema: &Value, components: &'a Map<String, Value>) -> Option<&'a Value> {
    components.get(schema.get("$ref")?.as_str()?.strip_prefix(PLACE)?)
}

fn finished(generator: &mut SchemaGenerator, mut schema: schemars::Schema, functions: &BTreeSet<&str>) -> Value {
    for transform in generator.transforms_mut() {
        transform.transform(&mut schema);
    }
    let mut schema = schema.to_value();
    tidy(&mut schema, functions);
    schema
}

/// Renames every type that a schema refers to.
fn rename(schema: &mut Value, named: &dyn Fn(&str) -> Cow<'_, str>) {
    match schema {
        Value::String(target) => {
            if let Some(name) = target.strip_prefix(PLACE) {
                *target = format!("{PLACE}{}", named(name));
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                // Only these members contain references.
                match value {
                    Value::String(_) if key != "$ref" => {}
                    Value::Object(mapping) if key == "mapping" => {
                        mapping.values_mut().for_each(|target| rename(target, named));
                    }
                    other => rename(other, named),
                }
            }
        }
        Value::Array(items) => items.iter_mut().filter(|item| !item.is_string()).for_each(|item| rename(item, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Adapts a generated schema to OpenAPI 3.0, at every depth.
fn tidy(schema: &mut Value, functions: &BTreeSet<&str>) {
    let Some(members) = schema.as_object_mut() else { return };
    describe(members, functions);
    split_types(members);
    allow_null(members);
    unite_places(members);
    bound_integers(members);
    for key in ["properties", "allOf", "anyOf", "oneOf", "items", "additionalProperties", "not"] {
        match (key, members.get_mut(key)) {
            ("properties", Some(Value::Object(inner))) => {
                inner.values_mut().for_each(|schema| tidy(schema, functions));
            }
            (_, Some(Value::Array(inner))) => inner.iter_mut().for_each(|schema| tidy(schema, functions)),
            (_, Some(inner)) => tidy(inner, functions),
            (_, None) => {}
        }
    }
}

/// Converts the doc comment to Markdown.
fn describe(members: &mut Map<String, Value>, functions: &BTreeSet<&str>) {
    let Some(Value::String(doc)) = members.get("description") else { return };
    let text = Prose::of(doc, functions).text;
    members.insert("description".to_owned(), text.into());
}

/// Adds null to the values of a nullable enum: `nullable` alone does not allow it.
fn allow_null(members: &mut Map<String, Value>) {
    if members.get("nullable") == Some(&Value::Bool(true))
        && let Some(Value::Array(words)) = members.get_mut("enum")
        && !words.contains(&Value::Null)
    {
        words.push(Value::Null);
    }
}

/// Replaces the item schemas of a tuple by a choice: in 3.0, all items of an array have one schema.
fn unite_places(members: &mut Map<String, Value>) {
    let Some(Value::Array(places)) = members.get("items") else { return };
    let mut choices: Vec<Value> = Vec::new();
    for place in places {
        if !choices.contains(place) {
            choices.push(place.clone());
        }
    }
    let items = if choices.len() == 1 { choices.remove(0) } else { json!({ "anyOf": choices }) };
    members.insert("items".to_owned(), items);
}

/// Replaces several types by a choice: in 3.0, a schema has one type.
fn split_types(members: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = members.get("type") {
        let choices = types.iter().map(|one| json!({ "type": one })).collect();
        members.insert("anyOf".to_owned(), Value::Array(choices));
        members.remove("type");
    }
}

/// Sets the format and the bounds of an integer. JSON carries integers without loss only up to 2^53 − 1, and OpenAPI
/// has two integer formats.
fn bound_integers(members: &mut Map<String, Value>) {
    if members.get("type").and_then(Value::as_str) != Some("integer") {
        return;
    }
    let format = members.get("format").and_then(Value::as_str).unwrap_or_default();
    let (least, most) = match format {
        "uint8" => (0, i64::from(u8::MAX)),
        "uint16" => (0, i64::from(u16::MAX)),
        "uint32" => (0, i64::from(u32::MAX)),
        "uint" | "uint64" => (0, INTEGER_MAX),
        "int32" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (-INTEGER_MAX, INTEGER_MAX),
    };
    if format != "int32" {
        members.insert("format".to_owned(), "int64".into());
    }
    members.entry("minimum").or_insert(least.into());
    members.entry("maximum").or_insert(most.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuple_is_an_array_of_its_length_whose_items_are_a_choice() {
        let tidied = |schema: Value| {
            let mut schema = schema;
            tidy(&mut schema, &BTreeSet::new());
            schema
        };
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "number" }));
        let array = |items: Value| json!({ "type": "array", "items": items, "minItems": 2, "maxItems": 2 });
        assert_eq!(tidied(array(json!([text, number]))), array(json!({ "anyOf": [text, number] })));
        assert_eq!(tidied(array(json!([text, text]))), array(text.clone()));
        assert_eq!(tidied(array(json!([array(json!([number, number])), text]))), {
            array(json!({ "anyOf": [array(number.clone()), text] }))
        });
    }

    #[test]
    fn rename_includes_discriminators_only() {
        let schema = |name: &str| {
            let target = format!("{PLACE}{name}");
            json!({
                "oneOf": [{ "$ref": target }],
                "discriminator": { "propertyName": "type", "mapping": { "moved": target } },
                "description": "#/components/schemas/Moved",
                "enum": ["#/components/schemas/Moved"],
            })
        };
        let mut renamed = schema("Moved");
        rename(&mut renamed, &|name| format!("{name}Input").into());
        assert_eq!(renamed, schema("MovedInput"));
    }
}
