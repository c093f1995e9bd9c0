//! The results of requests.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::protocol::{Era, Request, VERSIONS};

/// The member of `_meta` that names the server, since 2026-07-28.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Time for which a client may use a list of tools, in milliseconds. The list changes only with the program.
const LIST_TTL_MS: u64 = 300_000;

/// The description of a server for its clients.
#[derive(Clone, Debug)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// A text for models.
    pub instructions: String,
}

/// The end of a call of a tool.
#[derive(Debug)]
pub struct ToolResult<'a> {
    /// The text: JSON if `has_json`.
    pub text: &'a str,
    /// True if the text is JSON, so that it is also the structured content.
    pub has_json: bool,
    /// True if the call failed.
    pub is_error: bool,
    /// Further members for programs.
    pub meta: Map<String, Value>,
}

impl ServerInfo {
    fn to_value(&self) -> Value {
        json!({ "name": self.name, "version": self.version })
    }

    /// Returns the response to `initialize`.
    pub fn initialized(&self, request: &Request<'_>, version: &str) -> String {
        let result = json!({
            "protocolVersion": version,
            "capabilities": { "tools": {} },
            "serverInfo": self.to_value(),
            "instructions": self.instructions,
        });
        self.response(request, result)
    }

    /// Returns the response to `server/discover`.
    pub fn discovered(&self, request: &Request<'_>) -> String {
        let result = json!({
            "supportedVersions": VERSIONS,
            "capabilities": { "tools": {} },
            "instructions": self.instructions,
            "ttlMs": LIST_TTL_MS,
            "cacheScope": "public",
        });
        self.response(request, result)
    }

    /// Returns the response to `ping`.
    pub fn pong(&self, request: &Request<'_>) -> String {
        self.response(request, json!({}))
    }

    /// Returns the response to `tools/list`.
    pub fn listed(&self, request: &Request<'_>, tools: &[Value]) -> String {
        let result = match request.era {
            Era::Handshake => json!({ "tools": tools }),
            Era::PerRequest => json!({ "tools": tools, "ttlMs": LIST_TTL_MS, "cacheScope": "public" }),
        };
        self.response(request, result)
    }

    fn response(&self, request: &Request<'_>, mut result: Value) -> String {
        if request.era == Era::PerRequest {
            result["resultType"] = "complete".into();
            result["_meta"] = json!({ SERVER_INFO: self.to_value() });
        }
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", request.id)
    }

    /// Writes the response to `tools/call`. Before 2026-07-28, the structured content must be an object.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn called(&self, request: &Request<'_>, result: &ToolResult<'_>, out: &mut impl Write) -> io::Result<()> {
        let ToolResult { text, has_json, is_error, meta } = result;
        write!(
            out,
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":",
            request.id
        )?;
        serde_json::to_writer(&mut *out, text)?;
        write!(out, "}}],\"isError\":{is_error}")?;
        if *has_json && (request.era == Era::PerRequest || text.starts_with('{')) {
            write!(out, ",\"structuredContent\":{text}")?;
        }
        let mut meta = meta.clone();
        if request.era == Era::PerRequest {
            write!(out, ",\"resultType\":\"complete\"")?;
            meta.insert(SERVER_INFO.to_owned(), self.to_value());
        }
        if !meta.is_empty() {
            write!(out, ",\"_meta\":")?;
            serde_json::to_writer(&mut *out, &meta)?;
        }
        write!(out, "}}}}")
    }
}
