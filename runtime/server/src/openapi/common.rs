//! The parts that all operations share: envelopes, rejections and credentials.

use serde_json::{Map, Value, json};

use super::schemas::reference;
use convoke_calls::call::idempotency::KEY_CHARS_MAX;
use convoke_core::error::Code;

/// The names of the shared schemas among the types of the application.
pub(super) const REFUSAL: &str = "ConvokeRefusal";
const LOG_LINES: &str = "ConvokeLogLines";
const FORMAT: &str = "ConvokeFormat";

/// The statuses of a call other than 200, with the name of the component and the meaning.
const REFUSED: &[(u16, &str, &str)] = &[
    (400, "NotACall", "No function was called: the body or the path does not name a call."),
    (401, "CredentialsRejected", "The credentials were rejected; `WWW-Authenticate` has the reason."),
    (403, "ScopeMissing", "The deploy key is valid but lacks the scope."),
    (405, "MethodNotAllowed", "The route does not support this method; `Allow` lists its methods."),
    (413, "BodyTooLarge", "The body exceeds the server's limit."),
    (415, "NotJson", "The body is not declared as `application/json`, or is compressed."),
    (429, "TooManyRequests", "Too many calls from this address; retry after `Retry-After`."),
    (500, "InternalError", "An internal error; the server's log has the reason under the request id."),
    (503, "NotNow", "The server is overloaded, starting or stopping; retry after `Retry-After`."),
];

/// Largest number of log lines in a response. One more line has the number of dropped lines.
const LOG_LINES_MAX: usize = 256;

/// Returns the shared schemas.
pub(super) fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    schemas.insert(
        LOG_LINES.to_owned(),
        json!({
            "type": "array", "items": { "type": "string" }, "maxItems": LOG_LINES_MAX + 1,
            "description": "The log lines of the function, in order, as `[LEVEL] text`; LEVEL is one of DEBUG, \
                            INFO, WARN, ERROR.",
            "example": ["[INFO] 2 participants"],
        }),
    );
    schemas.insert(
        FORMAT.to_owned(),
        json!({
            "type": "string", "nullable": true, "enum": ["json", null], "default": "json",
            "description": "The encoding of values. `json` is plain JSON, as in this document. Clients that write integers, \
                            bytes and special numbers as objects of their own send \
                            `convex_encoded_json`.",
        }),
    );
    schemas.insert(REFUSAL.to_owned(), refusal());
    schemas
}

fn refusal() -> Value {
    json!({
        "type": "object",
        "description": "The response of a call that did not succeed, with any HTTP status.",
        "required": ["status", "errorMessage", "errorData", "logLines"],
        "additionalProperties": false,
        "properties": {
            "status": { "type": "string", "enum": ["error"], "description": "Always `error`." },
            "errorMessage": {
                "type": "string",
                "description": "A message for people, which may change. Programs must use `errorData.code`.",
            },
            "errorData": {
                "type": "object",
                "description": "Data for programs.",
                "required": ["code"],
                "properties": {
                    "code": {
                        "type": "string",
                        "enum": Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>(),
                        "description": "The error code, from a closed set.",
                    },
                    "field": {
                        "type": "string",
                        "description": "The invalid argument of an `INVALID_ARGUMENT`, as a path such as \
                                        `interests[2].category`.",
                    },
                    "retryAfterMs": {
                        "type": "integer", "format": "int64", "minimum": 0,
                        "description": "For `RATE_LIMITED`: milliseconds until the call would be accepted.",
                    },
                },
            },
            "logLines": reference(LOG_LINES),
        },
    })
}

/// Returns the schema of a success with this value.
pub(super) fn success(value: Value) -> Value {
    json!({
        "type": "object",
        "title": "Success",
        "required": ["status", "value", "errorMessage", "errorData"],
        "additionalProperties": false,
        "properties": {
            "status": { "type": "string", "enum": ["success"], "description": "Always `success`." },
            "value": value,
            "errorMessage": { "type": "string", "enum": [""], "description": "Empty." },
            "errorData": { "type": "object", "additionalProperties": false, "description": "Empty." },
            "logLines": reference(LOG_LINES),
        },
    })
}

/// Returns the schema of a rejection with one of these codes.
pub(super) fn refused(codes: &[Code]) -> Value {
    let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    json!({
        "title": "Refusal",
        "allOf": [
            reference(REFUSAL),
            {
                "type": "object",
                "properties": {
                    "errorData": { "type": "object", "properties": { "code": { "type": "string", "enum": codes } } },
                },
            },
        ],
    })
}

