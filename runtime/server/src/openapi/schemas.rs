//! From Rust types to the components of the document.
//!
//! A type is described once, unless what it takes is not what it gives (a member that may be null when it comes in is
//! absent when it goes out): then the arguments' form has a name of its own, with `Input` behind it.

use std::collections::BTreeSet;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::prose::Prose;
use convoke_calls::function::FunctionDef;
use convoke_core::wire::INTEGER_MAX;

const PLACE: &str = "#/components/schemas/";

/// The types of all functions, while they are collected.
pub(super) struct Schemas<'a> {
    incoming: SchemaGenerator,
    outgoing: SchemaGenerator,
    functions: &'a BTreeSet<&'static str>,
}

/// The collected types under their names.
pub(super) struct Named {
    /// What goes under `components.schemas`.
    pub(super) components: Map<String, Value>,
    /// Types of arguments that have another name than they began with.
    renamed: BTreeSet<String>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(functions: &'a BTreeSet<&'static str>) -> Self {
        Self {
            incoming: SchemaSettings::openapi3().for_deserialize().into_generator(),
            outgoing: SchemaSettings::openapi3().for_serialize().into_generator(),
            functions,
        }
    }

    /// The schema of what a function takes. Its references hold after [`Named::arguments`].
    pub(super) fn arguments(&mut self, function: &FunctionDef) -> Value {
        let schema = (function.args_schema)(&mut self.incoming);
        finished(&mut self.incoming, schema, self.functions)
    }

    /// The schema of what a function returns.
    pub(super) fn result(&mut self, function: &FunctionDef) -> Value {
        let schema = (function.output_schema)(&mut self.outgoing);
        finished(&mut self.outgoing, schema, self.functions)
    }

    /// Every type that was referred to.
    pub(super) fn finish(mut self) -> Named {
        let mut incoming = self.incoming.take_definitions(true);
        let mut components = self.outgoing.take_definitions(true);
        for schema in incoming.values_mut().chain(components.values_mut()) {
            tidy(schema, self.functions);
        }
        let mut renamed: BTreeSet<String> = incoming
            .iter()
            .filter(|(name, schema)| components.get(*name).is_some_and(|other| other != *schema))
            .map(|(name, _)| name.clone())
            .collect();
        // Whatever refers to a type of two forms has two forms itself.
        loop {
            let more: Vec<String> = incoming
                .iter()
                .filter(|(name, schema)| {
                    !renamed.contains(*name) && components.contains_key(*name) && refers_to(schema, &renamed)
                })
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                break;
            }
            renamed.extend(more);
        }
        for (name, mut schema) in incoming {
            rename(&mut schema, &renamed);
            let name = if renamed.contains(&name) { input(&name) } else { name };
            components.insert(name, schema);
        }
        Named { components, renamed }
    }
}

impl Named {
    /// Makes the references of an arguments' schema hold.
    pub(super) fn arguments(&self, mut schema: Value) -> Value {
        rename(&mut schema, &self.renamed);
        schema
    }
}

fn input(name: &str) -> String {
    format!("{name}Input")
}

/// A reference to a component.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{PLACE}{name}") })
}

/// The component that a schema refers to.
pub(super) fn referred<'a>(schema: &Value, components: &'a Map<String, Value>) -> Option<&'a Value> {
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

fn refers_to(schema: &Value, names: &BTreeSet<String>) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(target)) => target.strip_prefix(PLACE).is_some_and(|name| names.contains(name)),
            _ => refers_to(value, names),
        }),
        Value::Array(items) => items.iter().any(|item| refers_to(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn rename(schema: &mut Value, names: &BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(target) if key == "$ref" => {
                        if target.strip_prefix(PLACE).is_some_and(|name| names.contains(name)) {
                            *target = input(target);
                        }
                    }
                    other => rename(other, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What OpenAPI 3.0 and its readers ask for beyond what the generator writes, at every depth.
fn tidy(schema: &mut Value, functions: &BTreeSet<&str>) {
    let Some(members) = schema.as_object_mut() else { return };
    describe(members, functions);
    split_types(members);
    allow_null(members);
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

/// A doc comment becomes Markdown.
fn describe(members: &mut Map<String, Value>, functions: &BTreeSet<&str>) {
    let Some(Value::String(doc)) = members.get("description") else { return };
    let text = Prose::of(doc, functions).text;
    members.insert("description".to_owned(), text.into());
}

/// Where null is allowed beside a list of words, it is one of them: `nullable` alone would not let it through.
fn allow_null(members: &mut Map<String, Value>) {
    if members.get("nullable") == Some(&Value::Bool(true))
        && let Some(Value::Array(words)) = members.get_mut("enum")
        && !words.contains(&Value::Null)
    {
        words.push(Value::Null);
    }
}

/// In 3.0 a schema has one type; several are a choice.
fn split_types(members: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = members.get("type") {
        let choices = types.iter().map(|one| json!({ "type": one })).collect();
        members.insert("anyOf".to_owned(), Value::Array(choices));
        members.remove("type");
    }
}

/// JSON carries integers up to 2^53 − 1 without loss, whatever their type in Rust; OpenAPI knows two formats of them.
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
