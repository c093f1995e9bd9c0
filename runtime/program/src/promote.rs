//! `promote`: makes a server that follows copies independent.

use hyper::Method;
use serde_json::Value;

use super::connect::ConnectArgs;
use super::failure::Failure;
use super::table;
use convoke_store::Engines;

/// Let a server that follows copies take the place of the server that makes them
///
/// For a server that was started with `serve --follow`. It begins the next generation of the copies, so that the former
/// server can neither copy nor acknowledge a mutation that waits for its copy. Then it applies the rest of the copies
/// and starts again, on the same addresses, and accepts changes. Send the clients to it. If the former server runs
/// without `acknowledge = "copied"`, stop it first: it does not know that it was replaced until it copies again.
///
///   convoke promote --data /var/lib/convoke
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Promote {
    #[command(flatten)]
    connect: ConnectArgs,
}

impl Promote {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        if connection.in_process().is_some() {
            return Err(Failure(
                "no server runs on this data folder: start it with `convoke serve --follow URL`; or restore the copies \
                 with `convoke restore --from URL --take-over`"
                    .to_owned(),
            ));
        }
        let promoted: Value = connection.ask(Method::POST, "promote", None)?;
        let number = |name: &str| promoted[name].as_u64().unwrap_or_default();
        table::print(&format!(
            "promoted: the server has commit {} of generation {}. It starts again now and accepts changes; if its \
             settings have [copy], it continues the copies as generation {}",
            number("commit"),
            number("former"),
            number("generation")
        ))
    }
}
