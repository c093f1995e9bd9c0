//! The TypeScript client: types and functions from the model, printed around `typescript/client.ts`.
//!
//! A call rejects with a typed error, and `.safe(…)` of the same function never rejects. Both, because TypeScript cannot
//! type what is thrown: `await client.users.queries.getCurrentUser()` is what reads well and what libraries around
//! promises expect; `.safe` is for the places where the failures are the point, as in the validation libraries that
//! have `parse` beside `safeParse`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::model::{Described, Interface, Member, Named, Shape, Type, Usage};
use super::prose;
use convoke_calls::function::{Kind, Visibility};
use convoke_core::error::Code;

/// The client that holds no function's name.
const CLIENT: &str = include_str!("typescript/client.ts");

/// The whole file.
pub fn print(interface: &Interface) -> String {
    let mut out = String::from(HEAD);
    section(&mut out, "The functions, by their path");
    tree(&mut out, &Module::of(&interface.functions));
    section(&mut out, "What they take and return");
    for prefix in &interface.ids {
        let name = prose::id_name(prefix);
        let _ = writeln!(
            out,
            "/** Such as `{prefix}_01h455vb4pex5vsknk084sn02q`. */\nexport type {name} = Id<\"{prefix}\">;\n"
        );
    }
    for named in &interface.types {
        declare(&mut out, named);
    }
    section(&mut out, "The errors of the server");
    codes(&mut out);
    section(&mut out, "The client");
    out.push_str(CLIENT);
    out
}

const HEAD: &str = "\
// The typed client of a server's functions, made by `convoke codegen typescript`. Do not edit it: make it again.
//
//   import { createClient, isConvokeError } from \"./convoke\";
//
//   const client = createClient({ url: \"https://api.example.com\", token: () => session.token });
//   const user = await client.users.queries.getCurrentUser();          // rejects with a ConvokeError
//   const looked = await client.users.queries.getCurrentUser.safe();   // { ok: true, value } or { ok: false, error }
//
//   const stop = client.users.queries.getCurrentUser.watch({}, (user) => show(user), { signal });   // and each later result
//
// It needs `fetch` (Node.js 18, or any browser) and nothing else; in tsconfig.json, `lib` with \"ES2022\" and \"DOM\".
// What is safe to repeat is repeated when it may pass: queries, mutations (each call carries a key of its own, by which the
// server does its work once), actions with an `idempotencyKey`, and whatever certainly did not run. Nothing else is ever
// sent twice.
";

fn section(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n// ---- {title} {}\n", "-".repeat(110usize.saturating_sub(title.len())));
}

/// A module of the tree of functions.
#[derive(Default)]
struct Module<'a> {
    function: Option<&'a Described>,
    inside: BTreeMap<&'a str, Module<'a>>,
}

impl<'a> Module<'a> {
    fn of(functions: &'a [Described]) -> Self {
        let mut root = Self::default();
        for function in functions {
            let mut module = &mut root;
            for part in function.path.split('/') {
                module = module.inside.entry(part).or_default();
            }
            module.function = Some(function);
        }
        root
    }
}

