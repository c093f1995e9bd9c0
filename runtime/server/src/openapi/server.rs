//! The routes of every server, besides the routes of functions.

use serde_json::{Map, Value, json};

use super::common;
use convoke_calls::function::Kind;
use convoke_core::error::Code;

/// The tag of these routes.
pub(super) const TAG: &str = "Server";
pub(super) const TAG_DESCRIPTION: &str = "Calls that name their function in the body, and the server's own health.";

/// Returns the routes with their operations. `of_kind` returns the functions of a kind, as `module/path:function`.
pub(super) fn paths(of_kind: impl Fn(Kind) -> Vec<String>) -> Map<String, Value> {
    let mut paths = Map::new();
    for kind in [Kind::Query, Kind::Mutation, Kind::Action] {
        let named = of_kind(kind);
        if !named.is_empty() {
            paths.insert(format!("/api/{}", kind.as_str()), json!({ "post": of_body(kind, &named) }));
            if kind == Kind::Query {
                paths.insert("/api/query_batch".to_owned(), json!({ "post": batch(&named) }));
                paths.insert("/api/query_ts".to_owned(), json!({ "post": newest_ts() }));
                paths.insert("/api/query_at_ts".to_owned(), json!({ "post": at_ts(&named) }));
            }
        }
        if kind == Kind::Query && !named.is_empty() {
            paths.insert("/api/live".to_owned(), json!({ "get": live_one(&named), "post": live_all(&named) }));
        }
    }
    paths.insert("/healthz".to_owned(), json!({ "get": alive() }));
    paths.insert("/readyz".to_owned(), json!({ "get": ready() }));
    paths
}

/// Returns the schema of a body that names a function and its arguments, with the additional `members`.
fn named_call(functions: &[String], mut members: Map<String, Value>) -> Value {
    let object = json!({ "type": "object", "additionalProperties": true });
    let args = json!({
        "description": "The arguments of the function: an object, or an array that contains one object.",
        "oneOf": [object, { "type": "array", "items": object, "minItems": 1, "maxItems": 1 }],
    });
    members.insert("path".to_owned(), path_of(functions));
    common::call(args, members)
}

/// Returns the operation that runs a query at an earlier timestamp.
fn at_ts(functions: &[String]) -> Value {
    let mut operation = of_body(Kind::Query, functions);
    let ts = json!({ "type": "string", "description": "The text that `POST /api/query_ts` returned." });
    operation["operationId"] = "server_queryAtTs".into();
    operation["summary"] = "Runs a query at an earlier timestamp".into();
    operation["description"] = "Like `POST /api/query`, at the timestamp `ts`: all queries with the same `ts` read one \
                                state. `FAILED_PRECONDITION`: a commit after `ts` has changed rows that the query reads, \
                                `ts` is too old, or several nodes may serve the database. Then get a new `ts`, or use \
                                `POST /api/query_batch`."
        .into();
    let content = &mut operation["requestBody"]["content"]["application/json"];
    content["schema"] = named_call(functions, Map::from_iter([("ts".to_owned(), ts)]));
    content["example"]["ts"] = "AAAAAAAAAAA=".into();
    operation
}

/// Returns the operation that returns the latest timestamp.
fn newest_ts() -> Value {
    let schema = json!({
        "type": "object", "required": ["ts"],
        "properties": { "ts": { "type": "string", "description": "The timestamp of the latest commit. Opaque." } },
    });
    let mut responses = Map::new();
    responses.insert("200".to_owned(), answered("The latest timestamp.", schema, &json!({ "ts": "AAAAAAAAAAA=" })));
    common::add_refusals(&mut responses);
    json!({
        "tags": [TAG],
        "operationId": "server_queryTs",
        "summary": "Returns the timestamp of the latest commit",
        "description": "Returns the `ts` for `POST /api/query_at_ts`. It needs no body and no credentials.",
        "security": [],
        "responses": responses,
    })
}

/// Returns the operation that runs several queries on one snapshot.
fn batch(functions: &[String]) -> Value {
    let anything = json!({ "nullable": true, "description": "The result of the function." });
    let success = json!({
        "type": "object", "title": "Success", "required": ["status", "value"],
        "properties": {
            "status": { "type": "string", "enum": ["success"], "description": "Always `success`." },
            "value": anything,
        },
    });
    let results = json!({
        "type": "array", "items": { "oneOf": [success, common::refused(Code::ALL)] },
        "description": "The result or error of each query, in the order of the queries.",
    });
    let schema = json!({ "type": "object", "required": ["results"], "properties": { "results": results } });
    let answer = json!({ "results": [{ "status": "success", "value": null }] });
    let mut responses = Map::new();
    responses.insert("200".to_owned(), answered("The results of the queries.", schema, &answer));
    common::add_refusals(&mut responses);
    let queries = json!({
        "type": "array", "minItems": 1, "items": named_call(functions, Map::new()),
        "description": "The queries. The setting `live_queries_per_request_max` limits their number.",
    });
    let schema = json!({ "type": "object", "required": ["queries"], "properties": { "queries": queries } });
    let example = json!({ "queries": [{ "path": functions.first(), "args": {} }] });
    json!({
        "tags": [TAG],
        "operationId": "server_queryBatch",
        "summary": "Runs several queries on one snapshot",
        "description": "All results are of one commit. Each query has its own error; a failed query does not fail the \
                        others.",
        "security": common::security(),
        "requestBody": { "required": true, "content": { "application/json": { "schema": schema, "example": example } } },
        "responses": responses,
    })
}

/// Returns a response with this body.
fn answered(meaning: &str, schema: Value, example: &Value) -> Value {
    json!({
        "description": meaning,
        "headers": { "X-Request-Id": common::header("RequestId") },
        "content": { "application/json": { "schema": schema, "example": example } },
    })
}

