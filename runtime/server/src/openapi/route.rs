//! The operation of a route: its own path and method, with the parts of the request that its extractors read.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::common;
use super::errors::{self, Rejection};
use super::prose::Prose;
use super::schemas::Named;
use convoke_calls::function::Kind;
use convoke_calls::registry::Registered;
use convoke_calls::route::{Once, RouteDef, Source, Verify};
use convoke_core::error::Code;

/// The inputs of an operation. `args` and `result` are the schemas of the body and of a JSON response, and `parameters`
/// those of the function's parameters without references.
pub(super) struct Parts<'a> {
    pub(super) function: &'a Registered,
    pub(super) route: &'a RouteDef,
    pub(super) tag: &'a str,
    pub(super) prose: Prose,
    pub(super) args: Value,
    pub(super) result: Value,
    pub(super) parameters: Vec<Value>,
    pub(super) named: &'a Named,
}

/// Returns the path as OpenAPI writes it: without the star of a parameter that matches several segments.
pub(super) fn path(route: &RouteDef) -> String {
    route.path.replace("{*", "{")
}

/// Returns the operation.
pub(super) fn describe(parts: Parts<'_>) -> Value {
    let Parts { function, route, tag, prose, .. } = &parts;
    let refusals = errors::of(&prose.errors, function.kind());
    let mut responses = Map::new();
    responses.insert("200".to_owned(), answer(&parts, &refusals));
    common::add_refusals(&mut responses);
    // A signature is no credential of HTTP, so its rejection has no challenge.
    let unauthorized: Vec<Code> = Code::ALL.iter().copied().filter(|code| code.status() == 401).collect();
    let response = |description: &str, content_type: &str, schema: Value| {
        let headers = json!({ "X-Request-Id": common::header("RequestId") });
        json!({ "description": description, "headers": headers, "content": { content_type: { "schema": schema } } })
    };
    let rejected =
        response("The signature or the credentials were rejected.", "application/json", common::refused(&unauthorized));
    responses.insert("401".to_owned(), rejected);
    responses.insert("default".to_owned(), response("Another status that the route chose.", "*/*", json!({})));
    let mut operation = json!({
        "tags": [tag],
        "operationId": function.flat_name(),
        "summary": prose.summary(),
        "description": description(route, prose, &refusals),
        "x-convoke-kind": function.kind(),
        "security": common::security(),
        "parameters": parameters(&parts),
        "responses": responses,
    });
    if let Some(body) = body(&parts) {
        operation["requestBody"] = body;
    }
    operation
}

fn description(route: &RouteDef, prose: &Prose, refusals: &[Rejection]) -> String {
    let mut text = String::new();
    let rest = prose.rest();
    if !rest.is_empty() {
        let _ = writeln!(text, "{rest}\n");
    }
    let signature = route.verify.map(|verify| match verify {
        Verify::StandardWebhooks { .. } => "The request must be signed by Standard Webhooks.".to_owned(),
        Verify::Stripe { .. } => "The request must be signed by Stripe.".to_owned(),
        Verify::Github { .. } => "The request must be signed by GitHub.".to_owned(),
        Verify::HmacSha256 { header, .. } => format!("`{header}` must have the HMAC-SHA256 of the body."),
        Verify::Own(_) => "The request must be signed.".to_owned(),
    });
    if let Some(signature) = signature {
        let _ = writeln!(text, "{signature} Otherwise the response is 401 with `INVALID_SIGNATURE`.\n");
    }
    if let Some(Once::Header(place) | Once::Json(place)) = route.once {
        let _ = writeln!(text, "A repeated delivery with the same `{place}` gets the first response for a week.\n");
    }
    let _ = writeln!(text, "| `errorData.code` | when |\n|---|---|");
    for Rejection { code, when } in refusals {
        let _ = writeln!(text, "| `{code}` | {} |", when.replace('|', "\\|"));
    }
    text.trim_end().to_owned()
}

fn parameters(parts: &Parts<'_>) -> Vec<Value> {
    let mut described = Vec::new();
    let sources = || parts.route.parameters.iter().zip(&parts.parameters);
    for name in parts.route.path_parameters() {
        let schema =
            sources().find(|(own, _)| own.source == Source::Path && own.name == name).map(|(_, schema)| schema);
        let schema = schema.cloned().unwrap_or_else(|| json!({ "type": "string" }));
        described.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    for (_, schema) in sources().filter(|(own, _)| own.source == Source::Query) {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|own| own == name));
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            described.push(json!({ "name": name, "in": "query", "required": is_required(name), "schema": member }));
        }
    }
    if let Some(Once::Header(name)) = parts.route.once {
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": 255 });
        described.push(json!({ "name": name, "in": "header", "required": true, "schema": schema }));
    } else if parts.function.kind() == Kind::Mutation {
        described.push(common::parameter("IdempotencyKey"));
    }
    described
}

fn body(parts: &Parts<'_>) -> Option<Value> {
    let source = parts.route.parameters.iter().map(|parameter| parameter.source).find(|source| source.is_body())?;
    let (content_type, schema) = match source {
        Source::Json => ("application/json", parts.named.arguments(parts.args.clone())),
        Source::Form => ("application/x-www-form-urlencoded", parts.named.arguments(parts.args.clone())),
        Source::Bytes | Source::Request | Source::Path | Source::Query | Source::Headers => ("*/*", json!({})),
    };
    let is_required = matches!(source, Source::Json | Source::Form);
    Some(json!({ "required": is_required, "content": { content_type: { "schema": schema } } }))
}

fn answer(parts: &Parts<'_>, refusals: &[Rejection]) -> Value {
    let is_whole_response = parts.result.as_object().is_none_or(Map::is_empty);
    let mut headers = json!({ "X-Request-Id": common::header("RequestId") });
    if parts.function.kind() == Kind::Mutation {
        headers["Idempotency-Replayed"] = common::header("Replayed");
    }
    let content = match is_whole_response {
        true => json!({ "*/*": { "schema": {} } }),
        false => {
            let codes: Vec<Code> = refusals.iter().map(|refusal| refusal.code).collect();
            let result = parts.named.result(parts.result.clone());
            json!({ "application/json": { "schema": { "oneOf": [result, common::refused(&codes)] } } })
        }
    };
    json!({ "description": "The result of the route, or its error.", "headers": headers, "content": content })
}
