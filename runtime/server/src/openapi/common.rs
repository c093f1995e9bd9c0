//! What all operations share: envelopes, the refusals of a call, credentials.

use serde_json::{Map, Value, json};

use super::schemas::reference;
use convoke_calls::call::idempotency::KEY_CHARS_MAX;
use convoke_core::error::Code;

/// Under these names the shared schemas stand beside the types of the application.
pub(super) const REFUSAL: &str = "ConvokeRefusal";
const LOG_LINES: &str = "ConvokeLogLines";
const FORMAT: &str = "ConvokeFormat";

/// Statuses other than 200 that a call can be answered with, with the component and what it means.
const REFUSED: &[(u16, &str, &str)] = &[
    (400, "NotACall", "Nothing was called: the body or the path does not name a call."),
    (401, "CredentialsRejected", "Credentials were sent and rejected; `WWW-Authenticate` says why."),
    (403, "ScopeMissing", "A valid deploy key lacks the scope for this."),
    (405, "MethodNotAllowed", "The route has other methods; `Allow` names them."),
    (413, "BodyTooLarge", "The body is larger than the server takes."),
    (415, "NotJson", "The body is not declared as `application/json`, or is compressed."),
    (429, "TooManyRequests", "Too many calls from this address; `Retry-After` says when to come again."),
    (500, "InternalError", "Something broke inside; the server's log has the reason under the request id."),
    (503, "NotNow", "Overloaded, starting or stopping; `Retry-After` says when to come again."),
];

/// Log lines in an answer are at most this many, and one that says how many were left out.
const LOG_LINES_MAX: usize = 256;

/// The shared schemas.
pub(super) fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    schemas.insert(
        LOG_LINES.to_owned(),
        json!({
            "type": "array", "items": { "type": "string" }, "maxItems": LOG_LINES_MAX + 1,
            "description": "What the function logged while it ran, in order, as `[LEVEL] text`; LEVEL is one of DEBUG, \
                            INFO, WARN, ERROR.",
            "example": ["[INFO] 2 participants"],
        }),
    );
    schemas.insert(
        FORMAT.to_owned(),
        json!({
            "type": "string", "nullable": true, "enum": ["json", null], "default": "json",
            "description": "How values are written: `json` is plain JSON, which is what this document describes. Clients \
                            that write integers, bytes and special numbers in objects of their own say \
                            `convex_encoded_json`.",
        }),
    );
    schemas.insert(REFUSAL.to_owned(), refusal());
    schemas
}

fn refusal() -> Value {
    json!({
        "type": "object",
        "description": "What an answer is that is no success, whatever its HTTP status.",
        "required": ["status", "errorMessage", "errorData", "logLines"],
        "additionalProperties": false,
        "properties": {
            "status": { "type": "string", "enum": ["error"], "description": "Says that it is a refusal." },
            "errorMessage": {
                "type": "string",
                "description": "A sentence for people. Switch on `errorData.code` instead: sentences may change.",
            },
            "errorData": {
                "type": "object",
                "description": "What a program needs to know of it.",
                "required": ["code"],
                "properties": {
                    "code": {
                        "type": "string",
                        "enum": Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>(),
                        "description": "What went wrong, from a closed set.",
                    },
                    "field": {
                        "type": "string",
                        "description": "The argument that an `INVALID_ARGUMENT` is about, as a path such as \
                                        `interests[2].category`.",
                    },
                    "retryAfterMs": {
                        "type": "integer", "format": "int64", "minimum": 0,
                        "description": "Of a `RATE_LIMITED`: milliseconds until the call would be let through.",
                    },
                },
            },
            "logLines": reference(LOG_LINES),
        },
    })
}

/// The envelope of a success with this value.
pub(super) fn success(value: Value) -> Value {
    json!({
        "type": "object",
        "title": "Success",
        "required": ["status", "value", "errorMessage", "errorData"],
        "additionalProperties": false,
        "properties": {
            "status": { "type": "string", "enum": ["success"], "description": "Says that it succeeded." },
            "value": value,
            "errorMessage": { "type": "string", "enum": [""], "description": "Empty." },
            "errorData": { "type": "object", "additionalProperties": false, "description": "Empty." },
            "logLines": reference(LOG_LINES),
        },
    })
}

/// The envelope of a refusal with one of these codes.
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

/// An example of a refusal's envelope.
pub(super) fn refused_example(code: Code, message: &str) -> Value {
    json!({ "status": "error", "errorMessage": message, "errorData": { "code": code.as_str() }, "logLines": [] })
}

/// The body of a call: its arguments, and what else `members` has.
pub(super) fn call(args: Value, members: Map<String, Value>) -> Value {
    let mut required: Vec<Value> = members.keys().map(|name| name.as_str().into()).collect();
    required.push("args".into());
    let mut properties = members;
    properties.insert("args".to_owned(), args);
    properties.insert("format".to_owned(), reference(FORMAT));
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Adds the answers that any call can get beside its 200.
pub(super) fn add_refusals(responses: &mut Map<String, Value>) {
    for (status, name, _) in REFUSED {
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }));
    }
}

/// The answers of calls that were refused before they reached a function.
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
        let example = codes.first().map(|code| refused_example(*code, "A sentence that says what is wrong"));
        let content = json!({ "application/json": { "schema": refused(&codes), "example": example } });
        let said: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
        let description = format!("{meaning} `errorData.code`: {}.", said.join(", "));
        ((*name).to_owned(), json!({ "description": description, "headers": headers, "content": content }))
    };
    REFUSED.iter().map(response).collect()
}

/// A reference to a header of an answer.
pub(super) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// A reference to a parameter of requests.
pub(super) fn parameter(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

/// The parameters of requests.
pub(super) fn parameters() -> Value {
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "The same key with the same arguments, sent again within a week, does nothing and is answered \
                            as the first time. A key is its caller's own; without an identity it needs at least 16 \
                            characters.",
            "schema": {
                "type": "string", "minLength": 1, "maxLength": KEY_CHARS_MAX, "pattern": "^[!-~]+$",
            },
            "example": "0f8a2c1e-7d4b-4f53-9a8e-5d1c2b3a4f60",
        },
    })
}

/// The headers of answers.
pub(super) fn headers() -> Value {
    json!({
        "RequestId": {
            "description": "The call's id: the caller's own `X-Request-Id` if it had a usable one. The server's log \
                            lines of the call carry it.",
            "required": true,
            "schema": { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9._-]+$" },
            "example": "9f2c1a07-3e",
        },
        "Replayed": {
            "description": "Says that this is the answer of an earlier call with the same `Idempotency-Key`.",
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
            "description": "Why the credentials were rejected (RFC 6750 §3).",
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

/// Whom a caller can be.
pub(super) fn security_schemes() -> Value {
    json!({
        "bearerAuth": {
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "A user: a JSON Web Token of the identity provider, as `Authorization: Bearer <token>`.",
        },
        "deployKey": {
            "type": "apiKey", "in": "header", "name": "Authorization",
            "description": "Administrative automation: `Authorization: Convoke <deploy key>`; the word before the key is \
                            part of the value. A key never belongs into a page or an app.",
        },
    })
}

/// Either of the two. Without credentials a function runs too, and decides.
pub(super) fn security() -> Value {
    json!([{ "bearerAuth": [] }, { "deployKey": [] }])
}
