//! A message of a client: JSON-RPC 2.0, in each version of the protocol that the server speaks.
//!
//! The versions until 2025-11-25 begin with a handshake (`initialize`). Since 2026-07-28 each request names its version
//! in `_meta`, and over HTTP the header fields mirror members of the body. The server holds no session for either.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::refusal::{Reason, Refusal};
use convoke_calls::codec::decode;
use convoke_core::excerpt::excerpt;

/// The versions, the newest first.
pub const VERSIONS: [&str; 3] = [PER_REQUEST, NEWEST_HANDSHAKE, "2025-06-18"];
/// The version in which each request names its version.
const PER_REQUEST: &str = "2026-07-28";
/// The newest version with a handshake. It is offered to clients that ask for an unknown one.
const NEWEST_HANDSHAKE: &str = "2025-11-25";

/// Largest number of bytes of a request's id, which the response repeats.
const ID_BYTES_MAX: usize = 256;

/// How the versions of the protocol differ for this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// A connection begins with `initialize`.
    Handshake,
    /// Each request names its version.
    PerRequest,
}

/// The header fields that mirror members of the body. Each may be absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mirrored<'a> {
    /// `MCP-Protocol-Version`
    pub version: Option<&'a [u8]>,
    /// `Mcp-Method`
    pub method: Option<&'a [u8]>,
    /// `Mcp-Name`
    pub name: Option<&'a [u8]>,
}

/// A message.
#[derive(Debug)]
pub enum Message<'a> {
    /// A request, which gets a response.
    Request(Request<'a>),
    /// `notifications/cancelled`, with the id of the request that the client no longer waits for.
    Cancelled(&'a str),
    /// Another notification. The server reacts to none of them.
    Notification,
}

/// A request.
#[derive(Debug)]
pub struct Request<'a> {
    /// The JSON of its id.
    pub id: &'a str,
    /// The era of its version.
    pub era: Era,
    /// Its method.
    pub method: Method<'a>,
}

/// The method of a request, with its parameters.
#[derive(Debug)]
pub enum Method<'a> {
    /// `initialize`, with the version that the response names.
    Initialize(&'static str),
    /// `server/discover`
    Discover,
    /// `ping`
    Ping,
    /// `tools/list`
    ListTools,
    /// `tools/call`
    CallTool(ToolCall<'a>),
}

/// A call of a tool.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The name of the tool.
    pub name: String,
    /// The JSON of the arguments: an object.
    pub arguments: &'a str,
    /// The member `convoke/idempotencyKey` of `_meta`.
    pub idempotency_key: Option<String>,
}

impl Request<'_> {
    /// Returns a refusal of this request. A client of the handshake reads it only with the HTTP status 200.
    pub fn refused(&self, reason: Reason, message: impl Into<String>) -> Refusal {
        let status = match (self.era, reason) {
            (Era::Handshake, _) => 200,
            (Era::PerRequest, Reason::MethodNotFound) => 404,
            (Era::PerRequest, _) => 400,
        };
        Refusal { id: Some(self.id.to_owned()), status, ..Refusal::new(reason, message) }
    }
}

