//! `new`: a program to begin with.

use std::io;
use std::path::{Path, PathBuf};

use crate::dependency::Dependency;
use crate::folder;
use crate::name::Name;
use crate::node;
use crate::template::Template;

/// Make a program with a table, a query, a mutation and a test
///
/// Creates a folder with the program's name in the current folder.
///
///   convoke new shelf
///   convoke new shelf --template react
///   convoke new shelf --path ~/src/convoke     depends on this checkout
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct New {
    /// Name of the program and its folder: letters, digits, `-` and `_`
    name: Name,
    /// The files to begin with
    #[arg(long, value_enum, default_value_t = Template::Minimal)]
    template: Template,
    /// Checkout of Convoke that the program depends on [default: the one that this tool was installed from; a tool from
    /// a package registry uses the release]
    #[arg(long, value_name = "CHECKOUT", env = "CONVOKE_CHECKOUT")]
    path: Option<PathBuf>,
}

impl New {
    pub(crate) fn run(&self) -> Result<(), String> {
        let name = &self.name;
        let dependency = Dependency::choose(self.path.as_deref())?;
        let files = self.template.files(name, &dependency.line()?);
        folder::create(Path::new(name.as_str()), &files).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("`{name}` exists in this folder; choose another name, or remove it first")
            }
            _ => format!("`{name}` cannot be written: {error}. Nothing was left behind"),
        })?;
        match dependency {
            Dependency::Release => eprintln!("Created the program `{name}`."),
            Dependency::Checkout(folder) => {
                eprintln!("Created the program `{name}`. It depends on the checkout {}.", folder.display());
            }
        }
        eprintln!("\n{}", self.template.next_steps(name));
        if let Some(advice) = self.template.has_page().then(node::advice).flatten() {
            eprintln!("\n{advice}");
        }
        Ok(())
    }
}
