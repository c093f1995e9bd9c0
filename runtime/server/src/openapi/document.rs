//! The OpenAPI 3.0.3 document. Its order does not depend on the order of registration, and its layout suits diffs.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::operation::{self, Parts};
use super::prose::Prose;
use super::schemas::Schemas;
use super::{common, errors, fit, route, server};
use convoke_calls::about::About;
use convoke_calls::function::{Kind, Visibility};
use convoke_calls::registry::{Registered, Registry};

/// Options of the document.
#[derive(Clone, Debug)]
pub struct Options {
    /// True to include functions for admins. A server shows only public functions.
    pub admin: bool,
    /// The URL of the server; `/` is the origin of the document.
    pub server: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { admin: false, server: "/".to_owned() }
    }
}

/// The OpenAPI document of a program's functions.
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
        let parameters: Vec<Vec<Value>> = functions
            .iter()
            .map(|function| {
                let parameters = function.def.route.map_or(&[][..], |route| route.parameters);
                parameters.iter().map(|parameter| schemas.parameter(parameter)).collect()
            })
            .collect();
        let mut named = schemas.finish();
        named.components.extend(common::schemas());
        let of_kind = |kind: Kind| {
            let of_kind =
                functions.iter().filter(|function| function.is_callable_from_outside() && function.kind() == kind);
            of_kind.map(|function| with_colon(&function.path)).collect::<Vec<_>>()
        };
        let mut paths = server::paths(of_kind);
        let (mut used, mut gaps) = (BTreeSet::new(), Vec::new());
        for ((function, (args, result)), parameters) in functions.iter().zip(forms).zip(parameters) {
            let tag = about.tag_of(&function.path);
            used.insert(tag.clone().into_owned());
            let prose = Prose::of(function.def.doc, &names);
            gaps.extend(errors::unread(&prose.errors).into_iter().map(|said| {
                format!("{}: its `# Errors` contains {said:?}, which does not begin with a code", function.path)
            }));
            if let Some(route) = function.def.route {
                if prose.summary().is_empty() {
                    gaps.push(format!("{}: the function has no doc comment", function.path));
                }
                let (tag, named) = (&*tag, &named);
                let parts = route::Parts { function, route, tag, prose, args, result, parameters, named };
                let of_path = paths.entry(route::path(route)).or_insert_with(|| json!({}));
                of_path[route.method.to_lowercase()] = route::describe(parts);
                continue;
            }
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

    /// Writes the document as indented JSON, with the keys in their usual order.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        write(&self.value, 0, &mut text);
        text.push('\n');
        text
    }

    /// Returns the document as a value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the gaps of the documentation, for an application's tests: members without documentation, invalid or
    /// missing examples, and errors without a code. Each has its location.
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

/// Converts a path to `module/path:function`.
fn with_colon(path: &str) -> String {
    path.rsplit_once('/').map_or_else(|| path.to_owned(), |(module, name)| format!("{module}:{name}"))
}

/// Returns the description of the application, followed by the rules for all calls.
fn introduction(about: &About) -> String {
    let calls = "\
`POST /api/run/{module/path}/{function}` with `{\"args\": {…}}` calls a function. The response is an envelope: \
`status` is `success` and `value` is the result, or `status` is `error` and `errorData.code` is the reason.

- **HTTP 200** means that the function was called, even if it failed. Other statuses mean that no function was \
called or that the server failed. Their bodies are envelopes too.
- **Members** of `args` that are not listed are rejected. A later version may add members to results: ignore unknown \
members. An optional member without a value is absent in results; in `args` it may be absent or null.
- **Times** are milliseconds since the epoch, **durations** milliseconds, **ids** texts that begin with their table's \
name. Lengths of texts count characters (Unicode scalar values).
- **Retries**: codes `RATE_LIMITED`, `TIMEOUT`, `UNAVAILABLE`, `PROVIDER_ERROR`, `TOO_MANY_REQUESTS`, `OVERLOADED` and \
`NOT_READY` are temporary. A query can always be retried, a mutation only with an \
`Idempotency-Key` or an argument `idempotencyKey`.
- **Credentials** are optional: without them, a function runs without an identity and decides.";
    match about.description.trim() {
        "" => calls.to_owned(),
        description => format!("{description}\n\n{calls}"),
    }
}

/// Returns the used tags: first those of the application, in its order, then the others.
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

/// Keys in reading order. Other keys follow by name.
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
    "x-convoke-tool",
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

/// The approximate length up to which a value is written on one line.
const LINE_MAX: usize = 110;

/// Writes a value with its keys in [`ORDER`]: on one line if it fits and contains no objects, else indented.
fn write(value: &Value, indent: usize, out: &mut String) {
    let is_plain = |value: &Value| !value.is_object() && !value.is_array() || is_empty(value);
    let compact = match value {
        Value::Object(members) => members.values().all(is_plain),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    // Only flat values are tried on one line, so that nothing is written more than twice.
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

/// Writes a value on one line, or each member on a line of its own with `inner` spaces of indentation.
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
    fn layout_preserves_the_value() {
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
