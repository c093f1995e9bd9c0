//! The whole document: OpenAPI 3.0.3, in one order whatever the order of registration, laid out for people to compare.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::operation::{self, Parts};
use super::prose::Prose;
use super::schemas::Schemas;
use super::{common, errors, fit, server};
use convoke_calls::function::{Kind, Visibility};
use convoke_calls::interface::About;
use convoke_calls::registry::{Registered, Registry};

/// What is described.
#[derive(Clone, Debug)]
pub struct Options {
    /// Functions for admins too. What a server shows has the public ones only.
    pub admin: bool,
    /// Where calls go; `/` is wherever the document came from.
    pub server: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { admin: false, server: "/".to_owned() }
    }
}

/// The description of a program's functions.
pub struct Document {
    value: Value,
    gaps: Vec<String>,
}

impl Document {
    /// Describes the functions.
    pub fn of(registry: &Registry, about: &About, options: &Options) -> Self {
        let functions: Vec<&Registered> =
            registry.all().filter(|function| is_described(function, options.admin)).collect();
        let names: BTreeSet<&'static str> = registry.all().map(|function| function.def.name).collect();
        let mut schemas = Schemas::new(&names);
        let forms: Vec<(Value, Value)> =
            functions.iter().map(|function| (schemas.arguments(function.def), schemas.result(function.def))).collect();
        let mut named = schemas.finish();
        named.components.extend(common::schemas());
        let of_kind = |kind: Kind| {
            let of_kind = functions.iter().filter(|function| function.kind() == kind);
            of_kind.map(|function| with_colon(&function.path)).collect::<Vec<_>>()
        };
        let mut paths = server::paths(of_kind);
        let (mut used, mut gaps) = (BTreeSet::new(), Vec::new());
        for (function, (args, result)) in functions.iter().zip(forms) {
            let tag = about.tag_of(&function.path);
            used.insert(tag.clone().into_owned());
            let prose = Prose::of(function.def.doc, &names);
            gaps.extend(
                errors::unread(&prose.errors)
                    .into_iter()
                    .map(|said| format!("{}: its `# Errors` says {said:?}, which names no code first", function.path)),
            );
            let (args, result) = (named.arguments(args), named.result(result));
            let parts = Parts { function, tag: &tag, prose, args, result, components: &named.components };
            let operation = operation::describe(&parts);
            gaps.extend(operation::missing(&operation).map(|what| format!("{}: {what}", function.path)));
            paths.insert(format!("/api/run/{}", function.path), json!({ "post": operation }));
        }
        for (name, schema) in &named.components {
            look_for_gaps(schema, name, &named.components, &mut gaps);
        }
        let components = json!({
            "schemas": named.components,
            "responses": common::responses(),
            "headers": common::headers(),
            "parameters": common::parameters(),
            "securitySchemes": common::security_schemes(),
        });
        let value = json!({
            "openapi": "3.0.3",
            "info": { "title": about.title, "version": about.version, "description": introduction(about) },
            "servers": [{ "url": options.server }],
            "tags": tags(about, &mut used),
            "paths": paths,
            "components": components,
        });
        Self { value, gaps }
    }

    /// The document as JSON, keys in their usual order, indented.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        write(&self.value, 0, &mut text);
        text.push('\n');
        text
    }

    /// The document as a value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What a reader would miss, each with its place: members without a word about them, examples that do not fit their
    /// type or cannot be made up, errors without a code. For an application's tests.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }
}

fn is_described(function: &Registered, admin: bool) -> bool {
    match function.def.visibility {
        Visibility::Public => true,
        Visibility::Admin => admin,
        Visibility::Internal => false,
    }
}

/// `module/path:function`.
fn with_colon(path: &str) -> String {
    path.rsplit_once('/').map_or_else(|| path.to_owned(), |(module, name)| format!("{module}:{name}"))
}

/// What holds for every call, behind what the application says of itself.
fn introduction(about: &About) -> String {
    let calls = "\
Every function is called by `POST /api/run/{module/path}/{function}` with `{\"args\": {…}}`, and answers with an envelope: \
`status` is `success` and `value` has the result, or `status` is `error` and `errorData.code` says why.

- **HTTP 200** means that the function was found and called, also when it refuses. Other statuses mean that nothing was \
called, or that the server failed; their bodies are envelopes too.
- **Members** that are not listed are refused in `args`. In results a later version may add some: ignore what you do not \
know. An optional member without a value is absent in results; in `args` it may be absent or null.
- **Times** are milliseconds since the epoch, **durations** milliseconds, **ids** texts that begin with their table's \
name. Lengths of texts count characters (Unicode scalar values).
- **Retries**: codes `RATE_LIMITED`, `TIMEOUT`, `UNAVAILABLE`, `PROVIDER_ERROR`, `TOO_MANY_REQUESTS`, `OVERLOADED` and \
`NOT_READY` may be gone later. A query can always be repeated; a mutation safely with an \
`Idempotency-Key`, or where it takes an `idempotencyKey`.
- **Credentials** are optional to the server: without any, a function runs without an identity and decides.";
    match about.description.trim() {
        "" => calls.to_owned(),
        description => format!("{description}\n\n{calls}"),
    }
}

