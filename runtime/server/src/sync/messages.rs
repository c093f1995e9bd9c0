//! The JSON messages of the protocol.

use convoke_calls::call::timestamp;
use convoke_calls::codec::decode::in_words;
use convoke_calls::live::QueryResult;
use convoke_calls::logs::LogLines;
use convoke_core::error::Error;
use convoke_store::Commit;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Largest transition that is sent as one message. Clients that support parts receive longer transitions in parts.
pub(super) const TRANSITION_BYTES_MAX: usize = 5 * 1024 * 1024;

/// The kinds of clients that the protocol distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKind {
    /// The client supports transitions in parts.
    SupportsParts,
    /// The client does not support parts.
    Plain,
}

impl ClientKind {
    /// Detects the kind by the version in the path, which only the npm client sends, or by the `Convex-Client` field.
    pub(crate) fn of(version: &str, client: Option<&str>) -> Self {
        let npm =
            if version.is_empty() { client.and_then(|client| client.strip_prefix("npm-")) } else { Some(version) };
        let mut parts = npm.unwrap_or_default().split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
        let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if (major, minor) >= (1, 28) { Self::SupportsParts } else { Self::Plain }
    }
}

/// A message of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromClient {
    Connect { session_id: String },
    Authenticate { base_version: u32, token: Token },
    ModifyQuerySet { base_version: u32, new_version: u32, modifications: Vec<Modification> },
    Call(Call),
    Event,
}

/// The credentials of a client.
#[derive(PartialEq, Eq)]
pub(super) enum Token {
    User(String),
    Admin(String, Option<Value>),
    None,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Token::User(_) => "User …",
            Token::Admin(..) => "Admin …",
            Token::None => "None",
        })
    }
}

/// A change of the client's set of queries.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Modification {
    Add { query: u32, path: String, args: String, journal: Option<String> },
    Remove { query: u32 },
}

/// A mutation or an action.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub is_mutation: bool,
    pub request: u32,
    pub path: String,
    pub args: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    r#type: String,
    session_id: Option<String>,
    base_version: Option<u32>,
    new_version: Option<u32>,
    token_type: Option<String>,
    value: Option<String>,
    #[serde(alias = "actingAs")]
    impersonating: Option<Value>,
    #[serde(borrow)]
    modifications: Option<Vec<WireModification<'a>>>,
    request_id: Option<u32>,
    udf_path: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireModification<'a> {
    r#type: String,
    query_id: u32,
    udf_path: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    journal: Option<String>,
}

impl FromClient {
    /// Parses a message. The caller has validated the JSON strictly.
    ///
    /// # Errors
    /// The reason why the text is not a message.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let wire: Wire<'_> =
            serde_json::from_str(text).map_err(|error| format!("Invalid message: {}", in_words(&error)))?;
        let kind = &*wire.r#type;
        let lacks = |member: &str| format!("{kind} lacks {member}");
        Ok(match kind {
            "Connect" => {
                let id = wire.session_id.ok_or_else(|| lacks("sessionId"))?;
                let is_fit = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
                Self::Connect {
                    session_id: if is_fit { id } else { return Err("sessionId must be a UUID".to_owned()) },
                }
            }
            "Authenticate" => {
                let value = || wire.value.clone().ok_or_else(|| lacks("value"));
                let token = match wire.token_type.as_deref() {
                    Some("User") => Token::User(value()?),
                    Some("Admin") => Token::Admin(value()?, wire.impersonating.filter(|identity| !identity.is_null())),
                    Some("None") => Token::None,
                    _ => return Err("tokenType must be User, Admin or None".to_owned()),
                };
                Self::Authenticate { base_version: wire.base_version.ok_or_else(|| lacks("baseVersion"))?, token }
            }
            "ModifyQuerySet" => Self::ModifyQuerySet {
                base_version: wire.base_version.ok_or_else(|| lacks("baseVersion"))?,
                new_version: wire.new_version.ok_or_else(|| lacks("newVersion"))?,
                modifications: wire
                    .modifications
                    .ok_or_else(|| lacks("modifications"))?
                    .into_iter()
                    .map(WireModification::read)
                    .collect::<Result<_, _>>()?,
            },
            "Mutation" | "Action" => Self::Call(Call {
                is_mutation: kind == "Mutation",
                request: wire.request_id.ok_or_else(|| lacks("requestId"))?,
                path: wire.udf_path.clone().ok_or_else(|| lacks("udfPath"))?,
                args: args(wire.args)?,
            }),
            "Event" => Self::Event,
            _ => return Err(format!("Unknown message {:?}", kind.chars().take(40).collect::<String>())),
        })
    }
}

