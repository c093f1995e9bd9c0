//! The operation of a function: `POST /api/run/{path}`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::common;
use super::errors::{self, Rejection};
use super::examples::{self, Shown};
use super::fit;
use super::prose::Prose;
use convoke_calls::function::{Kind, Visibility};
use convoke_calls::registry::Registered;
use convoke_core::error::Code;

/// Longest summary, because lists show it on one line.
const SUMMARY_CHARS_MAX: usize = 120;

/// The inputs of an operation.
pub(super) struct Parts<'a> {
    pub(super) function: &'a Registered,
    pub(super) tag: &'a str,
    pub(super) prose: Prose,
    pub(super) args: Value,
    pub(super) result: Value,
    pub(super) components: &'a Map<String, Value>,
}

/// Returns the operation.
pub(super) fn describe(parts: &Parts<'_>) -> Value {
    let Parts { function, tag, prose, .. } = parts;
    let refusals = errors::of(&prose.errors, function.kind());
    let mut responses = Map::new();
    responses.insert("200".to_owned(), answer(parts, &refusals));
    common::add_refusals(&mut responses);
    let mut operation = json!({
        "tags": [tag],
        "operationId": function.flat_name(),
        "summary": prose.summary(),
        "description": description(function, prose, &refusals),
        "x-convoke-kind": function.kind(),
        "security": common::security(),
        "requestBody": request(parts),
        "responses": responses,
    });
    if function.kind() == Kind::Mutation {
        operation["parameters"] = json!([common::parameter("IdempotencyKey")]);
    }
    if function.def.tool {
        operation["x-convoke-tool"] = true.into();
    }
    if function.def.visibility != Visibility::Public {
        operation["x-convoke-visibility"] = json!(function.def.visibility);
    }
    operation
}

/// Returns the parts that the function's author should add.
pub(super) fn missing(operation: &Value) -> impl Iterator<Item = &'static str> {
    let summary = operation["summary"].as_str().unwrap_or_default();
    let has = |examples: &Value, name: &str| examples.get(name).is_some();
    let examples = |content: &Value| content["content"]["application/json"]["examples"].clone();
    let arguments = examples(&operation["requestBody"]);
    [
        (summary.is_empty(), "the function has no doc comment"),
        (summary.chars().count() > SUMMARY_CHARS_MAX, "the first sentence of its docs is too long for a list"),
        (arguments.as_object().is_none_or(Map::is_empty), "no example of its arguments can be generated; add one"),
        (
            !has(&examples(&operation["responses"]["200"]), "success"),
            "no example of its result can be generated; add one",
        ),
    ]
    .into_iter()
    .filter_map(|(is_missing, what)| is_missing.then_some(what))
}

fn description(function: &Registered, prose: &Prose, refusals: &[Rejection]) -> String {
    let mut text = String::new();
    let rest = prose.rest();
    if !rest.is_empty() {
        let _ = writeln!(text, "{rest}\n");
    }
    let _ = writeln!(text, "{}\n", kind(function.kind()));
    if function.def.visibility == Visibility::Admin {
        let who = if function.is_migration() {
            "For a deploy key. Users cannot call migrations, whatever their roles."
        } else {
            "For a deploy key, or a user with the role `admin`."
        };
        let _ = writeln!(text, "{who}\n");
    }
    if let Some(rights) = function.def.rights {
        let _ = writeln!(text, "Callers need the right `{rights}`.\n");
    }
    let _ = writeln!(text, "| `errorData.code` | when (HTTP 200, `status` is `error`) |\n|---|---|");
    for Rejection { code, when } in refusals {
        let _ = writeln!(text, "| `{code}` | {} |", when.replace('|', "\\|"));
    }
    text.trim_end().to_owned()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Query => "A **query**: reads one snapshot and changes nothing.",
        Kind::Mutation => "A **mutation**: one transaction, committed as a whole or not at all.",
        Kind::Action => {
            "An **action**: works outside the database, for up to several minutes, and accesses it in transactions of \
             their own."
        }
    }
}

fn request(parts: &Parts<'_>) -> Value {
    let example = |shown| json!({ "args": examples::of(&parts.args, "args", parts.components, shown) });
    let (all, required) = (example(Shown::All), example(Shown::Required));
    let shown = [("everything", "All arguments", all), ("required", "Required arguments", required)];
    let mut fitting = Map::new();
    for (name, summary, value) in shown {
        let fits = fit::check(&parts.args, &value["args"], parts.components).is_ok();
        if fits && fitting.values().all(|other: &Value| other["value"] != value) {
            fitting.insert(name.to_owned(), json!({ "summary": summary, "value": value }));
        }
    }
    json!({
        "required": true,
        "content": {
            "application/json": { "schema": common::call(parts.args.clone(), Map::new()), "examples": fitting },
        },
    })
}

fn answer(parts: &Parts<'_>, refusals: &[Rejection]) -> Value {
    let codes: Vec<Code> = refusals.iter().map(|refusal| refusal.code).collect();
    let value = examples::of(&parts.result, "value", parts.components, Shown::All);
    let mut shown = Map::new();
    if fit::check(&parts.result, &value, parts.components).is_ok() {
        let success = json!({ "status": "success", "value": value, "errorMessage": "", "errorData": {} });
        shown.insert("success".to_owned(), json!({ "summary": "A success", "value": success }));
    }
    // The function's own errors are more informative than the common ones.
    let telling = refusals.iter().find_map(|refusal| Some((refusal.code, quoted(&refusal.when)?)));
    let (code, message) = telling.unwrap_or((Code::Unauthenticated, "Authentication required"));
    let refusal = common::refused_example(code, message);
    shown.insert("refusal".to_owned(), json!({ "summary": "A rejection", "value": refusal }));
    let mut headers = json!({ "X-Request-Id": common::header("RequestId") });
    if parts.function.kind() == Kind::Mutation {
        headers["Idempotency-Replayed"] = common::header("Replayed");
    }
    json!({
        "description": "The function was called: its result or its error.",
        "headers": headers,
        "content": {
            "application/json": {
                "schema": { "oneOf": [common::success(parts.result.clone()), common::refused(&codes)] },
                "examples": shown,
            },
        },
    })
}

/// Returns the first quotation in a text.
fn quoted(text: &str) -> Option<&str> {
    text.split_once('"')?.1.split_once('"').map(|(quoted, _)| quoted)
}
