//! JSON schemas as the attributes write them.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::object::OutMember;

/// Puts a doc comment on a schema, unless there is none. A block of JSON in it becomes the schema's example.
pub fn describe(schema: &mut Schema, doc: &str) {
    let (text, example) = apart(doc);
    if !text.is_empty() {
        schema.insert("description".to_owned(), text.into());
    }
    if let Some(example) = example {
        schema.insert("examples".to_owned(), Value::Array(vec![example]));
    }
}

/// A doc comment without its first block of ```` ```json ````, and what stands in that, if it is JSON.
fn apart(doc: &str) -> (String, Option<Value>) {
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

/// The schema of an object with named members, under way.
pub struct ObjectSchema {
    doc: &'static str,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl ObjectSchema {
    /// An object without members yet.
    pub fn new(doc: &'static str) -> Self {
        Self { doc, properties: Map::new(), required: Vec::new() }
    }

    /// A member that must be there.
    #[must_use]
    pub fn required<T: OutMember>(mut self, generator: &mut SchemaGenerator, name: &str, doc: &str) -> Self {
        self.required.push(name.into());
        let schema = T::schema(generator, false);
        self.with(name, schema, doc)
    }

    /// A member that may be absent; one that comes in may also be null, one that goes out never is.
    #[must_use]
    pub fn optional<T: OutMember>(self, generator: &mut SchemaGenerator, name: &str, doc: &str) -> Self {
        let nullable = generator.contract().is_deserialize();
        let schema = T::schema(generator, nullable);
        self.with(name, schema, doc)
    }

    /// A member that stands for `default` when it is absent; one that comes in may also be null, which is the same.
    #[must_use]
    pub fn or<T: OutMember>(mut self, generator: &mut SchemaGenerator, name: &str, doc: &str, default: &T) -> Self {
        if generator.contract().is_serialize() {
            self.required.push(name.into());
        }
        let nullable = generator.contract().is_deserialize();
        let mut schema = T::schema(generator, nullable);
        if let Some(default) = default.json() {
            schema.insert("default".to_owned(), default);
        }
        self.with(name, schema, doc)
    }

    /// What the member means comes first, then what its type says of itself first (its unit, its form).
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

    /// The schema: no member beside these.
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

/// The schema of a text out of a list; `docs` says what each of them means, where it says anything.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_block_of_json_is_the_example_and_not_the_text() {
        let mut schema = Schema::default();
        describe(&mut schema, "A name.\n\n```json\n{\"a\":\n 1}\n```\n\nMore.");
        assert_eq!(schema.clone().to_value(), json!({ "description": "A name.\n\nMore.", "examples": [{ "a": 1 }] }));
        describe(&mut schema, "Broken.\n\n```json\n{…}\n```");
        assert_eq!(schema.get("description"), Some(&json!("Broken.\n\n```json\n{…}\n```")));
    }

    #[test]
    fn a_member_says_what_it_means_and_then_its_unit() {
        let mut generator = SchemaGenerator::default();
        let schema =
            ObjectSchema::new("").required::<crate::clock::Millis>(&mut generator, "at", "When it ends.").finish();
        assert_eq!(
            schema.to_value()["properties"]["at"]["description"],
            "When it ends.\n\nMilliseconds since the epoch."
        );
    }
}
