//! Functions as tools: name, description, and the schemas of OpenAPI as JSON Schema.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::json_schema::standalone;
use super::protocol::Era;
use super::results::ServerInfo;
use crate::openapi::prose::Prose;
use crate::openapi::schemas::Schemas;
use convoke_calls::about::About;
use convoke_calls::function::Kind;
use convoke_calls::registry::{Registered, Registry};

/// The tools of a server, and its description. Built at the first request.
#[derive(Default)]
pub struct Tools {
    built: OnceLock<Built>,
}

struct Built {
    info: ServerInfo,
    handshake: Vec<Value>,
    per_request: Vec<Value>,
}

impl Tools {
    /// Returns the description of the server.
    pub fn info(&self, registry: &Registry) -> &ServerInfo {
        &self.built(registry).info
    }

    /// Returns the tools as `tools/list` has them.
    pub fn list(&self, registry: &Registry, era: Era) -> &[Value] {
        let built = self.built(registry);
        match era {
            Era::Handshake => &built.handshake,
            Era::PerRequest => &built.per_request,
        }
    }

    fn built(&self, registry: &Registry) -> &Built {
        self.built.get_or_init(|| {
            // The start of the server has checked it and reported mistakes.
            let about = About::collect().unwrap_or(&About::NONE);
            let functions: Vec<&Registered> = registry.tools().collect();
            let per_request = described(registry, &functions);
            let handshake = per_request.iter().cloned().map(for_handshake).collect();
            Built { info: info(about), handshake, per_request }
        })
    }
}

fn info(about: &About) -> ServerInfo {
    let rules = "Times are milliseconds since the epoch, and ids are texts that begin with the name of their table. A failed \
                 call has the text `CODE: sentence`. RATE_LIMITED, TIMEOUT and UNAVAILABLE are temporary: retry a tool that \
                 reads, and any other tool only with the same convoke/idempotencyKey in _meta.";
    let instructions = match about.description.trim() {
        "" => rules.to_owned(),
        description => format!("{description}\n\n{rules}"),
    };
    ServerInfo { name: about.title.to_owned(), version: about.version.to_owned(), instructions }
}

/// Describes functions as tools, whether or not they are: name, description, schemas, hints.
pub fn described(registry: &Registry, functions: &[&Registered]) -> Vec<Value> {
    let names: BTreeSet<&'static str> = registry.all().map(|function| function.def.name).collect();
    let mut schemas = Schemas::new(&names);
    let forms: Vec<(Value, Value)> =
        functions.iter().map(|function| (schemas.arguments(function.def), schemas.result(function.def))).collect();
    let named = schemas.finish();
    let tool = |(function, (args, result)): (&&Registered, (Value, Value))| {
        let prose = Prose::of(function.def.doc, &names);
        json!({
            "name": function.flat_name(),
            "description": prose.text,
            "inputSchema": standalone(&named.arguments(args), &named.components),
            "outputSchema": standalone(&named.result(result), &named.components),
            "annotations": hints(function.kind()),
        })
    };
    functions.iter().zip(forms).map(tool).collect()
}

/// Returns the hints with which a client decides whether to ask its user. A mutation may also destroy; only the author
/// knows.
fn hints(kind: Kind) -> Value {
    match kind {
        Kind::Query => json!({ "readOnlyHint": true, "openWorldHint": false }),
        Kind::Mutation => json!({ "readOnlyHint": false, "openWorldHint": false }),
        Kind::Action => json!({ "readOnlyHint": false, "openWorldHint": true }),
    }
}

/// Removes a schema of the result that the versions before 2026-07-28 do not allow: it must describe objects only.
fn for_handshake(mut tool: Value) -> Value {
    if tool["outputSchema"]["type"] != "object"
        && let Some(members) = tool.as_object_mut()
    {
        members.remove("outputSchema");
    }
    tool
}
