//! The command: it reads one message per line from standard input, and writes one response per line.

use std::io::{BufRead, Read as _, Write as _};

use super::docs::Library;
use super::tools::{self, Workbench};
use crate::connect::ConnectArgs;
use crate::failure::Failure;
use crate::program;
use convoke_calls::registry::Registry;
use convoke_core::limits::Limits;
use convoke_server::mcp::protocol::{self, Message, Method};
use convoke_server::mcp::refusal::{Reason, Refusal};
use convoke_server::mcp::results::{ServerInfo, ToolResult};
use convoke_store::Engines;

/// Serve tools for a coding agent on standard input and output, by the Model Context Protocol
///
/// The tools list and call the functions of this program, show completed calls, tables, rows, the schema and the checks
/// of `convoke doctor`, and search the documentation. They use the running server of the data folder, or the data folder
/// itself if no server runs; each call connects again, so the server may stop and start. Without --write they change
/// nothing: only queries can be called.
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
        let bench = Workbench { engines, connect: self.connect, registry, library, may_write: self.write };
        let info = ServerInfo {
            name: program::name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: INSTRUCTIONS.to_owned(),
        };
        let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
        loop {
            let mut line = Vec::new();
            if (&mut input).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let Some(mut response) = answer(&bench, &info, &mut input, line)? else { continue };
            response.push(b'\n');
            // A client that has gone away reads no more responses.
            if output.write_all(&response).and_then(|()| output.flush()).is_err() {
                return Ok(());
            }
        }
    }
}

/// Returns the response to a line; none to a notification or a blank line. Skips the rest of a line that is too long.
fn answer(
    bench: &Workbench<'_>,
    info: &ServerInfo,
    input: &mut impl BufRead,
    line: Vec<u8>,
) -> Result<Option<Vec<u8>>, Failure> {
    if line.len() as u64 > LINE_BYTES_MAX && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        let message = format!("A message has at most {LINE_BYTES_MAX} bytes");
        return Ok(Some(Refusal::new(Reason::InvalidRequest, message).to_json().into_bytes()));
    }
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let request = match protocol::read(&line, Limits::default().json_depth_max, None) {
        Ok(Message::Request(request)) => request,
        Ok(Message::Notification) => return Ok(None),
        Err(refusal) => return Ok(Some(refusal.to_json().into_bytes())),
    };
    let response = match &request.method {
        Method::Initialize(version) => info.initialized(&request, version),
        Method::Discover => info.discovered(&request),
        Method::Ping => info.pong(&request),
        Method::ListTools => info.listed(&request, &tools::list(bench.may_write)),
        Method::CallTool(call) => {
            let Some(called) = bench.call(&call.name, call.arguments) else {
                let refusal = request.refused(Reason::InvalidParams, format!("Unknown tool: {}", call.name));
                return Ok(Some(refusal.to_json().into_bytes()));
            };
            let (text, is_error) = match called {
                Ok(value) => (value.to_string(), false),
                Err(failure) => (program::own(&failure.to_string()), true),
            };
            let meta = serde_json::Map::new();
            let result = ToolResult { text: &text, has_json: !is_error, is_error, meta };
            let mut out = Vec::new();
            info.called(&request, &result, &mut out)?;
            return Ok(Some(out));
        }
    };
    Ok(Some(response.into_bytes()))
}
