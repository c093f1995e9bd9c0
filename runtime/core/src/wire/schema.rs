//! The JSON schemas that the attributes write.

use std::borrow::Cow;

use heck::ToUpperCamelCase as _;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// Adds a doc comment to a schema, unless it is empty. A block of JSON in the comment becomes the example of the
/// schema.
pub fn describe(schema: &mut Schema, doc: &str) {
    let (text, example) = split_example(doc);
    if !text.is_empty() {
        schema.insert("description".to_owned(), text.into());
    }
    if let Some(example) = example {
        schema.insert("examples".to_owned(), Value::Array(vec![example]));
    }
}

/// Returns a doc comment without its first block of ```` ```json ````, and the content of the block if it is JSON.
fn split_example(doc: &str) -> (String, Option<Value>) {
    const START: &str = "```json\n";
    const END: &str = "\n```";
    if let Some((before, rest)) = doc.split_once(START)
        && let Some((json, after)) = rest.split_once(END)
        && let Ok(example) = serde_json::from_str(json)
    {
        let parts = [before.trim_end(), after.trim()];
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        return (text, Some(example));
    }
    (doc.to_owned(), None)
}

/// Returns the schema of a member: [`OutMember::schema`](super::object::OutMember::schema) of its type.
pub type SchemaOf = fn(&mut SchemaGenerator, bool) -> Schema;

/// A builder of the schema of an object with named members.
pub struct ObjectSchema {
    doc: &'static str,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl ObjectSchema {
    /// Creates a builder without members.
    pub fn new(doc: &'static str) -> Self {
        Self { doc, properties: Map::new(), required: Vec::new() }
    }

    /// Adds a member that always has this text: the tag of a variant.
    #[must_use]
    pub fn tag(mut self, name: &str, text: &str) -> Self {
        self.required.push(name.into());
        self.properties.insert(
            name.to_owned(),
            json!({ "type": "string", "enum": [text], "description": format!("Always `{text}`.") }),
        );
        self
    }

    /// Adds a required member.
    #[must_use]
    pub fn required(mut self, generator: &mut SchemaGenerator, name: &str, doc: &str, of: SchemaOf) -> Self {
        self.required.push(name.into());
        let schema = of(generator, false);
        self.with(name, schema, doc)
    }

    /// Adds an optional member. It may be null in arguments, but not in results.
    #[must_use]
    pub fn optional(self, generator: &mut SchemaGenerator, name: &str, doc: &str, of: SchemaOf) -> Self {
        let nullable = generator.contract().is_deserialize();
        let schema = of(generator, nullable);
        self.with(name, schema, doc)
    }

    /// Adds a member that has the value `default` if it is absent. In arguments, null means the same.
    #[must_use]
    pub fn or(
        mut self,
        generator: &mut SchemaGenerator,
        name: &str,
        doc: &str,
        of: SchemaOf,
        default: Option<Value>,
    ) -> Self {
        if generator.contract().is_serialize() {
            self.required.push(name.into());
        }
        let nullable = generator.contract().is_deserialize();
        let mut schema = of(generator, nullable);
        if let Some(default) = default {
            schema.insert("default".to_owned(), default);
        }
        self.with(name, schema, doc)
    }

    /// Adds a member. Its own description comes first, and then the first paragraph of its type's description (the
    /// unit, the form).
    fn with(mut self, name: &str, mut schema: Schema, doc: &str) -> Self {
        match schema.get("description").and_then(Value::as_str) {
            Some(of_type) if !doc.is_empty() => {
                let form = of_type.split("\n\n").next().unwrap_or_default();
                let both = format!("{doc}\n\n{form}");
                describe(&mut schema, &both);
            }
            Some(_) | None => describe(&mut schema, doc),
        }
        self.properties.insert(name.to_owned(), schema.to_value());
        self
    }

    /// Returns the schema, which allows no other members.
    pub fn finish(self) -> Schema {
        let mut schema = json_schema!({ "type": "object", "additionalProperties": false });
        schema.insert("properties".to_owned(), self.properties.into());
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), self.required.into());
        }
        describe(&mut schema, self.doc);
        schema
    }
}

