//! Prints modules, types and comments in TypeScript.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::{Function, Interface, Member, NamedType, Shape, Type, Usage};
use crate::prose;
use convoke_calls::function::{Kind, Visibility};
use convoke_core::error::Code;
use convoke_core::wire::schema::id_type_name;

/// The representation of values in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// JSON: all numbers are `number`, and bytes are a text.
    Json,
    /// The values of npm's `convex`: integers beyond doubles are `bigint`, and bytes are `ArrayBuffer`.
    Convex,
}

/// The argument for lists in pages, and its type in npm's `convex`.
const PAGINATION_OPTS: &str = "paginationOpts";
pub(super) const PAGINATION_OPTIONS: &str = "PaginationOptions";

/// Prints the heading of a part of a file.
pub(super) fn section(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n// ---- {title} {}\n", "-".repeat(110usize.saturating_sub(title.len())));
}

/// A module of the tree of functions.
#[derive(Default)]
pub(super) struct Module<'a> {
    pub function: Option<&'a Function>,
    pub inside: BTreeMap<&'a str, Module<'a>>,
}

impl<'a> Module<'a> {
    pub(super) fn of(functions: &'a [Function]) -> Self {
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

/// Prints the members of an interface with all functions, whose types are those of `type_of`.
pub(super) fn members(out: &mut String, module: &Module<'_>, depth: usize, type_of: &dyn Fn(&Function) -> String) {
    let indent = "  ".repeat(depth);
    for (name, module) in &module.inside {
        if let Some(function) = module.function {
            doc(out, &indent, &function_doc(function));
        }
        let _ = write!(out, "{indent}readonly {}: ", key(name));
        if let Some(function) = module.function {
            out.push_str(&type_of(function));
            if !module.inside.is_empty() {
                out.push_str(" & ");
            }
        }
        if !module.inside.is_empty() {
            out.push_str("{\n");
            members(out, module, depth + 1, type_of);
            let _ = write!(out, "{indent}}}");
        }
        out.push_str(";\n");
    }
}

fn function_doc(function: &Function) -> String {
    let mut text = function
        .doc
        .lines()
        .map(|line| line.strip_prefix("# ").map_or_else(|| line.to_owned(), |title| format!("**{title}**")))
        .collect::<Vec<_>>()
        .join("\n");
    if function.visibility == Visibility::Admin {
        text.push_str("\n\nRequires a deploy key or an identity with the role `admin`.");
    }
    if function.keyed && function.kind == Kind::Action {
        text.push_str(
            "\n\nWith an `idempotencyKey` the call is retried if its response is lost; without a key it is sent once.",
        );
    }
    text.trim().to_owned()
}

/// Prints the ids and types that the functions use.
pub(super) fn types(out: &mut String, interface: &Interface, values: Values) {
    for prefix in &interface.ids {
        let name = id_type_name(prefix);
        let _ = writeln!(
            out,
            "/** Such as `{prefix}_01h455vb4pex5vsknk084sn02q`. */\nexport type {name} = Id<\"{prefix}\">;\n"
        );
    }
    for named in &interface.types {
        declare(out, named, values);
    }
}

fn declare(out: &mut String, named: &NamedType, values: Values) {
    doc(out, "", &named.doc);
    let name = &named.name;
    match &named.shape {
        Shape::Object(members) if members.is_empty() => {
            let _ = writeln!(out, "export type {name} = Record<string, never>;\n");
        }
        Shape::Object(members) => {
            // Arguments of references must be object types. An interface is not one, because it can be extended.
            let (begin, end) = match values {
                Values::Json => (format!("interface {name} {{"), "}"),
                Values::Convex => (format!("type {name} = {{"), "};"),
            };
            let _ = writeln!(out, "export {begin}");
            members.iter().for_each(|member| declare_member(out, member, named.usage, values));
            let _ = writeln!(out, "{end}\n");
        }
        Shape::Words(words) => {
            let _ = writeln!(out, "export type {name} = {};\n", alternatives(words));
        }
        Shape::Union(union) => {
            let variants: Vec<&str> = union.variants.iter().map(|(_, variant)| variant.as_str()).collect();
            let _ = writeln!(out, "export type {name} = {};\n", variants.join(" | "));
        }
        Shape::Alias(alias) => {
            let _ = writeln!(out, "export type {name} = {};\n", ty(alias, named.usage, values));
        }
    }
}

fn declare_member(out: &mut String, member: &Member, usage: Usage, values: Values) {
    let mut text = prose::with_rule(&member.doc, member.rule.as_deref());
    if let Some(default) = member.default.as_ref().filter(|_| usage != Usage::Out) {
        let _ = write!(text, "{}@defaultValue `{default}`", if text.is_empty() { "" } else { "\n\n" });
    }
    doc(out, "  ", &text);
    let name = key(&member.name);
    let written = match values {
        // Hooks for lists require this type. The server accepts more, such as null for absent members.
        Values::Convex if member.name == PAGINATION_OPTS && usage != Usage::Out => PAGINATION_OPTIONS.to_owned(),
        Values::Json | Values::Convex => ty(&member.ty, usage, values),
    };
    let _ = match (member.required, usage) {
        (true, _) => writeln!(out, "  {name}: {written};"),
        // A member of arguments may be undefined, which JSON leaves out.
        (false, Usage::In) if values == Values::Json => writeln!(out, "  {name}?: {written} | undefined;"),
        (false, Usage::In | Usage::Out | Usage::Both) => writeln!(out, "  {name}?: {written};"),
    };
}

/// Returns the expression of a type.
pub(super) fn ty(of: &Type, usage: Usage, values: Values) -> String {
    let inside = |of: &Type| ty(of, usage, values);
    match (of, values) {
        (Type::Null, _) => "null".to_owned(),
        (Type::Bool, _) => "boolean".to_owned(),
        (Type::Integer | Type::Number, _) | (Type::Wide, Values::Json) => "number".to_owned(),
        (Type::Wide, Values::Convex) => "number | bigint".to_owned(),
        (Type::Text, _) | (Type::Bytes, Values::Json) => "string".to_owned(),
        (Type::Bytes, Values::Convex) => "ArrayBuffer".to_owned(),
        (Type::Id(prefix), _) => id_type_name(prefix),
        (Type::Words(words), _) => alternatives(words),
        (Type::List(item), _) => {
            let item = match item.as_ref() {
                Type::Words(_) | Type::Either(_) | Type::OrNull(_) | Type::Wide => format!("({})", inside(item)),
                simple => inside(simple),
            };
            if usage == Usage::In { format!("readonly {item}[]") } else { format!("{item}[]") }
        }
        (Type::Tuple(items), _) => format!("[{}]", items.iter().map(inside).collect::<Vec<_>>().join(", ")),
        (Type::Map(value), Values::Json) if **value == Type::Any => "JsonObject".to_owned(),
        (Type::Map(value), _) => format!("Record<string, {}>", inside(value)),
        (Type::Object(members), _) if members.is_empty() => "Record<string, never>".to_owned(),
        (Type::Object(members), _) => {
            let mut text = "{\n".to_owned();
            members.iter().for_each(|member| declare_member(&mut text, member, usage, values));
            text.push('}');
            text
        }
        (Type::Either(types), _) => types.iter().map(inside).collect::<Vec<_>>().join(" | "),
        (Type::OrNull(inner), _) => format!("{} | null", inside(inner)),
        (Type::Any, Values::Json) => "JsonValue".to_owned(),
        (Type::Any, Values::Convex) => "Value".to_owned(),
        (Type::Named(name), _) => name.clone(),
    }
}

/// Prints all error codes.
pub(super) fn codes(out: &mut String) {
    out.push_str("/** All codes of the server. The codes of functions come first, then those of calls. */\nexport type ServerErrorCode =\n");
    for (index, code) in Code::ALL.iter().enumerate() {
        let end = if index + 1 == Code::ALL.len() { ";" } else { "" };
        let _ = writeln!(out, "  /** {} */\n  | \"{code}\"{end}", code.meaning());
    }
}

fn alternatives(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" | ")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the name of a member, quoted unless it is an identifier.
pub(super) fn key(name: &str) -> String {
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
