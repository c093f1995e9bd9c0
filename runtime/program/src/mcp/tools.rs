//! The tools: what each takes, and how it reaches the installation.

use std::sync::{Arc, Weak};

use hyper::Method;
use parking_lot::{Mutex, RwLock};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::docs::Library;
use crate::connect::{ConnectArgs, Connection};
use crate::doctor::Doctor;
use crate::failure::Failure;
use crate::functions::entry;
use crate::local::LocalArgs;
use crate::run::encoded as encoded_path;
use crate::table::encoded;
use convoke_calls::registry::Registry;
use convoke_server::auth::acting_as::ActingAs;
use convoke_server::mcp::tools::described;
use convoke_store::Engines;

/// The environment of the tools, which concurrent calls share.
pub(super) struct Workbench<'a> {
    engines: &'a Engines,
    connect: ConnectArgs,
    registry: Registry,
    library: Library,
    may_write: bool,
    /// The connection of the running calls. Only one connection of a process can open a data folder.
    connection: Mutex<Weak<Connection>>,
    /// Read by calls with a connection, and written by a check that opens the data folder itself.
    folder: RwLock<()>,
}

/// A call of a tool.
pub(super) struct Call<'a> {
    pub bench: &'a Workbench<'a>,
    /// Becomes true when the client cancels the call.
    pub cancelled: watch::Receiver<bool>,
}

