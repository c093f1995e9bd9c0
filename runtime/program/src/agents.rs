//! `agents`: a file that tells coding agents how to work in the program.

use std::path::PathBuf;

use super::complete_file;
use super::failure::Failure;
use super::output;
use super::program;
use convoke_calls::registry::Registry;
use convoke_server::openapi::{About, llms};

/// The guide of the framework for agents. `mcp` searches it too.
pub(crate) const GUIDE: &str = include_str!("guide.md");

/// The first words of a file that this command has written.
const MARK: &str = "<!-- Written by Convoke";

/// Write AGENTS.md for coding agents: how to work in this program, and its functions
///
/// The file has the guide of the framework and the list of the program's public functions. Run the command again after
/// the functions change. It does not overwrite a file that it has not written.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  convoke agents                        write AGENTS.md
  convoke agents --out -                print it")]
pub(super) struct Agents {
    /// The file; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "AGENTS.md")]
    out: PathBuf,
    /// Overwrite a file that this command has not written
    #[arg(long)]
    force: bool,
}

impl Agents {
    pub(super) fn run(self) -> Result<(), Failure> {
        let registry = Registry::collect()?;
        let about = About::collect().map_err(Failure)?;
        let text = text(&registry, about);
        if self.out.as_os_str() == "-" {
            return output::text(&text);
        }
        let file = self.out.display();
        match std::fs::read_to_string(&self.out) {
            Ok(former) if !former.starts_with(MARK) && !self.force => {
                return Err(Failure(format!(
                    "{file} was not written by `convoke agents`; name another file with --out, or overwrite it with --force"
                )));
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound && !self.force => {
                return Err(Failure::reading(&self.out)(error));
            }
            Ok(_) | Err(_) => {}
        }
        complete_file::write(&self.out, &text)?;
        note!("{}: wrote {file}", program::name());
        Ok(())
    }
}

/// Returns the file.
fn text(registry: &Registry, about: &About) -> String {
    let name = program::name();
    let guide = program::own(GUIDE);
    let functions = llms::functions(registry, about).replace("\n## ", "\n### ");
    let functions = functions.strip_prefix("## ").map(|rest| format!("### {rest}")).unwrap_or(functions);
    format!(
        "{MARK}; run `{name} agents` after the functions change. -->\n\n{guide}\n## Functions of this program\n\n{}\n",
        functions.trim_end()
    )
}
