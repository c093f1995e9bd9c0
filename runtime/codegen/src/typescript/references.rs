//! References of functions for npm's `convex`: `useQuery(api.meetings.queries.getMeeting, { meetingId })`.
//!
//! A file of its own: only whoever uses that package needs it, and values are others there than in JSON.

use std::fmt::Write as _;

use super::syntax::{self, Module, Values, section, ty};
use crate::model::{Described, Interface, Usage};
use convoke_calls::function::Kind;

/// What holds no function's name.
const REST: &str = include_str!("references.ts");

/// The whole file.
pub fn print(interface: &Interface) -> String {
    let mut types = String::new();
    syntax::types(&mut types, interface, Values::Convex);
    let mut out = head(interface);
    // What is imported and not used is an error in many a program.
    let has_pages = types.contains(syntax::PAGINATION_OPTIONS);
    let pages = if has_pages { ", type PaginationOptions" } else { "" };
    let _ = writeln!(out, "import {{ anyApi, type FunctionReference{pages} }} from \"convex/server\";");
    out.push_str("import { ConvexError, type Value } from \"convex/values\";\n");
    section(&mut out, "The functions, by their path");
    out.push_str("/** Every function of the server that can be called from outside. */\nexport interface Api {\n");
    syntax::members(&mut out, &Module::of(&interface.functions), 1, &reference);
    out.push_str("}\n\n/** What hooks and clients are given. */\nexport const api: Api = anyApi as unknown as Api;\n");
    section(&mut out, "What they take and return");
    out.push_str(REST);
    out.push('\n');
    out.push_str(&types);
    section(&mut out, "The errors of the server");
    syntax::codes(&mut out);
    out
}

fn head(interface: &Interface) -> String {
    let path = |function: &Described| function.path.replace('/', ".");
    let mut examples = String::new();
    if let Some(query) = interface.example(Kind::Query) {
        let (path, args) = (path(query), if query.args_optional { "{}" } else { "args" });
        let _ = writeln!(
            examples,
            "//   const value = useQuery(api.{path}, {args});     // undefined while it loads, then always the latest result"
        );
    }
    if let Some(mutation) = interface.example(Kind::Mutation) {
        let _ = writeln!(examples, "//   const change = useMutation(api.{});", path(mutation));
    }
    HEAD.replace("{program}", &interface.program).replace("{examples}", &examples)
}

const HEAD: &str = "\
// Typed references to a server's functions for npm's `convex`, made by `{program} codegen convex`. Do not edit it: make it
// again.
//
//   import { useMutation, useQuery } from \"convex/react\";
//   import { api } from \"./api\";
//
{examples}\
//
// Values are those of `convex`: a whole number that may be beyond ±2^53 is a `bigint` if it is, bytes are an `ArrayBuffer`.

";

fn reference(function: &Described) -> String {
    let args = ty(&function.args, Usage::In, Values::Convex);
    let value = ty(&function.output, Usage::Out, Values::Convex);
    format!("FunctionReference<\"{}\", \"public\", {args}, {value}>", function.kind.as_str())
}
