//! `console`: opens the console of a running server.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};

use hyper::Method;
use serde::Deserialize;

use super::connect::ConnectArgs;
use super::failure::Failure;
use super::table;
use convoke_store::Engines;

/// Open the console of a running server in a browser
///
/// The address logs in once, within a minute. If the server runs on this data folder, it grants full rights; on a
/// remote server, it grants those of the deploy key. The console is served on --ops-listen, or with --console on the
/// address of the calls.
///
///   convoke console
///   convoke console --print
///   convoke console --url https://api.example.com --deploy-key-file ci.key
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Console {
    /// Only print the address
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Deserialize)]
struct Link {
    url: String,
    code: String,
}

impl Console {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let elsewhere = self.connect.url.clone();
        let connection = self.connect.open(engines)?;
        if connection.in_process().is_some() {
            let folder = connection.config().data.display();
            return Err(Failure(format!(
                "no server runs on {folder}, so there is no console; start one: convoke serve"
            )));
        }
        let link: Link = connection.ask(Method::POST, "console", None)?;
        // A remote server is reached by the operator's address, not by the server's own one.
        let url = elsewhere.map_or(link.url, |url| format!("{}/console", url.trim_end_matches('/')));
        let address = format!("{url}#{}", link.code);
        if self.print || !std::io::stdout().is_terminal() || !opened(&address) {
            return table::print(&address);
        }
        note!("opened in your browser; the address works once, within a minute");
        Ok(())
    }
}

/// Passes the address to the program that opens addresses here. Other users can read a command line, but the browser
/// uses up the code in it a moment later.
fn opened(address: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program).arg(address).stdout(Stdio::null()).stderr(Stdio::null()).status();
    started.is_ok_and(|status| status.success())
}
