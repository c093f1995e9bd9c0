//! The shape of a field's values as a database records it: the variants of an enum, the members of a nested value, the bounds
//! of its parts.
//!
//! A shape is the JSON schema of the field's Rust type without descriptions. If the shape in code differs from the
//! recorded one, rows may have values that the type no longer accepts. [`Shape::takes_all_of`] recognizes the usual
//! changes that only widen a type. After any other change, the rows are read.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::table::FieldDef;
use crate::value::ColumnType;

/// The shape of the values of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape(Json);

impl Shape {
    /// Returns the shape of a field in code.
    pub fn of(field: &FieldDef) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut generator = settings.into_generator();
        let schema = (field.schema)(&mut generator).to_value();
        // Only a recursive type has a definition.
        let mut definitions = Definitions { all: generator.take_definitions(false), numbers: BTreeMap::new() };
        let mut shape = definitions.plain(&schema);
        let (mut named, mut done) = (Map::new(), 0);
        while let Some(name) = definitions.numbered(done) {
            let schema = definitions.all.get(&name).cloned().unwrap_or(Json::Bool(true));
            named.insert(done.to_string(), definitions.plain(&schema));
            done += 1;
        }
        if let (false, Json::Object(shape)) = (named.is_empty(), &mut shape) {
            shape.insert(DEFINITIONS.to_owned(), Json::Object(named));
        }
        Self(shape)
    }

    /// Returns true if every value of `former` certainly has this shape.
    pub fn takes_all_of(&self, former: &Shape) -> bool {
        let has_definitions = |shape: &Json| shape.get(DEFINITIONS).is_some();
        self == former || (!has_definitions(&self.0) && !has_definitions(&former.0) && takes(&self.0, &former.0))
    }

    /// Returns true if every value of the column type certainly has this shape.
    pub fn takes_every(&self, column: ColumnType) -> bool {
        let has = |keyword: &str| self.0.get(keyword).is_some();
        match column {
            ColumnType::Bool | ColumnType::Float | ColumnType::Bytes | ColumnType::Id => true,
            // The rules of a type around one value apply to input, not to stored values.
            ColumnType::Integer => self.0.get("format").is_none_or(|format| format == "int64"),
            ColumnType::Text => !["enum", "const", "oneOf", "anyOf", "allOf", "$ref"].into_iter().any(has),
            ColumnType::Json => false,
        }
    }

    /// Returns the texts of an enum; empty for any other type.
    pub fn variants(&self) -> Vec<&str> {
        self.0.get("enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect()
    }
}

const DEFINITIONS: &str = "$defs";

/// The definitions of recursive types, numbered in the order of their first use. The name of a type is therefore no
/// part of a shape.
struct Definitions {
    all: Map<String, Json>,
    numbers: BTreeMap<String, usize>,
}

impl Definitions {
    fn numbered(&self, number: usize) -> Option<String> {
        self.numbers.iter().find(|(_, own)| **own == number).map(|(name, _)| name.clone())
    }

    /// Returns a schema without descriptions, in canonical order.
    fn plain(&mut self, schema: &Json) -> Json {
        let Json::Object(schema) = schema else { return schema.clone() };
        let mut plain = Map::new();
        for (keyword, value) in schema {
            let value = match (keyword.as_str(), value) {
                (
                    "title" | "description" | "default" | "example" | "examples" | "deprecated" | "discriminator"
                    | "readOnly" | "writeOnly",
                    _,
                ) => continue,
                ("$ref", Json::String(reference)) => self.reference(reference),
                ("properties" | "patternProperties", Json::Object(members)) => {
                    Json::Object(members.iter().map(|(name, member)| (name.clone(), self.plain(member))).collect())
                }
                ("oneOf" | "anyOf" | "allOf" | "prefixItems", Json::Array(schemas)) => {
                    Json::Array(schemas.iter().map(|schema| self.plain(schema)).collect())
                }
                ("enum" | "required" | "type", Json::Array(values)) => {
                    let mut values = values.clone();
                    values.sort_by_cached_key(Json::to_string);
                    Json::Array(values)
                }
                (_, value @ Json::Object(_)) => self.plain(value),
                (_, value) => value.clone(),
            };
            plain.insert(keyword.clone(), value);
        }
        Json::Object(plain)
    }

    fn reference(&mut self, reference: &str) -> Json {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let next = self.numbers.len();
        (*self.numbers.entry(name.to_owned()).or_insert(next)).into()
    }
}

/// Returns true if every value of `old` certainly matches `new`.
fn takes(new: &Json, old: &Json) -> bool {
    if new == old || *new == Json::Bool(true) {
        return true;
    }
    let (Json::Object(new), Json::Object(old)) = (new, old) else { return false };
    let bounds = new.iter().all(|(keyword, bound)| match (keyword.as_str(), old.get(keyword)) {
        ("properties", _) => true,
        ("oneOf" | "anyOf", former) => match former.and_then(Json::as_array) {
            Some(former) => former.iter().all(|former| one_takes(bound, former)),
            None => one_takes(bound, &Json::Object(old.clone())),
        },
        (_, Some(former)) if bound == former => true,
        ("required", former) => texts(bound).all(|name| former.is_some_and(|all| texts(all).any(|own| own == name))),
        ("type", Some(former)) => {
            texts(former).all(|of| texts(bound).any(|own| own == of || (own, of) == ("number", "integer")))
        }
        ("enum", Some(former)) => list(former).iter().all(|value| list(bound).contains(value)),
        ("enum", None) => old.get("const").is_some_and(|value| list(bound).contains(value)),
        ("format", Some(former)) => bound == "int64" && (former == "int32" || former == "uint32"),
        ("maximum" | "maxLength" | "maxItems" | "maxProperties", Some(former)) => bound.as_f64() >= former.as_f64(),
        ("minimum" | "minLength" | "minItems" | "minProperties", Some(former)) => bound.as_f64() <= former.as_f64(),
        ("items" | "additionalProperties", Some(former)) => takes(bound, former),
        _ => false,
    });
    bounds && members_are_taken(new, old)
}