/// Reads a message. `fields` are the header fields of a request by HTTP.
///
/// # Errors
/// The refusal, with the id of the request if it could be read.
pub fn read<'a>(body: &'a [u8], depth_max: usize, fields: Option<Mirrored<'_>>) -> Result<Message<'a>, Refusal> {
    if body.trim_ascii().is_empty() {
        return Err(Refusal::new(Reason::ParseError, "The body is empty; send a message of JSON-RPC 2.0"));
    }
    let text = decode::strict(body, depth_max).map_err(|error| Refusal::new(Reason::ParseError, error.message()))?;
    let invalid = |message: &str| Refusal::new(Reason::InvalidRequest, message);
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(invalid("Batches are not supported; send each message in a request of its own"));
    }
    let wire: Wire<'_> =
        serde_json::from_str(text).map_err(|_| invalid("The body must be an object with the member jsonrpc"))?;
    let id = wire.id.map(id_of).transpose()?;
    let with_id = |refusal: Refusal| Refusal { id: id.map(str::to_owned), ..refusal };
    if wire.jsonrpc.and_then(text_of).as_deref() != Some("2.0") {
        return Err(with_id(invalid("jsonrpc must be \"2.0\"")));
    }
    let Some(method) = wire.method.and_then(text_of) else {
        return Err(with_id(invalid(match wire.result.or(wire.error) {
            Some(_) => "The server sends no requests, so it takes no responses",
            None => "method must be a string",
        })));
    };
    let params = wire.params.map_or(Ok(Params::default()), |params| {
        let is_object = params.get().starts_with('{');
        let read = is_object.then(|| serde_json::from_str::<Params<'_>>(params.get()).ok()).flatten();
        read.ok_or_else(|| with_id(Refusal::new(Reason::InvalidParams, "params must be an object")))
    })?;
    let meta = Meta::of(&params).map_err(with_id)?;
    let Some(id) = id else {
        // The specification defines no members of `_meta` for notifications.
        check_version_field(fields).map_err(with_id)?;
        // The specification ignores a cancellation without a valid id.
        let cancelled = params.request_id.filter(|_| method == "notifications/cancelled").map(id_of);
        return Ok(cancelled.and_then(Result::ok).map_or(Message::Notification, Message::Cancelled));
    };
    let era = era(&method, &params, &meta, fields).map_err(with_id)?;
    let request = Request { id, era, method: Method::Ping };
    let method = method_of(&request, &method, params, meta)?;
    Ok(Message::Request(Request { method, ..request }))
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(rename = "_meta", borrow, default, deserialize_with = "present")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    cursor: Option<&'a RawValue>,
    #[serde(rename = "protocolVersion", borrow, default, deserialize_with = "present")]
    version: Option<&'a RawValue>,
    #[serde(rename = "requestId", borrow, default, deserialize_with = "present")]
    request_id: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<Value>,
    #[serde(rename = "convoke/idempotencyKey")]
    idempotency_key: Option<Value>,
}

impl Meta {
    fn of(params: &Params<'_>) -> Result<Self, Refusal> {
        let Some(meta) = params.meta else { return Ok(Self::default()) };
        let read = meta.get().starts_with('{').then(|| serde_json::from_str(meta.get()).ok()).flatten();
        read.ok_or_else(|| Refusal::new(Reason::InvalidParams, "_meta must be an object"))
    }
}

/// Reads a member that may be null: `Option` alone would read null as absent.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(reader: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(reader).map(Some)
}

fn text_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn id_of(raw: &RawValue) -> Result<&str, Refusal> {
    let id = raw.get();
    let is_integer = || id.parse::<i64>().is_ok() || id.parse::<u64>().is_ok();
    match (id.starts_with('"') || is_integer()) && id.len() <= ID_BYTES_MAX {
        true => Ok(id),
        false => {
            let message = format!("id must be an integer, or a string of at most {ID_BYTES_MAX} bytes");
            Err(Refusal::new(Reason::InvalidRequest, message))
        }
    }
}

/// Returns the era of a request, and checks the parts of the request that name its version.
fn era(method: &str, params: &Params<'_>, meta: &Meta, fields: Option<Mirrored<'_>>) -> Result<Era, Refusal> {
    let invalid = |message: &str| Refusal::new(Reason::InvalidParams, message);
    let field = fields.and_then(|fields| fields.version);
    let Some(version) = &meta.version else {
        check_version_field(fields)?;
        return match field == Some(PER_REQUEST.as_bytes()) {
            true => Err(invalid("_meta must have io.modelcontextprotocol/protocolVersion in this version")),
            false => Ok(Era::Handshake),
        };
    };
    let Value::String(version) = version else {
        return Err(invalid("io.modelcontextprotocol/protocolVersion must be a string"));
    };
    if !meta.capabilities.as_ref().is_some_and(Value::is_object) {
        return Err(invalid("_meta must have the object io.modelcontextprotocol/clientCapabilities"));
    }
    if let Some(fields) = fields {
        mirrored("MCP-Protocol-Version", fields.version, version)?;
        mirrored("Mcp-Method", fields.method, method)?;
        if let ("tools/call", Some(name)) = (method, params.name.and_then(text_of)) {
            mirrored("Mcp-Name", fields.name, &name)?;
        }
    }
    match version == PER_REQUEST {
        true => Ok(Era::PerRequest),
        false => Err(unsupported(version)),
    }
}

