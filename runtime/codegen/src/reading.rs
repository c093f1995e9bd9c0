//! Reads the model of a client from the schemas of arguments and results.
//!
//! A type whose forms in arguments and results differ has two names ([`convoke_core::wire::forms`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use heck::ToUpperCamelCase as _;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::model::{Function, Interface, Member, NamedType, Shape, Type, Union, Usage};
use super::prose;
use convoke_calls::registry::{Registered, Registry};
use convoke_core::wire::INTEGER_MAX;
use convoke_core::wire::forms::Forms;
use convoke_core::wire::schema::id_type_name;

/// The prefix of a reference to a type.
const REFERENCE: &str = "#/$defs/";

impl Interface {
    /// Returns the interface of a program: all functions of its registry that clients can call.
    pub fn of(registry: &Registry, program: &str) -> Self {
        read(registry.all().filter(|function| function.is_callable_from_outside()), program)
    }
}

/// Reads the model of these functions.
fn read<'a>(functions: impl Iterator<Item = &'a Registered>, program: &str) -> Interface {
    let mut sent = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut returned = SchemaSettings::draft2020_12().for_serialize().into_generator();
    // The types of arguments in the form of results.
    let mut mirrored = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schemas: Vec<(&Registered, Value, Value)> = functions
        .map(|function| {
            let args = (function.def.args_schema)(&mut sent).to_value();
            (function.def.args_schema)(&mut mirrored);
            (function, args, (function.def.output_schema)(&mut returned).to_value())
        })
        .collect();
    let (sent, returned) = (definitions(&mut sent), definitions(&mut returned));
    let arguments: BTreeSet<&str> = schemas.iter().filter_map(|(_, args, _)| referred(args)).collect();
    let forms = Forms::of(REFERENCE, &arguments, &sent, &definitions(&mut mirrored));
    let mut ids = BTreeSet::new();
    let all_schemas =
        sent.values().chain(returned.values()).chain(schemas.iter().flat_map(|(_, args, output)| [args, output]));
    all_schemas.for_each(|schema| collect_ids(schema, &mut ids));
    let names = Names::of(&sent, &returned, &ids, &forms);
    let (as_sent, as_returned) = (Reader { names: &names.sent }, Reader { names: &names.returned });
    let mut types = Vec::new();
    for (name, schema) in &sent {
        let both = returned.contains_key(name) && !names.differ(name);
        types.push(as_sent.named(name, schema, if both { Usage::Both } else { Usage::In }));
    }
    for (name, schema) in &returned {
        if !sent.contains_key(name) || names.differ(name) {
            types.push(as_returned.named(name, schema, Usage::Out));
        }
    }
    let functions = schemas
        .iter()
        .map(|(function, args, output)| {
            let ty = as_sent.ty(args);
            let args = resolved(args, &sent);
            Function {
                path: function.path.to_string(),
                kind: function.def.kind,
                visibility: function.def.visibility,
                doc: prose::plain(function.def.doc),
                args: ty,
                args_optional: required(args).next().is_none(),
                keyed: args.pointer("/properties/idempotencyKey").is_some(),
                output: as_returned.ty(output),
            }
        })
        .collect();
    types.sort_by(|a, b| a.name.cmp(&b.name));
    Interface { program: program.to_owned(), types, ids, functions }
}

fn definitions(generator: &mut SchemaGenerator) -> BTreeMap<String, Value> {
    generator.take_definitions(true).into_iter().collect()
}

/// The names of the types in a client, by their names in the schemas.
struct Names {
    sent: BTreeMap<String, String>,
    returned: BTreeMap<String, String>,
}

/// Names that the clients or their languages use.
const TAKEN: &[&str] = &[
    "AbortController",
    "AbortSignal",
    "Answer",
    "Api",
    "Array",
    "ArrayBuffer",
    "AsyncGenerator",
    "Attempt",
    "Arc",
    "BTreeMap",
    "Box",
    "Boxed",
    "Call",
    "CallFailure",
    "CallOptions",
    "Client",
    "ClientErrorCode",
    "ClientOptions",
    "Code",
    "ConvexError",
    "ConvokeError",
    "Credentials",
    "Date",
    "Deserialize",
    "DeserializeOwned",
    "Duration",
    "EasyServerFunction",
    "EasyServerQuery",
    "Envelope",
    "Error",
    "ErrorCode",
    "ErrorData",
    "FailureDetails",
    "FromClosure",
    "FunctionKind",
    "FunctionReference",
    "Future",
    "Id",
    "Inner",
    "IntoFuture",
    "JsonObject",
    "JsonValue",
    "Kind",
    "Map",
    "None",
    "Number",
    "Object",
    "Ok",
    "Err",
    "Option",
    "PaginationOptions",
    "PhantomData",
    "Pin",
    "Progress",
    "Promise",
    "RandomState",
    "RawValue",
    "ReadableStream",
    "Readonly",
    "Record",
    "Refusal",
    "Reply",
    "Response",
    "Result",
    "Self",
    "Sending",
    "Serialize",
    "ServerErrorCode",
    "ServerEvent",
    "ServerFunction",
    "ServerQuery",
    "Set",
    "Some",
    "String",
    "Symbol",
    "TokenError",
    "TokenProvider",
    "TokenSource",
    "Tree",
    "Uint8Array",
    "Value",
    "Vec",
    "WatchOptions",
];