fn tree(out: &mut String, root: &Module<'_>) {
    out.push_str("/** Every function of the server that can be called from outside. */\nexport interface Client {\n");
    for (name, module) in &root.inside {
        module_type(out, name, module, 1);
    }
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

fn module_type(out: &mut String, name: &str, module: &Module<'_>, depth: usize) {
    let indent = "  ".repeat(depth);
    if let Some(function) = module.function {
        doc(out, &indent, &function_doc(function));
    }
    let _ = write!(out, "{indent}readonly {}: ", key(name));
    if let Some(function) = module.function {
        let (args, value) = (ty(&function.args, Usage::In), ty(&function.output, Usage::Out));
        let easy = if function.args_optional { "Easy" } else { "" };
        let _ = match function.kind {
            Kind::Query => write!(out, "{easy}ServerQuery<{args}, {value}>"),
            kind @ (Kind::Mutation | Kind::Action) => {
                write!(out, "{easy}ServerFunction<\"{}\", {args}, {value}>", kind.as_str())
            }
        };
        if !module.inside.is_empty() {
            out.push_str(" & ");
        }
    }
    if !module.inside.is_empty() {
        out.push_str("{\n");
        for (name, module) in &module.inside {
            module_type(out, name, module, depth + 1);
        }
        let _ = write!(out, "{indent}}}");
    }
    out.push_str(";\n");
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

fn function_doc(function: &Described) -> String {
    let mut text = function
        .doc
        .lines()
        .map(|line| line.strip_prefix("# ").map_or_else(|| line.to_owned(), |title| format!("**{title}**")))
        .collect::<Vec<_>>()
        .join("\n");
    if function.visibility == Visibility::Admin {
        text.push_str("\n\nFor a deploy key or an identity with the role `admin`.");
    }
    if function.keyed && function.kind == Kind::Action {
        text.push_str(
            "\n\nWith an `idempotencyKey` it is repeated when its answer is lost; without one it is sent once.",
        );
    }
    text.trim().to_owned()
}

fn declare(out: &mut String, named: &Named) {
    doc(out, "", &named.doc);
    let name = &named.name;
    match &named.shape {
        Shape::Object(members) if members.is_empty() => {
            let _ = writeln!(out, "export type {name} = Record<string, never>;\n");
        }
        Shape::Object(members) => {
            let _ = writeln!(out, "export interface {name} {{");
            members.iter().for_each(|member| declare_member(out, member, named.usage));
            out.push_str("}\n\n");
        }
        Shape::Words(words) => {
            let _ = writeln!(out, "export type {name} = {};\n", alternatives(words));
        }
        Shape::Alias(alias) => {
            let _ = writeln!(out, "export type {name} = {};\n", ty(alias, named.usage));
        }
    }
}

fn declare_member(out: &mut String, member: &Member, usage: Usage) {
    let mut text = prose::with_rule(&member.doc, member.rule.as_deref());
    if let Some(default) = member.default.as_ref().filter(|_| usage != Usage::Out) {
        let _ = write!(text, "{}@defaultValue `{default}`", if text.is_empty() { "" } else { "\n\n" });
    }
    doc(out, "  ", &text);
    let name = key(&member.name);
    let written = ty(&member.ty, usage);
    let _ = match (member.required, usage) {
        (true, _) => writeln!(out, "  {name}: {written};"),
        // What goes in may be said to be undefined: it is left out of the JSON.
        (false, Usage::In) => writeln!(out, "  {name}?: {written} | undefined;"),
        (false, Usage::Out | Usage::Both) => writeln!(out, "  {name}?: {written};"),
    };
}

fn ty(of: &Type, usage: Usage) -> String {
    match of {
        Type::Null => "null".to_owned(),
        Type::Bool => "boolean".to_owned(),
        Type::Integer | Type::Number => "number".to_owned(),
        Type::Text | Type::Bytes => "string".to_owned(),
        Type::Id(prefix) => prose::id_name(prefix),
        Type::Words(words) => alternatives(words),
        Type::List(item) => {
            let item = match item.as_ref() {
                Type::Words(_) | Type::Either(_) | Type::OrNull(_) => format!("({})", ty(item, usage)),
                simple => ty(simple, usage),
            };
            if usage == Usage::In { format!("readonly {item}[]") } else { format!("{item}[]") }
        }
        Type::Tuple(items) => {
            let items: Vec<_> = items.iter().map(|item| ty(item, usage)).collect();
            format!("[{}]", items.join(", "))
        }
        Type::Map(value) if **value == Type::Any => "JsonObject".to_owned(),
        Type::Map(value) => format!("Record<string, {}>", ty(value, usage)),
        Type::Object(members) if members.is_empty() => "Record<string, never>".to_owned(),
        Type::Object(members) => {
            let mut text = "{\n".to_owned();
            members.iter().for_each(|member| declare_member(&mut text, member, usage));
            text.push('}');
            text
        }
        Type::Either(types) => types.iter().map(|one| ty(one, usage)).collect::<Vec<_>>().join(" | "),
        Type::OrNull(inner) => format!("{} | null", ty(inner, usage)),
        Type::Any => "JsonValue".to_owned(),
        Type::Named(name) => name.clone(),
    }
}

fn codes(out: &mut String) {
    out.push_str("/** Every code of the server. Those of functions come first; the others are of the call. */\nexport type ServerErrorCode =\n");
    for (place, code) in Code::ALL.iter().enumerate() {
        let end = if place + 1 == Code::ALL.len() { ";" } else { "" };
        let _ = writeln!(out, "  /** {} */\n  | \"{code}\"{end}", code.meaning());
    }
    out.push_str(
        "\n/** Whether the same call, sent again later, can succeed without a change by the caller. */\n\
         const RETRYABLE: Readonly<Record<ServerErrorCode, boolean>> = {\n",
    );
    for code in Code::ALL {
        let _ = writeln!(out, "  {code}: {},", code.retryable());
    }
    out.push_str("};\n\nfunction isServerErrorCode(code: string): code is ServerErrorCode {\n  return Object.hasOwn(RETRYABLE, code);\n}\n");
}

fn alternatives(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" | ")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The name of a member: quoted unless it is an identifier.
fn key(name: &str) -> String {
    let mut chars = name.chars();
    let begins = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$');
    match begins && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$') {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn doc(out: &mut String, indent: &str, text: &str) {
    let text = text.replace("*/", "*\\/");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    match lines.as_slice() {
        [] => {}
        [one] => {
            let _ = writeln!(out, "{indent}/** {one} */");
        }
        many => {
            let _ = writeln!(out, "{indent}/**");
            for line in many {
                let _ = writeln!(out, "{}", format!("{indent} * {line}").trim_end());
            }
            let _ = writeln!(out, "{indent} */");
        }
    }
}
