//! `openapi`: the description of the interface.

use std::path::PathBuf;

use super::complete_file;
use super::failure::Failure;
use super::output;
use convoke_calls::registry::Registry;
use convoke_server::openapi::{About, Document, Options};

/// Print the OpenAPI 3.0.3 description of this program's functions
///
/// The description equals `/openapi.json` of a server. It is made from the program alone: no server runs, and no data
/// is opened.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  convoke openapi --out openapi.json                         a file to keep and compare
  convoke openapi --server https://api.example.com | jq .    for tools that need an address")]
pub(super) struct OpenApi {
    /// Write it to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Address of the calls, such as https://api.example.com
    #[arg(long, value_name = "URL", default_value = "/")]
    server: String,
    /// Include the functions for admins
    #[arg(long)]
    admin: bool,
}

impl OpenApi {
    pub(super) fn run(self) -> Result<(), Failure> {
        let registry = Registry::collect()?;
        let about = About::collect().map_err(Failure)?;
        let options = Options { admin: self.admin, server: self.server };
        let text = Document::of(&registry, about, &options).to_json();
        match self.out {
            Some(file) => {
                complete_file::write(&file, &text)?;
            }
            None => output::text(&text)?,
        }
        Ok(())
    }
}
