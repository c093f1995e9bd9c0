//! The part of the gateway for agents: `POST /mcp`.
//!
//! A tool runs like every other call of its function: the same identity, rights, rates, fairness, log and metrics. Only
//! the form of the request and of the response differs.

use std::sync::Arc;

use hyper::header::HeaderValue;
use serde_json::{Map, json};

use super::{Ended, Endpoint, Gateway, IDEMPOTENCY_REPLAYED, failed};
use crate::mcp::protocol::{self, Message, Method, Mirrored, Request, ToolCall};
use crate::mcp::refusal::{Reason, Refusal};
use crate::mcp::results::ToolResult;
use crate::routes::{ACCEPT, MCP_METHOD, MCP_NAME, MCP_VERSION};
use convoke_calls::call::dispatch;
use convoke_calls::call::envelope::LogLinesOn;
use convoke_calls::codec::Format;
use convoke_calls::logs::LogLines;
use convoke_calls::observe::Stage;
use convoke_calls::registry::Registered;
use convoke_core::answer::writer::Writer;
use convoke_core::error::{Code, Error, Result};
use convoke_core::excerpt::excerpt;
use convoke_core::identity::{Caller, DeployKeyCaller};
use convoke_http::{Incoming, Repeated, Reply};

/// Member of a result's `_meta`: the code of the error, and its further data.
const ERROR: &str = "convoke/error";
/// Member of a result's `_meta`: the log lines of the function.
const LOG_LINES: &str = "convoke/logLines";