/// Returns an example of a rejection.
pub(super) fn refused_example(code: Code, message: &str) -> Value {
    json!({ "status": "error", "errorMessage": message, "errorData": { "code": code.as_str() }, "logLines": [] })
}

/// Returns the schema of a call's body: its arguments and the additional `members`.
pub(super) fn call(args: Value, members: Map<String, Value>) -> Value {
    let mut required: Vec<Value> = members.keys().map(|name| name.as_str().into()).collect();
    required.push("args".into());
    let mut properties = members;
    properties.insert("args".to_owned(), args);
    properties.insert("format".to_owned(), reference(FORMAT));
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Adds the responses of a call other than 200.
pub(super) fn add_refusals(responses: &mut Map<String, Value>) {
    for (status, name, _) in REFUSED {
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }));
    }
}

/// Returns the responses to calls that are rejected before they reach a function.
pub(super) fn responses() -> Map<String, Value> {
    let response = |(status, name, meaning): &(u16, &str, &str)| {
        let codes: Vec<Code> = Code::ALL.iter().copied().filter(|code| code.status() == *status).collect();
        let mut headers = json!({ "X-Request-Id": header("RequestId") });
        match status {
            401 | 403 => headers["WWW-Authenticate"] = header("Challenge"),
            429 | 503 => headers["Retry-After"] = header("RetryAfter"),
            405 => headers["Allow"] = header("Allow"),
            _ => {}
        }
        let example = codes.first().map(|code| refused_example(*code, "The reason, in one sentence"));
        let content = json!({ "application/json": { "schema": refused(&codes), "example": example } });
        let said: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
        let description = format!("{meaning} `errorData.code`: {}.", said.join(", "));
        ((*name).to_owned(), json!({ "description": description, "headers": headers, "content": content }))
    };
    REFUSED.iter().map(response).collect()
}

/// Returns a reference to a response header.
pub(super) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// Returns a reference to a request parameter.
pub(super) fn parameter(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

/// Returns the request parameters.
pub(super) fn parameters() -> Value {
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "A repeated call with the same key and arguments within a week has no effect and returns the \
                            first response. Each caller has its own keys; without an identity, a key needs at least 16 \
                            characters.",
            "schema": {
                "type": "string", "minLength": 1, "maxLength": KEY_CHARS_MAX, "pattern": "^[!-~]+$",
            },
            "example": "0f8a2c1e-7d4b-4f53-9a8e-5d1c2b3a4f60",
        },
    })
}

/// Returns the response headers.
pub(super) fn headers() -> Value {
    json!({
        "RequestId": {
            "description": "The id of the call: the request's `X-Request-Id` if it is valid. The server's log lines \
                            of the call contain it.",
            "required": true,
            "schema": { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9._-]+$" },
            "example": "9f2c1a07-3e",
        },
        "Replayed": {
            "description": "Present if this is the response of an earlier call with the same `Idempotency-Key`.",
            "required": false,
            "schema": { "type": "string", "enum": ["true"] },
        },
        "RetryAfter": {
            "description": "Seconds after which a retry makes sense.",
            "required": true,
            "schema": { "type": "integer", "minimum": 0 },
            "example": 1,
        },
        "Challenge": {
            "description": "The reason of the rejection (RFC 6750 §3).",
            "required": true,
            "schema": { "type": "string" },
            "example": "Bearer realm=\"convoke\", error=\"invalid_token\"",
        },
        "Allow": {
            "description": "The methods of the route.",
            "required": true,
            "schema": { "type": "string" },
            "example": "POST, OPTIONS",
        },
    })
}

pub(super) fn security_schemes() -> Value {
    json!({
        "bearerAuth": {
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "A user: a JSON Web Token of the identity provider, as `Authorization: Bearer <token>`.",
        },
        "deployKey": {
            "type": "apiKey", "in": "header", "name": "Authorization",
            "description": "For administration: `Authorization: Convoke <deploy key>`. The word before the key is part of \
                            the value. Never put a key into a page or an app.",
        },
    })
}

/// Returns the security requirement of calls: either scheme, both optional.
pub(super) fn security() -> Value {
    json!([{ "bearerAuth": [] }, { "deployKey": [] }])
}
