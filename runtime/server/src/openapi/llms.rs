//! The description of the functions for language models: `/llms.txt` (<https://llmstxt.org>), and the list of functions
//! in `AGENTS.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::prose::Prose;
use convoke_calls::about::About;
use convoke_calls::registry::{Registered, Registry};

const HOW_TO_CALL: &str = "\
## How to call a function

Send `POST /api/run/PATH` with `Content-Type: application/json` and the body `{\"args\": {…}}`. The response is an envelope:

- Success: `{\"status\": \"success\", \"value\": …}`
- Error: `{\"status\": \"error\", \"errorMessage\": \"…\", \"errorData\": {\"code\": \"…\"}}`. HTTP 200 also carries errors of functions: \
check `status`.

`Authorization: Bearer TOKEN` names the caller. A mutation with an `Idempotency-Key` header can be sent again. Queries are also \
live: `POST /api/live`.
";

/// Returns the text of `/llms.txt`.
pub fn text(registry: &Registry, about: &About) -> String {
    let mut text = format!("# {}\n\n", about.title);
    let description = about.description.trim().replace("\n\n", "\n").replace('\n', " ");
    if !description.is_empty() {
        let _ = writeln!(text, "> {description}\n");
    }
    let _ = writeln!(text, "{HOW_TO_CALL}");
    if registry.tools().next().is_some() {
        text.push_str(
            "Functions marked *tool* are also tools of the Model Context Protocol, at `POST /mcp`. The name of a tool is the path \
             with `_` in place of `/`.\n\n",
        );
    }
    text.push_str(&functions(registry, about));
    text.push_str(
        "## Descriptions\n\n\
         - [OpenAPI](/openapi.json): arguments, results and error codes of each function\n\
         - [Reference](/docs): the same for people\n",
    );
    text
}

/// Returns the public functions as Markdown: one section per group, one line per function.
pub fn functions(registry: &Registry, about: &About) -> String {
    let names: BTreeSet<&'static str> = registry.all().map(|function| function.def.name).collect();
    let mut groups: BTreeMap<(usize, String), Vec<&Registered>> = BTreeMap::new();
    for function in registry.all().filter(|function| function.is_public()) {
        let tag = about.tag_of(&function.path).into_owned();
        let place = about.tags.iter().position(|known| known.name == tag).unwrap_or(about.tags.len());
        groups.entry((place, tag)).or_default().push(function);
    }
    let mut text = String::new();
    for ((_, tag), functions) in groups {
        let _ = writeln!(text, "## {tag}\n");
        for function in functions {
            let tool = if function.def.tool { ", tool" } else { "" };
            let summary = Prose::of(function.def.doc, &names).summary();
            let end = if summary.is_empty() { "" } else { ": " };
            let _ = writeln!(text, "- `{}` ({}{tool}){end}{summary}", function.path, function.kind().as_str());
        }
        text.push('\n');
    }
    text
}