/// Checks the field `MCP-Protocol-Version`. It may be absent: the specification of 2025-03-26 did not have it.
fn check_version_field(fields: Option<Mirrored<'_>>) -> Result<(), Refusal> {
    match fields.and_then(|fields| fields.version).map(String::from_utf8_lossy) {
        Some(version) if !VERSIONS.contains(&&*version) => Err(unsupported(&version)),
        Some(_) | None => Ok(()),
    }
}

fn unsupported(version: &str) -> Refusal {
    let data = json!({ "supported": VERSIONS, "requested": excerpt(version) });
    Refusal { data: Some(data), ..Refusal::new(Reason::UnsupportedVersion, "Unsupported protocol version") }
}

/// Checks that a field has the value that the body has.
fn mirrored(name: &str, field: Option<&[u8]>, value: &str) -> Result<(), Refusal> {
    let message = match field.map(plain) {
        Some(field) if field == value.as_bytes() => return Ok(()),
        Some(_) => format!("The header field {name} differs from the body"),
        None => format!("The header field {name} is missing"),
    };
    Err(Refusal::new(Reason::HeaderMismatch, message))
}

/// Decodes a field whose value is not plain ASCII: `=?base64?…?=`.
fn plain(field: &[u8]) -> Vec<u8> {
    let encoded = field.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?="));
    encoded.and_then(|encoded| STANDARD.decode(encoded).ok()).unwrap_or_else(|| field.to_vec())
}

fn method_of<'a>(request: &Request<'_>, method: &str, params: Params<'a>, meta: Meta) -> Result<Method<'a>, Refusal> {
    match (method, request.era) {
        ("initialize", Era::Handshake) => {
            let Some(wanted) = params.version.and_then(text_of) else {
                return Err(request.refused(Reason::InvalidParams, "protocolVersion must be a string"));
            };
            let known = VERSIONS.into_iter().find(|version| *version == wanted && *version != PER_REQUEST);
            Ok(Method::Initialize(known.unwrap_or(NEWEST_HANDSHAKE)))
        }
        ("server/discover", Era::PerRequest) => Ok(Method::Discover),
        ("ping", Era::Handshake) => Ok(Method::Ping),
        ("tools/list", _) => match params.cursor {
            // The list has one page, so the server never issues a cursor.
            Some(cursor) if cursor.get() != "null" => {
                Err(request.refused(Reason::InvalidParams, "The list of tools has one page, and no cursor"))
            }
            Some(_) | None => Ok(Method::ListTools),
        },
        ("tools/call", _) => tool_call(params, meta)
            .map(Method::CallTool)
            .map_err(|message| request.refused(Reason::InvalidParams, message)),
        _ => {
            let message = format!("Method not found: {}", excerpt(method));
            Err(request.refused(Reason::MethodNotFound, message))
        }
    }
}

