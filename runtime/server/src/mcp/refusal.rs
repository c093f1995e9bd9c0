//! The errors of the protocol. An error of a function is a result instead, because a model can react to it.

use serde_json::{Value, json};

use convoke_core::error::Code;

/// An error of JSON-RPC.
#[derive(Debug)]
pub struct Refusal {
    /// The JSON of the request's id, if it could be read.
    pub id: Option<String>,
    /// The reason.
    pub reason: Reason,
    /// A sentence for people.
    pub message: String,
    /// Data for programs.
    pub data: Option<Value>,
    /// The HTTP status.
    pub status: u16,
}

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The body is not JSON.
    ParseError,
    /// The body is not one message of JSON-RPC 2.0.
    InvalidRequest,
    /// The server does not have the method.
    MethodNotFound,
    /// A parameter is missing or invalid, or there is no such tool.
    InvalidParams,
    /// The server cannot serve the request now.
    InternalError,
    /// A header field differs from the body.
    HeaderMismatch,
    /// The server does not speak this version of the protocol.
    UnsupportedVersion,
}

impl Reason {
    /// Returns the code of JSON-RPC 2.0 §5.1, or of the specification of 2026-07-28.
    pub const fn code(self) -> i32 {
        match self {
            Reason::ParseError => -32700,
            Reason::InvalidRequest => -32600,
            Reason::MethodNotFound => -32601,
            Reason::InvalidParams => -32602,
            Reason::InternalError => -32603,
            Reason::HeaderMismatch => -32020,
            Reason::UnsupportedVersion => -32022,
        }
    }

    /// Returns the code under which the server records the rejected request.
    pub const fn recorded(self) -> Code {
        match self {
            Reason::ParseError => Code::InvalidJson,
            Reason::InternalError => Code::Overloaded,
            Reason::HeaderMismatch | Reason::UnsupportedVersion => Code::BadRequest,
            Reason::InvalidRequest | Reason::MethodNotFound | Reason::InvalidParams => Code::InvalidEnvelope,
        }
    }
}

impl Refusal {
    /// Creates a refusal of a message without a readable id, with the HTTP status 400.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { id: None, reason, message: message.into(), data: None, status: 400 }
    }

    /// Returns the message for the client.
    pub fn to_json(&self) -> String {
        let mut error = json!({ "code": self.reason.code(), "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        let id = self.id.as_deref().map(|id| format!("\"id\":{id},")).unwrap_or_default();
        format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{error}}}")
    }
}