impl Names {
    /// Assigns the names. A type with a different form in results has a separate name in arguments, or in results if it
    /// is the argument type of a function.
    fn of(
        sent: &BTreeMap<String, Value>,
        returned: &BTreeMap<String, Value>,
        ids: &BTreeSet<String>,
        forms: &Forms,
    ) -> Self {
        let mut taken: BTreeSet<String> = TAKEN.iter().map(|name| (*name).to_owned()).collect();
        taken.extend(ids.iter().map(|prefix| id_type_name(prefix)));
        let mut free = |name: &str| {
            let mut name = name.to_upper_camel_case();
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            name
        };
        let all: BTreeSet<&String> = sent.keys().chain(returned.keys()).collect();
        let names: BTreeMap<String, String> = all.into_iter().map(|name| (name.clone(), free(name))).collect();
        let (mut as_sent, mut as_returned) = (names.clone(), names);
        for name in sent.keys() {
            match (forms.sent(name), forms.returned(name)) {
                (Cow::Owned(own), _) => drop(as_sent.insert(name.clone(), free(&own))),
                (Cow::Borrowed(_), Cow::Owned(own)) => drop(as_returned.insert(name.clone(), free(&own))),
                (Cow::Borrowed(_), Cow::Borrowed(_)) => {}
            }
        }
        Self { sent: as_sent, returned: as_returned }
    }

    /// True if a type has different names in arguments and results.
    fn differ(&self, name: &str) -> bool {
        self.sent.get(name) != self.returned.get(name)
    }
}

fn collect_ids(schema: &Value, ids: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            ids.extend(members.get("pattern").and_then(Value::as_str).and_then(id_prefix).map(str::to_owned));
            members.values().for_each(|value| collect_ids(value, ids));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the name of the type that a schema refers to.
fn referred(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(REFERENCE)
}

fn resolved<'a>(schema: &'a Value, definitions: &'a BTreeMap<String, Value>) -> &'a Value {
    referred(schema).and_then(|name| definitions.get(name)).unwrap_or(schema)
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Reads the schemas of arguments or of results.
struct Reader<'a> {
    names: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    fn name(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_upper_camel_case())
    }

    fn named(&self, name: &str, schema: &Value, usage: Usage) -> NamedType {
        let shape = match (self.union(schema), self.ty(schema)) {
            (Some(union), _) => Shape::Union(union),
            (None, Type::Object(members)) => Shape::Object(members),
            (None, Type::Words(words)) => Shape::Words(words),
            (None, other) => Shape::Alias(other),
        };
        NamedType { name: self.name(name), doc: description(schema), shape, usage }
    }

    /// Reads a schema as a tagged union of named objects.
    fn union(&self, schema: &Value) -> Option<Union> {
        let discriminator = schema.get("discriminator")?;
        let tag = discriminator.get("propertyName")?.as_str()?.to_owned();
        let mapping = discriminator.get("mapping")?.as_object()?;
        // The order is that of the variants, not of their texts.
        let variants = schema.get("oneOf")?.as_array()?.iter().map(|variant| {
            let reference = variant.get("$ref")?;
            let (text, _) = mapping.iter().find(|(_, target)| *target == reference)?;
            Some((text.clone(), self.name(referred(variant)?)))
        });
        Some(Union { tag, variants: variants.collect::<Option<_>>()? })
    }

    fn ty(&self, schema: &Value) -> Type {
        if let Some(name) = referred(schema) {
            return Type::Named(self.name(name));
        }
        let Value::Object(schema) = schema else { return Type::Any };
        if let Some(Value::String(word)) = schema.get("const") {
            return Type::Words(vec![word.clone()]);
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return either(words.iter().map(|word| match word {
                Value::String(word) => Type::Words(vec![word.clone()]),
                Value::Null => Type::Null,
                _ => Type::Any,
            }));
        }
        let alternatives = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
        if let Some(alternatives) = alternatives {
            return either(alternatives.iter().map(|alternative| self.ty(alternative)).collect::<Vec<_>>());
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.of_kind(kind, schema),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<_> =
                    kinds.iter().filter_map(Value::as_str).map(|kind| self.of_kind(kind, schema)).collect();
                either(kinds)
            }
            _ => Type::Any,
        }
    }

    fn of_kind(&self, kind: &str, schema: &Map<String, Value>) -> Type {
        match kind {
            "null" => Type::Null,
            "boolean" => Type::Bool,
            "integer" if is_wide(schema) => Type::Wide,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "string" if schema.get("contentEncoding").is_some_and(|encoding| encoding == "base64") => Type::Bytes,
            "string" => match schema.get("pattern").and_then(Value::as_str).and_then(id_prefix) {
                Some(prefix) => Type::Id(prefix.to_owned()),
                None => Type::Text,
            },
            "array" => match schema.get("prefixItems").and_then(Value::as_array) {
                Some(items) => Type::Tuple(items.iter().map(|item| self.ty(item)).collect()),
                None => Type::List(Box::new(schema.get("items").map_or(Type::Any, |items| self.ty(items)))),
            },
            "object" => self.object(schema),
            _ => Type::Any,
        }
    }

    fn object(&self, schema: &Map<String, Value>) -> Type {
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => Type::Object(Vec::new()),
                Some(other) => Type::Map(Box::new(self.ty(other))),
                None => Type::Map(Box::new(Type::Any)),
            };
        };
        if properties.is_empty() && !closed {
            return Type::Map(Box::new(Type::Any));
        }
        let schema = Value::Object(schema.clone());
        let needed: BTreeSet<&str> = required(&schema).collect();
        let members = properties.iter().map(|(name, member)| Member {
            name: name.clone(),
            doc: description(member),
            rule: rule(member),
            required: needed.contains(name.as_str()),
            default: member.get("default").cloned(),
            ty: self.ty(member),
        });
        Type::Object(members.collect())
    }
}