impl WireModification<'_> {
    fn read(self) -> Result<Modification, String> {
        match &*self.r#type {
            "Add" => {
                let path = self.udf_path.ok_or("Add lacks udfPath")?;
                Ok(Modification::Add { query: self.query_id, path, args: args(self.args)?, journal: self.journal })
            }
            "Remove" => Ok(Modification::Remove { query: self.query_id }),
            _ => Err("A modification is Add or Remove".to_owned()),
        }
    }
}

/// Returns the arguments from their array, which contains one object or nothing.
fn args(raw: Option<&RawValue>) -> Result<String, String> {
    let all: Vec<&RawValue> = match raw {
        None => Vec::new(),
        Some(raw) => serde_json::from_str(raw.get()).map_err(|_| "args must be an array".to_owned())?,
    };
    match &*all {
        [] => Ok("{}".to_owned()),
        [one] => Ok(one.get().to_owned()),
        _ => Err("args must contain one object".to_owned()),
    }
}

/// The version of a client's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    pub query_set: u32,
    pub identity: u32,
    #[serde(serialize_with = "as_base64")]
    pub ts: u64,
}

fn as_base64<S: serde::Serializer>(ts: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encoded(*ts))
}

fn encoded(ts: u64) -> String {
    timestamp::write(Commit(ts))
}

/// Writes the transition from one version to another. Each modification is a JSON object.
pub(super) fn transition(from: Version, to: Version, modifications: &[String]) -> String {
    let version = |version| serde_json::to_string(&version).unwrap_or_default();
    format!(
        r#"{{"type":"Transition","startVersion":{},"endVersion":{},"modifications":[{}]}}"#,
        version(from),
        version(to),
        modifications.join(",")
    )
}

/// Splits a transition that is too long for one message.
pub(super) fn parts(transition: &str, id: u64) -> Vec<String> {
    let (mut rest, mut pieces) = (transition, Vec::new());
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(TRANSITION_BYTES_MAX));
        pieces.push(piece);
        rest = behind;
    }
    let total = pieces.len();
    let part = |(number, piece): (usize, &str)| {
        let chunk = Value::from(piece);
        format!(
            r#"{{"type":"TransitionChunk","chunk":{chunk},"partNumber":{number},"totalParts":{total},"transitionId":"{id}"}}"#
        )
    };
    pieces.into_iter().enumerate().map(part).collect()
}