/// Those that functions have, in the application's order, then those that it did not name.
fn tags(about: &About, used: &mut BTreeSet<String>) -> Vec<Value> {
    let named = about.tags.iter().filter(|tag| used.remove(tag.name));
    let mut tags: Vec<Value> = named.map(|tag| json!({ "name": tag.name, "description": tag.description })).collect();
    tags.extend(used.iter().map(|name| json!({ "name": name })));
    tags.push(json!({ "name": server::TAG, "description": server::TAG_DESCRIPTION }));
    tags
}

fn look_for_gaps(schema: &Value, at: &str, components: &Map<String, Value>, gaps: &mut Vec<String>) {
    let Some(members) = schema.as_object() else { return };
    if let Some(example) = members.get("example")
        && let Err(why) = fit::check(schema, example, components)
    {
        gaps.push(format!("the example of {at}{why}"));
    }
    for key in ["properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf"] {
        match (key, members.get(key)) {
            ("properties", Some(Value::Object(inner))) => {
                for (name, inner) in inner {
                    let at = format!("{at}.{name}");
                    if inner.get("description").is_none() && inner.get("$ref").is_none() {
                        gaps.push(format!("{at} has no doc comment"));
                    }
                    look_for_gaps(inner, &at, components, gaps);
                }
            }
            (_, Some(Value::Array(inner))) => inner.iter().for_each(|inner| look_for_gaps(inner, at, components, gaps)),
            (_, Some(inner)) => look_for_gaps(inner, at, components, gaps),
            (_, None) => {}
        }
    }
}

/// Keys in the order in which people read them; those that are not listed follow by name.
const ORDER: &[&str] = &[
    "openapi",
    "info",
    "servers",
    "tags",
    "paths",
    "components",
    "name",
    "in",
    "title",
    "version",
    "$ref",
    "type",
    "format",
    "nullable",
    "summary",
    "operationId",
    "description",
    "x-convoke-kind",
    "x-convoke-visibility",
    "security",
    "requestBody",
    "responses",
    "required",
    "additionalProperties",
    "properties",
    "headers",
    "content",
    "schema",
    "status",
    "value",
];

/// A line of the document is at most about so long; what fits stands on one line.
const LINE_MAX: usize = 110;

/// Writes a value with its keys in [`ORDER`]: on one line where it fits and holds no objects, else indented.
fn write(value: &Value, indent: usize, out: &mut String) {
    let is_plain = |value: &Value| !value.is_object() && !value.is_array() || is_empty(value);
    let compact = match value {
        Value::Object(members) => members.values().all(is_plain),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    // Only what holds nothing deeper is tried on one line, so that nothing is written more than twice.
    if compact {
        let start = out.len();
        write_with(value, None, indent, out);
        if is_plain(value) || out.len() - start + indent <= LINE_MAX {
            return;
        }
        out.truncate(start);
    }
    write_with(value, Some(indent + 2), indent, out);
}

/// Writes a value on one line, or its members each on a line of its own, `inner` spaces in.
fn write_with(value: &Value, inner: Option<usize>, indent: usize, out: &mut String) {
    let begin = |first: bool, out: &mut String| {
        match (first, inner) {
            (true, None) => {}
            (false, None) => out.push_str(", "),
            (_, Some(inner)) => {
                out.push_str(if first { "\n" } else { ",\n" });
                out.extend(std::iter::repeat_n(' ', inner));
            }
        };
    };
    let end = |bracket: char, out: &mut String| {
        if inner.is_some() {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
        }
        out.push(bracket);
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            let rank = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
            let mut entries: Vec<_> = members.iter().collect();
            entries.sort_by_key(|(key, _)| rank(key));
            out.push('{');
            for (place, (key, value)) in entries.into_iter().enumerate() {
                begin(place == 0, out);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(": ");
                write(value, inner.unwrap_or(indent), out);
            }
            end('}', out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                begin(place == 0, out);
                write(item, inner.unwrap_or(indent), out);
            }
            end(']', out);
        }
        plain => out.push_str(&plain.to_string()),
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_laid_out_for_people_and_says_the_same() {
        let long = "x".repeat(120);
        let value = json!({ "paths": {}, "info": { "title": "a \"b\"", "version": "1" }, "tags": [{ "name": long }] });
        let text = Document { value: value.clone(), gaps: vec![] }.to_json();
        let expected = format!(
            "{{\n  \"info\": {{\"title\": \"a \\\"b\\\"\", \"version\": \"1\"}},\n  \"tags\": [\n    {{\n      \
             \"name\": \"{long}\"\n    }}\n  ],\n  \"paths\": {{}}\n}}\n"
        );
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