/// True if a double may not represent the integer exactly.
fn is_wide(schema: &Map<String, Value>) -> bool {
    let beyond = |bound: &Value| bound.as_i64().is_some_and(|bound| bound.unsigned_abs() > INTEGER_MAX.unsigned_abs());
    ["minimum", "maximum"].into_iter().filter_map(|key| schema.get(key)).any(beyond)
}

/// Returns the prefix in the pattern of an id's schema.
fn id_prefix(pattern: &str) -> Option<&str> {
    let prefix = pattern.strip_prefix('^')?.strip_suffix("_[0-7][0-9a-hjkmnp-tv-z]{25}$")?;
    prefix.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_').then_some(prefix)
}

/// Returns the simplest type for one of several types.
fn either(types: impl IntoIterator<Item = Type>) -> Type {
    let (mut words, mut others, mut nullable) = (Vec::new(), Vec::new(), false);
    for ty in types {
        match ty {
            Type::Null => nullable = true,
            Type::OrNull(inner) => {
                nullable = true;
                others.push(*inner);
            }
            Type::Words(more) => words.extend(more),
            other if others.contains(&other) => {}
            other => others.push(other),
        }
    }
    if !words.is_empty() {
        others.insert(0, Type::Words(words));
    }
    let ty = match others.len() {
        0 => return Type::Null,
        1 => others.remove(0),
        _ if others.contains(&Type::Any) => Type::Any,
        _ => Type::Either(others),
    };
    if nullable && ty != Type::Any { Type::OrNull(Box::new(ty)) } else { ty }
}

fn description(schema: &Value) -> String {
    prose::plain(schema.get("description").and_then(Value::as_str).unwrap_or_default())
}