/// A tool.
pub(super) struct Tool {
    name: &'static str,
    description: &'static str,
    schema: fn() -> schemars::Schema,
    /// Runs a call with the JSON of its arguments.
    pub(super) call: fn(&Call<'_>, &str) -> Result<Value, Failure>,
}

static TOOLS: [Tool; 7] = [
    Tool {
        name: "functions",
        description: "Lists the functions of the program: path, kind, visibility, rights, description. With the whole path of \
                      one, returns its documentation and the JSON schemas of its arguments and result.",
        schema: || schemars::schema_for!(Functions),
        call: |call, arguments| call.functions(&read(arguments)?),
    },
    Tool {
        name: "run",
        description: "Calls a function and returns its value and its log lines. Without `as` the caller is the operator, who has \
                      the rights of a deploy key.",
        schema: || schemars::schema_for!(Run),
        call: |call, arguments| call.run(read(arguments)?),
    },
    Tool {
        name: "logs",
        description: "Returns the latest completed calls, oldest first: function, outcome, duration, caller, error, log lines, \
                      arguments without secrets, rows read and written.",
        schema: || schemars::schema_for!(Logs),
        call: |call, arguments| call.logs(&read(arguments)?),
    },
    Tool {
        name: "data",
        description: "Lists the tables, or returns rows of one table by id, that is by creation time. `cursor` in the result is \
                      for the next page.",
        schema: || schemars::schema_for!(Data),
        call: |call, arguments| call.data(&read(arguments)?),
    },
    Tool {
        name: "schema",
        description: "Compares the tables in the code with those in the database: columns, indexes, differences, and the \
                      progress of migrations.",
        schema: || schemars::schema_for!(Nothing),
        call: |call, arguments| {
            read::<Nothing>(arguments)?;
            call.admin("schema")
        },
    },
    Tool {
        name: "doctor",
        description: "Checks settings, permissions, disk, clock, certificates, identity providers, database and scheduled work, \
                      and says how to repair each problem.",
        schema: || schemars::schema_for!(Nothing),
        call: |call, arguments| {
            read::<Nothing>(arguments)?;
            call.doctor()
        },
    },
    Tool {
        name: "docs",
        description: "Searches the documentation: the guide of the framework, the program's functions, commands, settings and \
                      error codes.",
        schema: || schemars::schema_for!(Docs),
        call: |call, arguments| {
            let Docs { query } = read(arguments)?;
            Ok(json!({ "sections": call.bench.library.search(&query) }))
        },
    },
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Functions {
    /// The beginning of the path, such as `meetings/`, or a whole path.
    path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Run {
    /// The path of the function, as `functions` lists it.
    path: String,
    /// Its arguments.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    args: Option<Box<RawValue>>,
    /// The subject of the user to call as.
    #[serde(rename = "as")]
    subject: Option<String>,
    /// Create the user of `as` if the server does not know it. Needs --write.
    #[serde(default)]
    create: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Logs {
    /// The largest number of calls, at most 1000. The default is 50.
    last: Option<u32>,
    /// The beginning of the path, or a pattern in which `*` matches any characters.
    function: Option<String>,
    /// `ok`, `error` (any), `refused` (by a rule), `failed` (by a fault), or a code such as FORBIDDEN.
    outcome: Option<String>,
    /// A text in the path, the caller, the arguments, the error or the log lines.
    text: Option<String>,
    /// The id of a request.
    request_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Data {
    /// The table. Without it, all tables are listed.
    table: Option<String>,
    /// The largest number of rows, at most 500. The default is 50.
    limit: Option<u32>,
    /// The cursor of an earlier result.
    cursor: Option<String>,
    /// The id of a row.
    id: Option<String>,
    /// Conditions that must all hold: FIELD=VALUE, or with != < <= > >= or ~ (contains) in place of =.
    #[serde(default, rename = "where")]
    conditions: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Docs {
    /// A few words, such as `live query refresh`.
    query: String,
}

const LOGS: u32 = 50;
const LOGS_MAX: u32 = 1_000;
const ROWS: u32 = 50;
const ROWS_MAX: u32 = 500;

/// Returns the tool with this name.
pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl Tool {
    fn described(&self, may_write: bool) -> Value {
        let is_read_only = self.name != "run" || !may_write;
        let about = match (self.name, may_write) {
            ("run", false) => " Only queries can be called: the server of these tools was started without --write.",
            _ => "",
        };
        json!({
            "name": self.name,
            "description": format!("{}{about}", self.description),
            "inputSchema": (self.schema)(),
            "annotations": { "readOnlyHint": is_read_only, "openWorldHint": !is_read_only },
        })
    }
}

fn read<T: DeserializeOwned>(arguments: &str) -> Result<T, Failure> {
    serde_json::from_str(arguments).map_err(|error| Failure(format!("INVALID_ARGUMENT: {error}")))
}

impl<'a> Workbench<'a> {
    /// Creates the environment. `may_write` is true if mutations and actions may be called.
    pub(super) fn new(
        engines: &'a Engines,
        connect: ConnectArgs,
        registry: Registry,
        library: Library,
        may_write: bool,
    ) -> Self {
        Self { engines, connect, registry, library, may_write, connection: Mutex::default(), folder: RwLock::default() }
    }

    /// Returns the tools as `tools/list` has them.
    pub(super) fn list(&self) -> Vec<Value> {
        TOOLS.iter().map(|tool| tool.described(self.may_write)).collect()
    }

    /// Returns the connection of the running calls, or connects: the server may have stopped or started since.
    fn connected(&self) -> Result<Arc<Connection>, Failure> {
        let mut shared = self.connection.lock();
        if let Some(connection) = shared.upgrade() {
            return Ok(connection);
        }
        let connection = Arc::new(self.connect.open_again(self.engines)?);
        *shared = Arc::downgrade(&connection);
        Ok(connection)
    }
}

impl Call<'_> {
    fn functions(&self, Functions { path }: &Functions) -> Result<Value, Failure> {
        if let Some(function) = path.as_deref().and_then(|path| self.bench.registry.get(path)) {
            let mut about = described(&self.bench.registry, &[function]).pop().unwrap_or_default();
            about["path"] = (&*function.path).into();
            about["kind"] = function.kind().as_str().into();
            about["file"] = format!("{}:{}", function.def.file, function.def.line).into();
            return Ok(about);
        }
        let wanted = path.as_deref().unwrap_or_default();
        let found = self.bench.registry.all().filter(|function| function.path.starts_with(wanted));
        let functions: Vec<Value> = found.map(entry).collect();
        match functions.is_empty() {
            true => Err(Failure(format!("no path begins with {wanted:?}; call `functions` without a path"))),
            false => Ok(json!({ "functions": functions })),
        }
    }

    fn run(&self, Run { path, args, subject, create }: Run) -> Result<Value, Failure> {
        if create && !self.bench.may_write {
            return Err(Failure("`create` writes a user: start `convoke mcp` with --write".to_owned()));
        }
        let args = args.as_deref().map_or("{}", RawValue::get);
        let path = path.replace(':', "/");
        // The route for queries rejects other functions, whatever this program knows of the server's functions.
        let (route, body) = match self.bench.may_write {
            true => (format!("/api/run/{}", encoded_path(&path)), format!("{{\"args\":{args}}}")),
            false => ("/api/query".to_owned(), format!("{{\"path\":{},\"args\":{args}}}", Value::from(path))),
        };
        let user = subject.map(|subject| ActingAs { issuer: None, subject, create: Some(create) });
        self.connected(async |connection| {
            let mut response = connection.request_as(Method::POST, &route, Some(body.into()), user.as_ref()).await?;
            let mut envelope = response.envelope().await?;
            let lines = std::mem::take(&mut envelope.log_lines);
            let below = |failure: Failure| match lines.is_empty() {
                true => failure,
                false => Failure(format!("{failure}\n{}", lines.join("\n"))),
            };
            let value = envelope.into_value(&response.request_id).map_err(below)?;
            Ok(json!({ "value": serde_json::from_str::<Value>(value.get())?, "logLines": lines }))
        })
    }

    fn logs(&self, Logs { last, function, outcome, text, request_id }: &Logs) -> Result<Value, Failure> {
        let members = [("function", function), ("outcome", outcome), ("text", text), ("requestId", request_id)];
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("last", &last.unwrap_or(LOGS).min(LOGS_MAX).to_string())
            .extend_pairs(members.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))
            .finish();
        self.connected(async |connection| {
            let response = connection.request(Method::GET, &format!("/api/admin/logs?{query}"), None).await?;
            let mut response = response.success().await?;
            let mut calls = Vec::new();
            while let Some(line) = response.line().await? {
                calls.push(serde_json::from_str::<Value>(&line)?);
            }
            Ok(json!({ "calls": calls }))
        })
    }

    fn data(&self, Data { table, limit, cursor, id, conditions }: &Data) -> Result<Value, Failure> {
        let Some(table) = table else { return self.admin("tables") };
        let members = [("cursor", cursor), ("id", id)];
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("limit", &limit.unwrap_or(ROWS).clamp(1, ROWS_MAX).to_string())
            .extend_pairs(members.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))
            .extend_pairs(conditions.iter().map(|condition| ("where", condition)))
            .finish();
        self.admin(&format!("tables/{}?{query}", encoded(table)))
    }

    fn doctor(&self) -> Result<Value, Failure> {
        if self.bench.connect.url.is_some() {
            return self.admin("doctor");
        }
        let ConnectArgs { data, store, config, env, .. } = self.bench.connect.clone();
        let _folder = self.bench.folder.write();
        let findings = Doctor::quick(LocalArgs { data, store, config, env }, self.bench.engines)?;
        Ok(json!({ "findings": findings }))
    }

    fn admin(&self, path_and_query: &str) -> Result<Value, Failure> {
        self.connected(async |connection| connection.admin(Method::GET, path_and_query, None).await)
    }

    /// Runs work with a connection until the client cancels the call. A server ends a call whose connection is closed.
    fn connected(&self, work: impl AsyncFnOnce(&Connection) -> Result<Value, Failure>) -> Result<Value, Failure> {
        let _folder = self.bench.folder.read();
        let connection = self.bench.connected()?;
        let mut cancelled = self.cancelled.clone();
        connection.block_on(async {
            tokio::select! {
                done = work(&connection) => done,
                _ = cancelled.wait_for(|is_cancelled| *is_cancelled) => Err(Failure("the call was cancelled".to_owned())),
            }
        })
    }
}