fn of_body(kind: Kind, functions: &[String]) -> Value {
    let name = kind.as_str();
    let codes: Vec<Code> = Code::ALL.iter().copied().filter(|code| code.status() == 200).collect();
    let anything = json!({ "nullable": true, "description": "The result of the function." });
    let mut responses = Map::new();
    let content = json!({ "schema": { "oneOf": [common::success(anything), common::refused(&codes)] } });
    responses.insert(
        "200".to_owned(),
        json!({
            "description": "The function was called: its result or its error.",
            "headers": { "X-Request-Id": common::header("RequestId") },
            "content": { "application/json": content },
        }),
    );
    common::add_refusals(&mut responses);
    let example = json!({ "path": functions.first(), "args": {} });
    json!({
        "tags": [TAG],
        "operationId": format!("server_{name}"),
        "summary": format!("Runs a {name}"),
        "description": format!("Like `POST /api/run/…` of the function that `path` names, which must be a {name}."),
        "x-convoke-kind": name,
        "security": common::security(),
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": named_call(functions, Map::new()), "example": example } },
        },
        "responses": responses,
    })
}

/// Returns the operation for several live queries in a body.
fn live_all(functions: &[String]) -> Value {
    let query = json!({
        "type": "object", "required": ["path", "args"], "additionalProperties": true,
        "properties": {
            "path": path_of(functions),
            "args": { "type": "object", "additionalProperties": true, "description": "The arguments of the query." },
        },
    });
    let schema = json!({
        "type": "object", "required": ["queries"], "additionalProperties": true,
        "properties": {
            "queries": {
                "type": "array", "items": query, "minItems": 1,
                "description": "The queries, at most as many as the limit `live_queries_per_request_max` (64 by \
                                default). All results of one event belong to one commit.",
            },
        },
    });
    let example = json!({ "queries": [{ "path": functions.first(), "args": {} }] });
    let mut operation = live("post");
    operation["requestBody"] =
        json!({ "required": true, "content": { "application/json": { "schema": schema, "example": example } } });
    operation
}

/// Returns the operation for one live query in the URL, for `curl -N` and `EventSource`.
fn live_one(functions: &[String]) -> Value {
    let mut path = path_of(functions);
    let description = std::mem::take(&mut path["description"]);
    let args = "The arguments of the query as a JSON object; `{}` if absent.";
    let mut operation = live("get");
    operation["parameters"] = json!([
        { "name": "path", "in": "query", "required": true, "description": description, "schema": { "type": "string", "enum": functions } },
        { "name": "args", "in": "query", "required": false, "description": args, "schema": { "type": "string" }, "example": "{}" },
        last_event(),
    ]);
    operation
}

fn live(method: &str) -> Value {
    let example =
        "id: 7-3f\nevent: results\ndata: {\"results\":[{\"query\":0,\"status\":\"success\",\"value\":1}]}\n\n";
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({
            "description": "A stream that does not end by itself. The first `results` event has every query, later \
                            events have the queries whose result changed. A comment line is sent every 15 s. Before the \
                            server ends the stream it sends an `end` event with the error.",
            "headers": { "X-Request-Id": common::header("RequestId") },
            "content": { "text/event-stream": { "schema": { "type": "string" }, "example": example } },
        }),
    );
    common::add_refusals(&mut responses);
    json!({
        "tags": [TAG],
        "operationId": format!("server_live_{method}"),
        "summary": "Sends the results of queries, and each later result",
        "description": "Any query can be live. The results are server-sent events (`text/event-stream`).",
        "x-convoke-kind": Kind::Query.as_str(),
        "security": common::security(),
        "parameters": [last_event()],
        "responses": responses,
    })
}

fn last_event() -> Value {
    json!({
        "name": "Last-Event-ID", "in": "header", "required": false, "schema": { "type": "string" },
        "description": "The id of the last event that the client received: only later changes are sent.",
    })
}

fn path_of(functions: &[String]) -> Value {
    json!({
        "type": "string", "enum": functions,
        "description": "The function, as `module/path:function`; `module/path/function` means the same.",
    })
}

fn alive() -> Value {
    json!({
        "tags": [TAG],
        "operationId": "server_healthz",
        "summary": "Returns 200 while the process is alive",
        "security": [],
        "responses": { "200": state("The process is alive.", "ok") },
    })
}

fn ready() -> Value {
    let mut not = state("The server is starting or stopping, or the store rejects writes.", "not ready");
    let schema = &mut not["content"]["application/json"]["schema"];
    schema["properties"]["reason"] = json!({ "type": "string", "description": "The reason, in one sentence." });
    schema["required"] = json!(["status", "reason"]);
    not["content"]["application/json"]["example"]["reason"] = "The server is shutting down.".into();
    let mut accepts = state("The server accepts calls.", "ready");
    accepts["content"]["application/json"]["schema"]["properties"]["detail"] =
        json!({ "type": "string", "description": "A condition that needs the operator." });
    not["headers"]["Retry-After"] = common::header("RetryAfter");
    json!({
        "tags": [TAG],
        "operationId": "server_readyz",
        "summary": "Returns 200 if the server accepts calls",
        "security": [],
        "responses": { "200": accepts, "503": not },
    })
}

fn state(meaning: &str, word: &str) -> Value {
    let status = json!({ "type": "string", "enum": [word], "description": "The state in one word." });
    let schema = json!({
        "type": "object", "required": ["status"], "additionalProperties": false, "properties": { "status": status },
    });
    answered(meaning, schema, &json!({ "status": word }))
}