/// Returns the bounds of a value in words: `13 … 120`, `1 … 64 characters`.
fn rule(schema: &Value) -> Option<String> {
    // The bounds of exact integers and of times are not useful to readers.
    const SHOWN_BOUND_MAX: f64 = 1e15;
    if schema.get("maximum").and_then(Value::as_f64).is_some_and(|most| most >= SHOWN_BOUND_MAX) {
        return None;
    }
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let range = |least: Option<f64>, most: Option<f64>, of: &str| match (least, most) {
        (None, None) => None,
        (Some(least), None) if least == 0.0 && !of.is_empty() => None,
        (Some(least), None) => Some(format!("At least {least}{of}.")),
        (None, Some(most)) => Some(format!("At most {most}{of}.")),
        (Some(least), Some(most)) if least == most => Some(format!("Exactly {least}{of}.")),
        (Some(least), Some(most)) if least == 0.0 && !of.is_empty() => Some(format!("At most {most}{of}.")),
        (Some(least), Some(most)) => Some(format!("{least} … {most}{of}.")),
    };
    range(bound("minimum"), bound("maximum"), "")
        .or_else(|| range(bound("minLength"), bound("maxLength"), " characters"))
        .or_else(|| range(bound("minItems"), bound("maxItems"), " items"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_type(schema: &Value) -> Type {
        Reader { names: &BTreeMap::new() }.ty(schema)
    }

    #[test]
    fn all_forms_of_a_schema_are_read() {
        let text = || Box::new(Type::Text);
        for (schema, ty) in [
            (json!({ "type": ["string", "null"] }), Type::OrNull(text())),
            (
                json!({ "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }] }),
                Type::OrNull(Box::new(Type::Named("A".into()))),
            ),
            (json!({ "enum": ["a", "b", null] }), Type::OrNull(Box::new(Type::Words(vec!["a".into(), "b".into()])))),
            (
                json!({ "type": "string", "pattern": "^note_op_[0-7][0-9a-hjkmnp-tv-z]{25}$" }),
                Type::Id("note_op".into()),
            ),
            (json!({ "type": "string", "pattern": "^x+$" }), Type::Text),
            (json!({ "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_i64 }), Type::Integer),
            (json!({ "type": "integer", "minimum": i64::MIN }), Type::Wide),
            (json!({ "type": "integer", "maximum": i64::MAX }), Type::Wide),
            (json!({ "type": "string", "contentEncoding": "base64" }), Type::Bytes),
            (json!({ "type": "array", "items": { "type": "string" } }), Type::List(text())),
            (
                json!({ "type": "array", "prefixItems": [{ "type": "null" }, { "type": "string" }] }),
                Type::Tuple(vec![Type::Null, Type::Text]),
            ),
            (json!({ "type": "object", "additionalProperties": { "type": "string" } }), Type::Map(text())),
            (json!({ "type": "object", "additionalProperties": false }), Type::Object(vec![])),
            (json!({ "type": "object", "additionalProperties": true }), Type::Map(Box::new(Type::Any))),
            (json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }), Type::Words(vec!["a".into(), "b".into()])),
            (
                json!({ "type": ["string", "number", "boolean"] }),
                Type::Either(vec![Type::Text, Type::Number, Type::Bool]),
            ),
            (json!({ "anyOf": [true, { "type": "null" }] }), Type::Any),
            (json!(true), Type::Any),
        ] {
            assert_eq!(read_type(&schema), ty, "{schema}");
        }
    }

    #[test]
    fn names_that_clients_use_get_an_underscore() {
        let definitions = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
        let (sent, returned): (BTreeMap<_, _>, BTreeMap<_, _>) = (definitions(&["A", "CId"]), definitions(&["Client"]));
        let forms = Forms::of(REFERENCE, &BTreeSet::new(), &sent, &sent);
        let names = Names::of(&sent, &returned, &BTreeSet::from(["c".to_owned()]), &forms);
        let pairs =
            |names: &BTreeMap<String, String>| names.iter().map(|(a, b)| format!("{a} {b}")).collect::<Vec<_>>();
        assert_eq!(pairs(&names.sent), ["A A", "CId CId_", "Client Client_"]);
        assert_eq!(pairs(&names.returned), pairs(&names.sent));
    }

    #[test]
    fn objects_with_a_discriminator_are_a_union() {
        let schema = json!({
            "oneOf": [{ "$ref": "#/$defs/EventMoved" }, { "$ref": "#/$defs/EventClosed" }],
            "discriminator": {
                "propertyName": "type",
                "mapping": { "closed": "#/$defs/EventClosed", "moved": "#/$defs/EventMoved" },
            },
        });
        let variants =
            [("moved", "EventMoved"), ("closed", "EventClosed")].map(|(text, name)| (text.into(), name.into()));
        let union = Union { tag: "type".into(), variants: variants.into() };
        assert_eq!(Reader { names: &BTreeMap::new() }.union(&schema), Some(union));
    }

    #[test]
    fn bounds_are_formatted_as_words() {
        assert_eq!(rule(&json!({ "minimum": 13, "maximum": 120 })).unwrap(), "13 … 120.");
        assert_eq!(rule(&json!({ "minLength": 1, "maxLength": 64 })).unwrap(), "1 … 64 characters.");
        assert_eq!(rule(&json!({ "maxItems": 50 })).unwrap(), "At most 50 items.");
        assert_eq!(rule(&json!({ "minimum": 0 })).unwrap(), "At least 0.");
        assert_eq!(rule(&json!({ "type": "string" })), None);
    }
}