fn tool_call<'a>(params: Params<'a>, meta: Meta) -> Result<ToolCall<'a>, &'static str> {
    let name = params.name.and_then(text_of).ok_or("name must be the name of a tool")?;
    let arguments = params.arguments.map_or("{}", RawValue::get);
    if !arguments.starts_with('{') {
        return Err("arguments must be an object");
    }
    let idempotency_key = match meta.idempotency_key {
        None => None,
        Some(Value::String(key)) => Some(key),
        Some(_) => return Err("convoke/idempotencyKey must be a string"),
    };
    Ok(ToolCall { name, arguments, idempotency_key })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: Mirrored<'_> =
        Mirrored { version: Some(b"2026-07-28"), method: Some(b"tools/call"), name: Some(b"a_b") };

    fn refused(body: &str, fields: Option<Mirrored<'_>>) -> (i32, u16, Option<String>) {
        match read(body.as_bytes(), 20, fields) {
            Err(refusal) => (refusal.reason.code(), refusal.status, refusal.id),
            Ok(message) => panic!("{body} is {message:?}"),
        }
    }

    fn call(version: &str) -> String {
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": "a_b", "arguments": { "n": 1 },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {},
                "convoke/idempotencyKey": "k",
            },
        } })
        .to_string()
    }

    #[test]
    fn call_of_a_tool_is_read_in_both_eras() {
        let body = call(PER_REQUEST);
        let Ok(Message::Request(request)) = read(body.as_bytes(), 20, Some(FIELDS)) else { panic!("{body}") };
        assert_eq!((request.id, request.era), ("7", Era::PerRequest));
        let Method::CallTool(call) = request.method else { panic!("{:?}", request.method) };
        assert_eq!((&*call.name, call.arguments), ("a_b", r#"{"n":1}"#));
        assert_eq!(call.idempotency_key.as_deref(), Some("k"));

        let body = br#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a_b"}}"#;
        let Ok(Message::Request(request)) = read(body, 20, Some(Mirrored::default())) else { panic!() };
        assert_eq!((request.id, request.era), ("\"x\"", Era::Handshake));
        assert!(matches!(request.method, Method::CallTool(ToolCall { arguments: "{}", .. })));
    }

    #[test]
    fn body_that_is_no_message_is_refused() {
        for (body, code, id) in [
            ("", -32700, None),
            ("{", -32700, None),
            (r#"{"id":1,"id":2}"#, -32700, None),
            ("[]", -32600, None),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, None),
            ("7", -32600, None),
            ("{}", -32600, None),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602, Some("1")),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}"#, -32602, Some("1")),
        ] {
            assert_eq!(refused(body, Some(Mirrored::default())), (code, 400, id.map(str::to_owned)), "{body}");
        }
        let deep = format!("{{\"jsonrpc\":{}", "[".repeat(10_000));
        assert_eq!(refused(&deep, None).0, -32700);
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(ID_BYTES_MAX));
        assert_eq!(refused(&long, None), (-32600, 400, None));
    }

    #[test]
    fn fields_must_repeat_the_body() {
        let of = |change: fn(&mut Mirrored<'static>)| {
            let mut fields = FIELDS;
            change(&mut fields);
            refused(&call(PER_REQUEST), Some(fields)).0
        };
        assert_eq!(of(|fields| fields.version = None), -32020);
        assert_eq!(of(|fields| fields.version = Some(b"2025-11-25")), -32020);
        assert_eq!(of(|fields| fields.method = None), -32020);
        assert_eq!(of(|fields| fields.name = Some(b"a_c")), -32020);
        let encoded = Mirrored { name: Some(b"=?base64?YV9i?="), ..FIELDS };
        assert!(read(call(PER_REQUEST).as_bytes(), 20, Some(encoded)).is_ok());
        // A pipe has no fields.
        assert!(read(call(PER_REQUEST).as_bytes(), 20, None).is_ok());
    }

    #[test]
    fn unknown_version_is_refused_with_the_supported_ones() {
        let refusal = read(call("1900-01-01").as_bytes(), 20, None).unwrap_err();
        assert_eq!(refusal.data.unwrap(), json!({ "supported": VERSIONS, "requested": "1900-01-01" }));
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        for version in [&b"1900-01-01"[..], b"", b"\xff"] {
            let fields = Mirrored { version: Some(version), ..Mirrored::default() };
            assert_eq!(refused(ping, Some(fields)), (-32022, 400, Some("1".to_owned())));
            let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            assert_eq!(refused(notification, Some(fields)).0, -32022);
        }
        let unnamed = Mirrored { version: Some(b"2026-07-28"), ..Mirrored::default() };
        assert_eq!(refused(ping, Some(unnamed)).0, -32602);
    }

    #[test]
    fn handshake_offers_a_version_that_the_server_speaks() {
        for (wanted, offered) in [
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2024-11-05", "2025-11-25"),
            (PER_REQUEST, "2025-11-25"),
        ] {
            let body =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": wanted } });
            let body = body.to_string();
            let Ok(Message::Request(Request { method: Method::Initialize(version), .. })) =
                read(body.as_bytes(), 20, Some(Mirrored::default()))
            else {
                panic!("{body}")
            };
            assert_eq!(version, offered);
        }
    }

    #[test]
    fn error_of_a_request_has_the_status_of_its_era() {
        let body = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        let fields = Some(Mirrored::default());
        for method in ["resources/list", "server/discover", "constructor"] {
            assert_eq!(refused(&body(method), fields), (-32601, 200, Some("1".to_owned())), "{method}");
        }
        let new = call(PER_REQUEST).replace("tools/call", "ping");
        assert_eq!(refused(&new, None), (-32601, 404, Some("7".to_owned())));
        let arguments = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#;
        assert_eq!(refused(arguments, fields), (-32602, 200, Some("1".to_owned())));
    }
}