/// Converts the result of a live query to a modification. Its JSON begins after the opening brace.
pub(super) fn result_of(told: &QueryResult) -> String {
    let (query, journal) = (told.query, Value::from(told.journal.as_deref()));
    let told = String::from_utf8_lossy(&told.json);
    let success = told.strip_prefix(r#""status":"success","value":"#).and_then(|rest| rest.strip_suffix('}'));
    match success {
        Some(value) => {
            format!(r#"{{"type":"QueryUpdated","queryId":{query},"value":{value},"logLines":[],"journal":{journal}}}"#)
        }
        None => {
            let members = told.strip_prefix(r#""status":"error","#).unwrap_or(&told);
            format!(r#"{{"type":"QueryFailed","queryId":{query},"journal":{journal},{members}"#)
        }
    }
}

pub(super) fn removed(query: u32) -> String {
    format!(r#"{{"type":"QueryRemoved","queryId":{query}}}"#)
}

/// Writes the response to a call. `ts` is the commit at which the writes of a mutation are visible.
pub(super) fn response(call: Answered, result: Result<&str, &Error>, lines: &LogLines) -> String {
    let Answered { request, ts } = call;
    let kind = if ts.is_some() { "MutationResponse" } else { "ActionResponse" };
    let lines = serde_json::to_string(lines).unwrap_or_else(|_| "[]".to_owned());
    match result {
        Ok(value) => {
            let ts = ts.map(|ts| format!(r#""ts":"{}","#, encoded(ts))).unwrap_or_default();
            format!(
                r#"{{"type":"{kind}","requestId":{request},"success":true,"result":{value},{ts}"logLines":{lines}}}"#
            )
        }
        Err(error) => {
            let message = Value::from(error.message());
            let data = serde_json::to_string(error).unwrap_or_else(|_| "{}".to_owned());
            format!(
                r#"{{"type":"{kind}","requestId":{request},"success":false,"result":{message},"errorData":{data},"logLines":{lines}}}"#
            )
        }
    }
}

/// The call of a response.
#[derive(Clone, Copy)]
pub(super) struct Answered {
    pub request: u32,
    /// The commit of a mutation; `None` for an action.
    pub ts: Option<u64>,
}

pub(super) const PING: &str = r#"{"type":"Ping"}"#;

pub(super) fn fatal(why: &str) -> String {
    Value::from(Map::from_iter([("type".to_owned(), "FatalError".into()), ("error".to_owned(), why.into())]))
        .to_string()
}

pub(super) fn auth_error(why: &str, base_version: u32, of_attempt: bool) -> String {
    let why = Value::from(why);
    format!(r#"{{"type":"AuthError","error":{why},"baseVersion":{base_version},"authUpdateAttempted":{of_attempt}}}"#)
}

#[cfg(test)]
mod tests {
    use convoke_core::error::Code;
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_of_clients_are_parsed() {
        let read = |text: &str| FromClient::read(text).unwrap();
        assert_eq!(
            read(r#"{"type":"Connect","sessionId":"s","connectionCount":0,"lastCloseReason":null,"clientTs":1.5}"#),
            FromClient::Connect { session_id: "s".to_owned() }
        );
        assert_eq!(
            read(r#"{"type":"Authenticate","tokenType":"User","value":"t","baseVersion":3}"#),
            FromClient::Authenticate { base_version: 3, token: Token::User("t".to_owned()) }
        );
        assert_eq!(
            read(
                r#"{"type":"ModifyQuerySet","baseVersion":0,"newVersion":1,"modifications":[{"type":"Add","queryId":7,"udfPath":"a:b","args":[{"x":1.0}],"journal":"[]"},{"type":"Remove","queryId":2}]}"#
            ),
            FromClient::ModifyQuerySet {
                base_version: 0,
                new_version: 1,
                modifications: vec![
                    Modification::Add {
                        query: 7,
                        path: "a:b".to_owned(),
                        args: r#"{"x":1.0}"#.to_owned(),
                        journal: Some("[]".to_owned()),
                    },
                    Modification::Remove { query: 2 },
                ],
            }
        );
        for wrong in
            ["1", "{}", r#"{"type":"Nothing"}"#, r#"{"type":"Connect"}"#, r#"{"type":"Mutation","requestId":-1}"#]
        {
            assert!(FromClient::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn messages_to_clients_are_json_of_the_protocol() {
        let (from, to) = (Version::default(), Version { query_set: 1, identity: 2, ts: 258 });
        let told = |query, json: &'static [u8], journal: Option<&str>| {
            result_of(&QueryResult { query, json: json.into(), journal: journal.map(Into::into) })
        };
        let results = [told(1, br#""status":"success","value":[1]}"#, Some("[\"x\"]")), removed(2)];
        let written: Value = serde_json::from_str(&transition(from, to, &results)).unwrap();
        assert_eq!(written["startVersion"], json!({ "querySet": 0, "identity": 0, "ts": "AAAAAAAAAAA=" }));
        assert_eq!(written["endVersion"], json!({ "querySet": 1, "identity": 2, "ts": "AgEAAAAAAAA=" }));
        let updated =
            json!({ "type": "QueryUpdated", "queryId": 1, "value": [1], "logLines": [], "journal": "[\"x\"]" });
        assert_eq!(written["modifications"], json!([updated, { "type": "QueryRemoved", "queryId": 2 }]));
        let failed = br#""status":"error","errorMessage":"No","errorData":{"code":"FORBIDDEN"},"logLines":[]}"#;
        let failed = told(3, failed, None);
        assert_eq!(
            serde_json::from_str::<Value>(&failed).unwrap(),
            json!({
                "type": "QueryFailed", "queryId": 3, "journal": null, "errorMessage": "No",
                "errorData": { "code": "FORBIDDEN" }, "logLines": [],
            })
        );
        let error = Error::new(Code::Conflict, "Taken \"already\"");
        let failed = response(Answered { request: 4, ts: Some(9) }, Err(&error), &LogLines::default());
        assert_eq!(serde_json::from_str::<Value>(&failed).unwrap()["result"], "Taken \"already\"");
        assert!(!failed.contains("\"ts\""));
    }

    #[test]
    fn parts_join_to_the_transition() {
        let long = "ü".repeat(TRANSITION_BYTES_MAX);
        let parts = parts(&long, 7);
        assert_eq!(parts.len(), 2, "each character has two bytes");
        let joined: String = parts
            .iter()
            .map(|part| serde_json::from_str::<Value>(part).unwrap()["chunk"].as_str().unwrap().to_owned())
            .collect();
        assert!(joined == long);
    }

    #[test]
    fn only_recent_npm_clients_support_parts() {
        for (version, client, takes) in [
            ("1.48.0", None, true),
            ("1.28.0", None, true),
            ("1.27.9", None, false),
            ("2.0.0-alpha.1", None, true),
            ("", Some("npm-1.30.0"), true),
            ("", Some("rust-0.10.4"), false),
            ("", Some("python-1.50.0"), false),
            ("", None, false),
        ] {
            assert_eq!(ClientKind::of(version, client) == ClientKind::SupportsParts, takes, "{version} {client:?}");
        }
    }
}
