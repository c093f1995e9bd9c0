//! `functions`: the callable functions.

use serde_json::{Value, json};

use super::failure::Failure;
use super::output;
use convoke_calls::registry::{Registered, Registry};

/// List the functions of this program: path, kind, visibility, rights, tools, description
#[derive(clap::Args)]
pub(super) struct Functions {
    /// Print a JSON array, for tools
    #[arg(long)]
    json: bool,
}

impl Functions {
    pub(super) fn run(self) -> Result<(), Failure> {
        let registry = Registry::collect()?;
        let text = if self.json { as_json(&registry)? } else { as_table(&registry) };
        output::line(&text).map(drop)
    }
}

fn as_json(registry: &Registry) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(&registry.all().map(entry).collect::<Vec<_>>())?)
}

/// Returns the entry of a function in lists for programs.
pub(super) fn entry(function: &Registered) -> Value {
    json!({
        "path": &*function.path,
        "kind": function.kind(),
        "visibility": function.def.visibility,
        "rights": function.def.rights,
        "tool": function.def.tool,
        "route": function.def.route.map(ToString::to_string),
        "doc": function.summary(),
    })
}

fn as_table(registry: &Registry) -> String {
    let rights = |function: &Registered| function.def.rights.unwrap_or("-");
    let width = registry.all().map(|function| function.path.len()).max().unwrap_or(0);
    let rights_width = registry.all().map(|function| rights(function).len()).max().unwrap_or(0).max("RIGHTS".len());
    let line = |function: &Registered| {
        let (kind, visibility) = (function.kind().as_str(), function.def.visibility.as_str());
        let route = function.def.route.map(|route| format!("{route}: ")).unwrap_or_default();
        let (rights, what) = (rights(function), route + &function.summary());
        let tool = if function.def.tool { "yes" } else { "-" };
        format!("{:width$}  {kind:8}  {visibility:8}  {tool:4}  {rights:rights_width$}  {what}", function.path)
    };
    let (kind, visibility, rights) = ("KIND", "WHO", "RIGHTS");
    let mut lines =
        vec![format!("{:width$}  {kind:8}  {visibility:8}  TOOL  {rights:rights_width$}  WHAT IT DOES", "PATH")];
    lines.extend(registry.all().map(line));
    lines.join("\n")
}