impl Gateway {
    pub(super) async fn mcp(&self, incoming: &Incoming<Endpoint>) -> Reply {
        let (caller, key) = match self.function_caller(incoming).await {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        if !accepts_json(incoming) {
            let error = Error::new(Code::BadRequest, "Responses are application/json, which Accept does not list");
            self.rejected(incoming, Stage::Envelope, &caller, &error);
            return Reply { status: 406, ..failed(&error) };
        }
        let read = mirrored(incoming)
            .and_then(|fields| protocol::read(&incoming.body, self.runtime.limits().json_depth_max, Some(fields)));
        let request = match read {
            Ok(Message::Request(request)) => request,
            // By HTTP, a client cancels a request by closing its connection.
            Ok(Message::Notification | Message::Cancelled(_)) => return Reply::json(202, ""),
            Err(refusal) => return self.refused(incoming, &caller, &refusal),
        };
        let registry = self.runtime.registry();
        let info = self.tools.info(registry);
        let response = match &request.method {
            Method::Initialize(version) => info.initialized(&request, version),
            Method::Discover => info.discovered(&request),
            Method::Ping => info.pong(&request),
            Method::ListTools => info.listed(&request, self.tools.list(registry, request.era)),
            Method::CallTool(call) => return self.call_tool(incoming, &request, call, caller, key.as_deref()).await,
        };
        Reply::json(200, response)
    }

    async fn call_tool(
        &self,
        incoming: &Incoming<Endpoint>,
        request: &Request<'_>,
        call: &ToolCall<'_>,
        caller: Caller,
        key: Option<&DeployKeyCaller>,
    ) -> Reply {
        let Some(function) = self.runtime.registry().tool(&call.name) else {
            let refusal = request.refused(Reason::InvalidParams, format!("Unknown tool: {}", excerpt(&call.name)));
            return self.refused(incoming, &caller, &refusal);
        };
        let field = incoming.idempotency_key.as_ref().map(HeaderValue::as_bytes);
        let member = call.idempotency_key.as_ref().map(String::as_bytes);
        if let (Some(field), Some(member)) = (field, member)
            && field != member
        {
            let message = "Idempotency-Key and convoke/idempotencyKey differ; send one of them";
            return self.refused(incoming, &caller, &request.refused(Reason::InvalidParams, message));
        }
        let parts = dispatch::Request::Parts {
            kind: function.kind(),
            path: &function.path,
            args: call.arguments,
            format: Format::Json,
        };
        match self.ended(incoming, parts, caller, key, field.or(member)).await {
            Ok(ended) => self.tool_result(incoming, request, ended),
            Err(error) => refused_call(request, &error),
        }
    }

    /// Returns the response to the call of a tool.
    fn tool_result(&self, incoming: &Incoming<Endpoint>, request: &Request<'_>, ended: Ended) -> Reply {
        let dispatch::Outcome { result, log_lines, is_replayed } = ended.outcome;
        let written = match &result {
            Ok(value) => {
                let value = value.joined();
                let lines = (self.log_lines(incoming) == LogLinesOn::Always).then_some(&log_lines);
                let text = std::str::from_utf8(&value).map_err(Error::internal);
                text.and_then(|text| self.written(request, text, None, lines))
            }
            // A model can react to an error of the function. If nothing was run, the client must.
            Err(error) if matches!(error.code().status(), 200 | 500) => {
                let text = format!("{}: {}", error.code(), error.message());
                self.written(request, &text, Some(error), Some(&log_lines))
            }
            Err(error) => return refused_call(request, error),
        };
        match written {
            Ok(mut reply) => {
                if is_replayed {
                    reply.fields.push((IDEMPOTENCY_REPLAYED, const { HeaderValue::from_static("true") }));
                }
                reply
            }
            Err(error) => refused_call(request, &error),
        }
    }

    fn written(
        &self,
        request: &Request<'_>,
        text: &str,
        error: Option<&Error>,
        lines: Option<&LogLines>,
    ) -> Result<Reply> {
        let mut meta = Map::new();
        if let Some(error) = error {
            meta.insert(ERROR.to_owned(), serde_json::to_value(error).map_err(Error::internal)?);
        }
        if let Some(lines) = lines {
            meta.insert(LOG_LINES.to_owned(), serde_json::to_value(lines).map_err(Error::internal)?);
        }
        let result = ToolResult { text, has_json: error.is_none(), is_error: error.is_some(), meta };
        // The value occurs twice, once of them with escapes, in a response of the usual size limit for one value.
        let bytes_max = self.runtime.limits().response_bytes_max.saturating_mul(4);
        let mut out = Writer::new(Arc::clone(self.runtime.answers()), bytes_max);
        let info = self.tools.info(self.runtime.registry());
        match info.called(request, &result, &mut out) {
            Ok(()) => Ok(Reply::json(200, out.finish()?)),
            Err(cause) => Err(out.failure().unwrap_or_else(|| Error::internal(cause))),
        }
    }

    /// Returns the tool that the field `Mcp-Name` names.
    pub(super) fn tool_named_in_the_head(&self, incoming: &Incoming<Endpoint>) -> Option<&Registered> {
        let name = incoming.field(MCP_NAME).ok().flatten()?.to_str().ok()?;
        self.runtime.registry().tool(name)
    }

    fn refused(&self, incoming: &Incoming<Endpoint>, caller: &Caller, refusal: &Refusal) -> Reply {
        let error = Error::new(refusal.reason.recorded(), refusal.message.clone());
        self.rejected(incoming, Stage::Envelope, caller, &error);
        Reply::json(refusal.status, refusal.to_json())
    }
}

/// Returns the response to a call that did not run: with the HTTP status of its code, as on `/api/run`.
fn refused_call(request: &Request<'_>, error: &Error) -> Reply {
    let status = error.code().status();
    let reason = if status < 500 { Reason::InvalidParams } else { Reason::InternalError };
    let data = serde_json::to_value(error).unwrap_or_else(|_| json!({ "code": error.code().as_str() }));
    let refusal = Refusal { status, data: Some(data), ..request.refused(reason, error.message()) };
    let retry_after_s = (status == 503).then_some(1);
    Reply { retry_after_s, ..Reply::json(status, refusal.to_json()) }
}

/// Returns true if the client takes JSON. Without the field it takes everything (RFC 9110 §12.5.1).
fn accepts_json(incoming: &Incoming<Endpoint>) -> bool {
    let Ok(field) = incoming.field(ACCEPT) else { return true };
    let Some(field) = field.and_then(|field| field.to_str().ok()) else { return true };
    field.split(',').any(|range| {
        let essence = range.split(';').next().unwrap_or_default().trim();
        ["application/json", "application/*", "*/*"].iter().any(|known| essence.eq_ignore_ascii_case(known))
    })
}

fn mirrored(incoming: &Incoming<Endpoint>) -> std::result::Result<Mirrored<'_>, Refusal> {
    let field = |name: &str| match incoming.field(name) {
        Ok(field) => Ok(field.map(HeaderValue::as_bytes)),
        // The first and the last value would have different readers.
        Err(Repeated) => {
            Err(Refusal::new(Reason::HeaderMismatch, format!("The request has more than one header field {name}")))
        }
    };
    Ok(Mirrored { version: field(MCP_VERSION)?, method: field(MCP_METHOD)?, name: field(MCP_NAME)? })
}
