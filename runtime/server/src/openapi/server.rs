//! The routes that every server has beside one a function.

use serde_json::{Map, Value, json};

use super::common;
use convoke_calls::function::Kind;
use convoke_core::error::Code;

/// The group of these routes.
pub(super) const TAG: &str = "Server";
/// What the group is about.
pub(super) const TAG_DESCRIPTION: &str = "Calls that name their function in the body, and the server's own health.";

/// The routes with their operations. `paths` has the functions of each kind, as `module/path:function`.
pub(super) fn paths(of_kind: impl Fn(Kind) -> Vec<String>) -> Map<String, Value> {
    let mut paths = Map::new();
    for kind in [Kind::Query, Kind::Mutation, Kind::Action] {
        let named = of_kind(kind);
        if !named.is_empty() {
            paths.insert(format!("/api/{}", kind.as_str()), json!({ "post": of_body(kind, &named) }));
        }
    }
    paths.insert("/healthz".to_owned(), json!({ "get": alive() }));
    paths.insert("/readyz".to_owned(), json!({ "get": ready() }));
    paths
}

fn of_body(kind: Kind, functions: &[String]) -> Value {
    let name = kind.as_str();
    let object = json!({ "type": "object", "additionalProperties": true });
    let args = json!({
        "description": "The arguments of the function that `path` names: an object, or an array that holds it.",
        "oneOf": [object, { "type": "array", "items": object, "minItems": 1, "maxItems": 1 }],
    });
    let path = json!({
        "type": "string", "enum": functions,
        "description": "The function, as `module/path:function`; `module/path/function` means the same.",
    });
    let codes: Vec<Code> = Code::ALL.iter().copied().filter(|code| code.status() == 200).collect();
    let anything = json!({ "nullable": true, "description": "What the function returns." });
    let mut responses = Map::new();
    let content = json!({ "schema": { "oneOf": [common::success(anything), common::refused(&codes)] } });
    responses.insert(
        "200".to_owned(),
        json!({
            "description": "The function was called: its result, or its refusal.",
            "headers": { "X-Request-Id": common::header("RequestId") },
            "content": { "application/json": content },
        }),
    );
    common::add_refusals(&mut responses);
    let members = Map::from_iter([("path".to_owned(), path)]);
    let example = json!({ "path": functions.first(), "args": {} });
    json!({
        "tags": [TAG],
        "operationId": format!("server_{name}"),
        "summary": format!("Runs the {name} that the body names"),
        "description": format!("As `POST /api/run/…` of that function, which must be of the kind {name}."),
        "x-convoke-kind": name,
        "security": common::security(),
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": common::call(args, members), "example": example } },
        },
        "responses": responses,
    })
}

fn alive() -> Value {
    json!({
        "tags": [TAG],
        "operationId": "server_healthz",
        "summary": "Whether the process lives",
        "security": [],
        "responses": { "200": state("It lives.", "ok") },
    })
}

fn ready() -> Value {
    let mut not = state("Starting, stopping, or the store takes no writes.", "not ready");
    let schema = &mut not["content"]["application/json"]["schema"];
    schema["properties"]["reason"] = json!({ "type": "string", "description": "Why, in one sentence." });
    schema["required"] = json!(["status", "reason"]);
    not["content"]["application/json"]["example"]["reason"] = "The server is shutting down.".into();
    not["headers"]["Retry-After"] = common::header("RetryAfter");
    json!({
        "tags": [TAG],
        "operationId": "server_readyz",
        "summary": "Whether a call would be served now",
        "security": [],
        "responses": { "200": state("It would.", "ready"), "503": not },
    })
}

fn state(meaning: &str, word: &str) -> Value {
    let status = json!({ "type": "string", "enum": [word], "description": "The state in one word." });
    let schema = json!({
        "type": "object", "required": ["status"], "additionalProperties": false, "properties": { "status": status },
    });
    json!({
        "description": meaning,
        "headers": { "X-Request-Id": common::header("RequestId") },
        "content": { "application/json": { "schema": schema, "example": { "status": word } } },
    })
}