/// Returns true if an alternative of `all` accepts every value of `old`.
fn one_takes(all: &Json, old: &Json) -> bool {
    list(all).iter().any(|new| takes(new, old))
}

/// For two objects: returns true if the new schema accepts each possible member of an old value.
fn members_are_taken(new: &Map<String, Json>, old: &Map<String, Json>) -> bool {
    let members = |schema: &Map<String, Json>| schema.get("properties").and_then(Json::as_object).cloned();
    let is_open = |schema: &Map<String, Json>| schema.get("additionalProperties").is_none_or(|more| *more == true);
    let (new_members, old_members) = (members(new).unwrap_or_default(), members(old).unwrap_or_default());
    let is_added = |name: &String| !old_members.contains_key(name);
    let unknown_may_come = old.get("additionalProperties").is_none_or(|more| *more != false);
    old_members.iter().all(|(name, old)| new_members.get(name).map_or(is_open(new), |new| takes(new, old)))
        && !(unknown_may_come && new_members.keys().any(is_added))
}

fn list(values: &Json) -> &[Json] {
    values.as_array().map_or(std::slice::from_ref(values), Vec::as_slice)
}

fn texts(values: &Json) -> impl Iterator<Item = &str> {
    list(values).iter().filter_map(Json::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn widening_changes_are_recognized() {
        let member = |schema: Json, required: &[&str]| {
            json!({
                "type": "object", "additionalProperties": false,
                "properties": { "name": { "type": "string" }, "size": schema }, "required": required,
            })
        };
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer", "format": "int64" }));
        let one_of = |names: &[&str]| json!({ "type": "string", "enum": names });
        let or_null = |schema: &Json| json!({ "anyOf": [schema, { "type": "null" }] });
        let variant = |name: &str| json!({ "type": "object", "additionalProperties": false, "properties": { "type": { "const": name } }, "required": ["type"] });
        let place = member(number.clone(), &["name"]);
        let without_size = json!({
            "type": "object", "additionalProperties": false,
            "properties": { "name": { "type": "string" } }, "required": ["name"],
        });
        for (old, new, widens, narrows) in [
            (one_of(&["a"]), one_of(&["a", "b"]), true, false),
            (one_of(&["a", "b"]), one_of(&["a", "c"]), false, false),
            (one_of(&["a"]), text.clone(), true, false),
            (json!({ "type": "string", "maxLength": 5 }), json!({ "type": "string", "maxLength": 6 }), true, false),
            (json!({ "type": "string", "pattern": "a" }), text.clone(), true, false),
            (json!({ "type": "string", "pattern": "a" }), json!({ "type": "string", "pattern": "b" }), false, false),
            (json!({ "type": "integer", "format": "int32" }), number.clone(), true, false),
            (text.clone(), json!({ "type": ["null", "string"] }), true, false),
            (text.clone(), or_null(&text), true, false),
            (number.clone(), text.clone(), false, false),
            (without_size.clone(), place.clone(), true, false),
            (without_size, member(number.clone(), &["name", "size"]), false, false),
            (member(number.clone(), &["name", "size"]), place.clone(), true, false),
            (place.clone(), member(or_null(&number), &["name"]), true, false),
            (place.clone(), member(text.clone(), &["name"]), false, false),
            (place.clone(), json!({ "type": "object" }), true, false),
            (
                json!({ "type": "array", "items": one_of(&["a"]) }),
                json!({ "type": "array", "items": one_of(&["a", "b"]) }),
                true,
                false,
            ),
            (json!({ "oneOf": [variant("a")] }), json!({ "oneOf": [variant("b"), variant("a")] }), true, false),
            (text.clone(), json!(true), true, false),
        ] {
            assert_eq!((takes(&new, &old), takes(&old, &new)), (widens, narrows), "{old} -> {new}");
            assert!(takes(&new, &new) && takes(&old, &old));
        }
    }

    #[test]
    fn shape_is_independent_of_descriptions_and_names() {
        let plain = |schema: Json| Definitions { all: Map::new(), numbers: BTreeMap::new() }.plain(&schema);
        let schema = json!({
            "type": ["string", "null"], "description": "A size.", "title": "Size", "enum": ["s", "l", null], "default": "s",
        });
        assert_eq!(plain(schema), json!({ "type": ["null", "string"], "enum": ["l", "s", null] }));
        // A member may have the name of a keyword.
        let schema = json!({ "properties": { "title": { "type": "string", "title": "T" } }, "required": ["b", "a"] });
        assert_eq!(plain(schema), json!({ "properties": { "title": { "type": "string" } }, "required": ["a", "b"] }));
        assert_eq!(plain(json!({ "items": { "$ref": "#/$defs/Node" } })), json!({ "items": { "$ref": 0 } }));
    }
}
