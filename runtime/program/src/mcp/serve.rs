//! The command: it reads one message per line from standard input, and writes one response per line. Each call of a tool
//! has a thread, so that a slow call delays no other message.

use std::io::{BufRead, Read as _, Stdout, Write as _};
use std::thread::Scope;

use parking_lot::Mutex;

use super::docs::Library;
use super::running::{CALLS_MAX, Running, RunningCall};
use super::tools::{self, Call, Tool, Workbench};
use crate::connect::ConnectArgs;
use crate::failure::Failure;
use crate::program;
use convoke_calls::registry::Registry;
use convoke_core::limits::Limits;
use convoke_server::mcp::protocol::{self, Era, Message, Method, Request, ToolCall};
use convoke_server::mcp::refusal::{Reason, Refusal};
use convoke_server::mcp::results::{ServerInfo, ToolResult};
use convoke_store::Engines;

/// Serve tools for a coding agent on standard input and output, by the Model Context Protocol
///
/// The tools list and call the functions of this program, show completed calls, tables, rows, the schema and the checks
/// of `convoke doctor`, and search the documentation. They use the running server of the data folder, or the data folder
/// itself if no server runs; the server may stop and start between calls. At most 16 calls run concurrently, and a client
/// can cancel them. Without --write the tools change nothing: only queries can be called.
///
/// The agents of users of the program connect to `POST /mcp` of the server instead, with the tools that its functions
/// declare.
///
///   claude mcp add shelf -- cargo run -q -- mcp            register it with an agent
///   convoke mcp --write                                    also call mutations and actions
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Mcp {
    /// Also call mutations and actions
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Largest number of bytes of a message.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;

const INSTRUCTIONS: &str = "Tools of a running Convoke program, for its developer. Start with `functions` and `docs`. Times are \
                            milliseconds since the epoch.";

impl Mcp {
    /// Runs the command. `commands` are those of the program, whose help is searched.
    pub(crate) fn run(self, engines: &Engines, commands: clap::Command) -> Result<(), Failure> {
        let config = self.connect.config()?;
        self.connect.require_folder(&config)?;
        // Standard output belongs to the protocol. The log goes to standard error.
        let _log = self.connect.install_log(&config)?;
        let registry = Registry::collect()?;
        let library = Library::of(&registry, commands);
        let info = ServerInfo {
            name: program::name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: INSTRUCTIONS.to_owned(),
        };
        let bench = Workbench::new(engines, self.connect, registry, library, self.write);
        let session = Session { bench, info, output: Mutex::new(std::io::stdout()), running: Running::default() };
        // The end of the input lets the running calls finish: their responses are written before the process ends.
        std::thread::scope(|calls| session.read(&mut std::io::stdin().lock(), calls))
    }
}

/// The messages of one client.
struct Session<'a> {
    bench: Workbench<'a>,
    info: ServerInfo,
    output: Mutex<Stdout>,
    running: Running,
}

/// A call of a tool, in a thread of its own.
struct ToolThread<'a> {
    tool: &'static Tool,
    id: String,
    era: Era,
    name: String,
    arguments: String,
    running: RunningCall<'a>,
}

impl Session<'_> {
    /// Serves the messages until the end of the input, or until the client reads no more responses.
    fn read<'s>(&'s self, input: &mut impl BufRead, calls: &'s Scope<'s, '_>) -> Result<(), Failure> {
        let failed =
            |error: std::io::Error| Failure(format!("the messages cannot be read from standard input: {error}"));
        loop {
            let mut line = Vec::new();
            if input.take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line).map_err(failed)? == 0 {
                return Ok(());
            }
            let response = if line.len() as u64 > LINE_BYTES_MAX && !line.ends_with(b"\n") {
                input.skip_until(b'\n').map_err(failed)?;
                let message = format!("A message has at most {LINE_BYTES_MAX} bytes");
                Some(Refusal::new(Reason::InvalidRequest, message).to_json())
            } else {
                self.answer(&line, calls)
            };
            if let Some(response) = response
                && self.write(response.into_bytes()).is_err()
            {
                self.running.cancel_all();
                return Ok(());
            }
        }
    }

    /// Returns the response to a line; none to a notification, a blank line, or a call, whose thread responds.
    fn answer<'s>(&'s self, line: &[u8], calls: &'s Scope<'s, '_>) -> Option<String> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let request = match protocol::read(line, Limits::default().json_depth_max, None) {
            Ok(Message::Request(request)) => request,
            Ok(Message::Cancelled(id)) => {
                self.running.cancel(id);
                return None;
            }
            Ok(Message::Notification) => return None,
            Err(refusal) => return Some(refusal.to_json()),
        };
        let info = &self.info;
        Some(match &request.method {
            Method::Initialize(version) => info.initialized(&request, version),
            Method::Discover => info.discovered(&request),
            Method::Ping => info.pong(&request),
            Method::ListTools => info.listed(&request, &self.bench.list()),
            Method::CallTool(call) => self.begin(&request, call, calls).err()?.to_json(),
        })
    }

    /// Begins a call in a thread of its own.
    fn begin<'s>(
        &'s self,
        request: &Request<'_>,
        call: &ToolCall<'_>,
        calls: &'s Scope<'s, '_>,
    ) -> Result<(), Refusal> {
        let unknown = || request.refused(Reason::InvalidParams, format!("Unknown tool: {}", call.name));
        let tool = tools::find(&call.name).ok_or_else(unknown)?;
        let busy = || {
            let message = format!("{CALLS_MAX} calls are running; repeat the call when one of them has ended");
            request.refused(Reason::InternalError, message)
        };
        let running = self.running.begin(request.id).ok_or_else(busy)?;
        let (id, arguments) = (request.id.to_owned(), call.arguments.to_owned());
        let call = ToolThread { tool, id, era: request.era, name: call.name.clone(), arguments, running };
        let thread = std::thread::Builder::new().name("mcp-call".to_owned());
        match thread.spawn_scoped(calls, move || self.call(call)) {
            Ok(_) => Ok(()),
            Err(error) => Err(request.refused(Reason::InternalError, format!("the call cannot begin: {error}"))),
        }
    }

    /// Runs a call and writes its response, unless the client has cancelled the call.
    fn call(&self, ToolThread { tool, id, era, name, arguments, running }: ToolThread<'_>) {
        let call = Call { bench: &self.bench, cancelled: running.cancelled() };
        let (text, is_error) = match (tool.call)(&call, &arguments) {
            Ok(value) => (value.to_string(), false),
            Err(failure) => (program::own(&failure.to_string()), true),
        };
        if *call.cancelled.borrow() {
            return;
        }
        let call = ToolCall { name, arguments: &arguments, idempotency_key: None };
        let request = Request { id: &id, era, method: Method::CallTool(call) };
        let result = ToolResult { text: &text, has_json: !is_error, is_error, meta: serde_json::Map::new() };
        let mut response = Vec::new();
        let written = self.info.called(&request, &result, &mut response).and_then(|()| self.write(response));
        // A client that has gone away reads no more responses.
        if written.is_err() {
            self.running.cancel_all();
        }
    }

    /// Writes a response as one line.
    fn write(&self, mut response: Vec<u8>) -> std::io::Result<()> {
        response.push(b'\n');
        let mut output = self.output.lock();
        output.write_all(&response)?;
        output.flush()
    }
}