/// Returns the schema of a text from a list. `docs` has their descriptions, which may be empty.
pub fn one_of(doc: &str, names: &[&str], docs: &[&str]) -> Schema {
    let mut text = doc.to_owned();
    for (name, doc) in names.iter().zip(docs).filter(|(_, doc)| !doc.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("- `{name}`: {doc}"));
    }
    let mut schema = json_schema!({ "type": "string", "enum": names });
    describe(&mut schema, &text);
    schema
}

/// A builder of the schema of a tagged union.
pub struct UnionSchema {
    doc: &'static str,
    tag: &'static str,
    variants: Vec<Value>,
    /// The references of named variants, by their tag.
    mapping: Map<String, Value>,
}

impl UnionSchema {
    /// Creates a builder without variants.
    pub fn new(doc: &'static str, tag: &'static str) -> Self {
        Self { doc, tag, variants: Vec::new(), mapping: Map::new() }
    }

    /// Adds a variant with the schema of `T`.
    #[must_use]
    pub fn variant<T: JsonSchema>(mut self, generator: &mut SchemaGenerator, text: &str) -> Self {
        let schema = generator.subschema_for::<T>().to_value();
        if let Some(reference) = schema.get("$ref") {
            self.mapping.insert(text.to_owned(), reference.clone());
        }
        self.variants.push(schema);
        self
    }

    /// Returns the schema: exactly one of the variants, with the discriminator of OpenAPI.
    pub fn finish(self) -> Schema {
        let mut discriminator = json!({ "propertyName": self.tag });
        if !self.mapping.is_empty() {
            discriminator["mapping"] = self.mapping.into();
        }
        let mut schema = json_schema!({ "oneOf": self.variants, "discriminator": discriminator });
        describe(&mut schema, self.doc);
        schema
    }
}

/// A named type of the schemas, which the attributes submit and the start collects.
pub struct SubmittedType {
    /// Returns the name.
    pub name: fn() -> Cow<'static, str>,
    /// The path of the type in Rust.
    pub id: &'static str,
    /// The file of the type.
    pub file: &'static str,
    /// The line in the file.
    pub line: u32,
}
inventory::collect!(SubmittedType);

/// Returns the name of a type in clients and in OpenAPI: the modules below the crate, and then the type.
pub fn type_name(module: &str, name: &str) -> String {
    let modules = module.split("::").skip(1).map(|module| module.trim_start_matches("r#").to_upper_camel_case());
    modules.chain([name.to_owned()]).collect()
}

/// Returns the name of the type of a table's rows.
pub fn row_type_name(table: &str) -> String {
    format!("{}Row", table.to_upper_camel_case())
}

/// Returns the name of the type of the ids with this prefix.
pub fn id_type_name(prefix: &str) -> String {
    format!("{}Id", prefix.to_upper_camel_case())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::object::OutMember;

    #[test]
    fn name_of_a_type_has_its_modules_below_the_crate() {
        assert_eq!(type_name("app::meetings::web_rtc::r#type", "CreateMeeting"), "MeetingsWebRtcTypeCreateMeeting");
        assert_eq!(type_name("app", "Place"), "Place");
        assert_eq!(row_type_name("meetingParticipants"), "MeetingParticipantsRow");
        assert_eq!(id_type_name("note_op"), "NoteOpId");
    }

    #[test]
    fn block_of_json_becomes_the_example() {
        let mut schema = Schema::default();
        describe(&mut schema, "A name.\n\n```json\n{\"a\":\n 1}\n```\n\nMore.");
        assert_eq!(schema.clone().to_value(), json!({ "description": "A name.\n\nMore.", "examples": [{ "a": 1 }] }));
        describe(&mut schema, "Broken.\n\n```json\n{…}\n```");
        assert_eq!(schema.get("description"), Some(&json!("Broken.\n\n```json\n{…}\n```")));
    }

    #[test]
    fn description_of_a_member_comes_before_its_unit() {
        let mut generator = SchemaGenerator::default();
        let of = <crate::clock::Millis as OutMember>::schema;
        let schema = ObjectSchema::new("").required(&mut generator, "at", "When it ends.", of).finish();
        assert_eq!(
            schema.to_value()["properties"]["at"]["description"],
            "When it ends.\n\nMilliseconds since the epoch."
        );
    }
}
