//! The TypeScript client: types and functions from the model, printed around `typescript/client.ts`.
//!
//! A call rejects with a typed error, and `.safe(…)` of the same function never rejects. Both, because TypeScript cannot
//! type what is thrown: `await client.users.queries.getCurrentUser()` is what reads well and what libraries around
//! promises expect; `.safe` is for the places where the failures are the point, as in the validation libraries that
//! have `parse` beside `safeParse`.

mod syntax;
pub mod references;

use std::fmt::Write as _;

use super::model::{Described, Interface, Usage};
use convoke_calls::function::Kind;
use convoke_core::error::Code;
use syntax::{Module, Values, key, section, ty};

/// The client that holds no function's name.
const CLIENT: &str = include_str!("typescript/client.ts");

/// The whole file.
pub fn print(interface: &Interface) -> String {
    let mut out = head(interface);
    section(&mut out, "The functions, by their path");
    tree(&mut out, &Module::of(&interface.functions));
    section(&mut out, "What they take and return");
    syntax::types(&mut out, interface, Values::Json);
    section(&mut out, "The errors of the server");
    syntax::codes(&mut out);
    retryable(&mut out);
    section(&mut out, "The client");
    out.push_str(CLIENT);
    out
}

fn head(interface: &Interface) -> String {
    let example = interface.example(Kind::Query).map(|query| {
        let path = query.path.replace('/', ".");
        let (args, watched) = if query.args_optional { ("", "{}") } else { ("args", "args") };
        format!(
            "\
//   const value = await client.{path}({args});          // rejects with a ConvokeError
//   const result = await client.{path}.safe({args});    // {{ ok: true, value }} or {{ ok: false, error }}
//
//   const stop = client.{path}.watch({watched}, (value) => show(value), {{ signal }});   // and each later result
//
"
        )
    });
    HEAD.replace("{program}", &interface.program).replace("{example}", &example.unwrap_or_default())
}

const HEAD: &str = "\
// The typed client of a server's functions, made by `{program} codegen typescript`. Do not edit it: make it again.
//
//   import { createClient, isConvokeError } from \"./convoke\";
//
//   const client = createClient({ url: \"https://api.example.com\", token: () => session.token });
{example}\
// It needs `fetch` (Node.js 18, or any browser) and nothing else; in tsconfig.json, `lib` with \"ES2022\" and \"DOM\".
// Calls that are safe to repeat are retried after errors that may pass: queries, mutations (each call carries a key of its
// own, so that the server runs it once), actions with an `idempotencyKey`, and calls that certainly did not run. No other
// call is ever sent twice.
";

fn tree(out: &mut String, root: &Module<'_>) {
    out.push_str("/** Every function of the server that can be called from outside. */\nexport interface Client {\n");
    syntax::members(out, root, 1, &function_type);
    out.push_str(
        "}\n\n/** A client of the server at `options.url`. It holds no connection and needs no end. */\n\
         export function createClient(options: ClientOptions): Client {\n  return built(options, FUNCTIONS, \"\") as Client;\n}\n\n\
         const FUNCTIONS: Tree = {\n",
    );
    for (name, module) in &root.inside {
        module_kinds(out, name, module, 1);
    }
    out.push_str("};\n");
}

fn function_type(function: &Described) -> String {
    let args = ty(&function.args, Usage::In, Values::Json);
    let value = ty(&function.output, Usage::Out, Values::Json);
    let easy = if function.args_optional { "Easy" } else { "" };
    match function.kind {
        Kind::Query => format!("{easy}ServerQuery<{args}, {value}>"),
        kind @ (Kind::Mutation | Kind::Action) => {
            format!("{easy}ServerFunction<\"{}\", {args}, {value}>", kind.as_str())
        }
    }
}

fn module_kinds(out: &mut String, name: &str, module: &Module<'_>, depth: usize) {
    let indent = "  ".repeat(depth);
    match (module.function, module.inside.is_empty()) {
        (Some(function), true) => {
            let _ = writeln!(out, "{indent}{}: \"{}\",", key(name), function.kind.as_str());
        }
        (function, _) => {
            let _ = writeln!(out, "{indent}{}: {{", key(name));
            if let Some(function) = function {
                let _ = writeln!(out, "{indent}  \"\": \"{}\",", function.kind.as_str());
            }
            for (name, module) in &module.inside {
                module_kinds(out, name, module, depth + 1);
            }
            let _ = writeln!(out, "{indent}}},");
        }
    }
}

fn retryable(out: &mut String) {
    out.push_str(
        "\n/** Whether the same call, sent again later, can succeed without a change by the caller. */\n\
         const RETRYABLE: Readonly<Record<ServerErrorCode, boolean>> = {\n",
    );
    for code in Code::ALL {
        let _ = writeln!(out, "  {code}: {},", code.retryable());
    }
    out.push_str("};\n\nfunction isServerErrorCode(code: string): code is ServerErrorCode {\n  return Object.hasOwn(RETRYABLE, code);\n}\n");
}
