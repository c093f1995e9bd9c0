//! The Rust client: one module of types and functions from the model, printed around `rust/client.rs`.
//!
//! It is printed rather than built on the functions' own types. Those would bring the whole server into every client's
//! build; they refuse members that they do not know, which would break a client whenever the server learns one; and
//! what only goes out of the server cannot be read by its types at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use heck::{ToLowerCamelCase as _, ToSnakeCase as _, ToUpperCamelCase as _};

use super::model::{Described, Interface, Member, Named, Shape, Type, Union, Usage};
use super::prose;
use convoke_calls::function::{Kind, Visibility};
use convoke_core::error::Code;
use convoke_core::wire::schema::id_type_name;

/// The client that holds no function's name.
const CLIENT: &str = include_str!("rust/client.rs");

/// The whole file.
pub fn print(interface: &Interface) -> String {
    let mut out = head(interface);
    out.push_str(CLIENT);
    codes(&mut out);
    out.push_str("\nids! {\n");
    for prefix in &interface.ids {
        let name = id_type_name(prefix);
        let _ = writeln!(out, "    /// Such as `{prefix}_01h455vb4pex5vsknk084sn02q`.\n    {name};");
    }
    out.push_str("}\n\nwords! {\n");
    for named in &interface.types {
        if let Shape::Words(words) = &named.shape {
            enumeration(&mut out, named, words);
        }
    }
    out.push_str("}\n");
    let types = Types::of(interface);
    for named in interface.types.iter().filter(|named| !types.variants.contains(&*named.name)) {
        types.declare(&mut out, named);
    }
    tree(&mut out, &Module::of(&interface.functions), &types);
    out
}

fn head(interface: &Interface) -> String {
    let example = interface.example(Kind::Query).map(|query| {
        let calls: Vec<_> = query.path.split('/').map(|part| part.to_snake_case()).collect();
        let args = if query.args_optional { "" } else { "args" };
        format!("//! let value = client.{}({args}).await?;\n", calls.join("()."))
    });
    HEAD.replace("{program}", &interface.program).replace("{example}", &example.unwrap_or_default())
}

const HEAD: &str = "\
//! The typed client of a server's functions, made by `{program} codegen rust`. Do not edit it: make it again.
//!
//! ```ignore
//! let client = convoke::Client::new(\"https://api.example.com\").token(token);
{example}\
//! ```
//!
//! It needs `reqwest`, `serde` with `derive`, `serde_json` with
//! `float_roundtrip` (else the last place of some doubles changes) and `raw_value`, and `tokio` with `time`. What is safe to repeat is repeated when it may pass: queries, mutations (each
//! call carries a key of its own, by which the server does its work once), actions with an `idempotency_key`, and whatever
//! certainly did not run. Nothing else is ever sent twice. Members of results that this file does not know are passed over,
//! so that it outlives additions to the server.

#![allow(dead_code, reason = \"a program calls some of the functions\")]
#![allow(clippy::all, clippy::pedantic, reason = \"made by a program, for every server\")]
#![cfg_attr(rustfmt, rustfmt_skip)]

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::future::{Future, IntoFuture};
use std::hash::{BuildHasher as _, Hasher as _};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

";

fn codes(out: &mut String) {
    out.push_str(
        "\n/// What went wrong, to match on. The codes of functions come first, then those of the call, then what this client\n\
         /// finds itself.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\npub enum Code {\n",
    );
    for code in Code::ALL {
        let _ = writeln!(out, "    /// {}\n    {code:?},", code.meaning());
    }
    out.push_str(
        "    /// The call took longer than its timeout.\n    ClientTimeout,\n    \
         /// There was no connection, or it broke before the answer was whole.\n    ConnectionFailed,\n    \
         /// What answered is no server of this kind, or its result has another type.\n    InvalidResponse,\n    \
         /// The function that is asked for tokens failed.\n    TokenUnavailable,\n    \
         /// A code that this file does not know yet; it stands in `data()[\"code\"]`.\n    Unrecognized,\n}\n\n\
         impl Code {\n    /// As on the wire.\n    pub fn as_str(self) -> &'static str {\n        match self {\n",
    );
    let own = [
        ("ClientTimeout", "CLIENT_TIMEOUT"),
        ("ConnectionFailed", "CONNECTION_FAILED"),
        ("InvalidResponse", "INVALID_RESPONSE"),
        ("TokenUnavailable", "TOKEN_UNAVAILABLE"),
        ("Unrecognized", "UNRECOGNIZED_CODE"),
    ];
    for code in Code::ALL {
        let _ = writeln!(out, "            Code::{code:?} => \"{code}\",");
    }
    for (variant, text) in own {
        let _ = writeln!(out, "            Code::{variant} => \"{text}\",");
    }
    out.push_str("        }\n    }\n\n    fn named(text: &str) -> Self {\n        match text {\n");
    for code in Code::ALL {
        let _ = writeln!(out, "            \"{code}\" => Code::{code:?},");
    }
    out.push_str("            _ => Code::Unrecognized,\n        }\n    }\n\n    fn retryable(self) -> bool {\n        matches!(self, ");
    let retryable: Vec<_> =
        Code::ALL.iter().filter(|code| code.retryable()).map(|code| format!("Code::{code:?}")).collect();
    let _ = writeln!(out, "{})\n    }}\n}}", retryable.join(" | "));
}

fn enumeration(out: &mut String, named: &Named, words: &[String]) {
    doc(out, "    ", &named.doc);
    let _ = writeln!(out, "    {} {{", named.name);
    let mut taken = BTreeSet::from(["Unrecognized".to_owned()]);
    for word in words {
        let variant = unique(variant_name(word), &mut taken);
        let _ = writeln!(out, "        {variant} = {word:?},");
    }
    out.push_str("    }\n");
}

/// The variant of an enum that stands for a text.
fn variant_name(text: &str) -> String {
    let mut variant = text.to_upper_camel_case();
    if !variant.starts_with(|c: char| c.is_alphabetic()) || variant == "Self" {
        variant.insert_str(0, "Is");
    }
    variant
}

/// So many values are told apart by their position; more are named, in a literal.
const POSITIONAL_MAX: usize = 3;

/// The types of an interface, for those questions that one type alone does not answer.
struct Types<'a> {
    by_name: BTreeMap<&'a str, &'a Named>,
    /// Those that are variants of a union: an enum has their members.
    variants: BTreeSet<&'a str>,
}

impl<'a> Types<'a> {
    fn of(interface: &'a Interface) -> Self {
        let variants = interface.types.iter().filter_map(|named| match &named.shape {
            Shape::Union(union) => Some(union.variants.iter().map(|(_, name)| name.as_str())),
            Shape::Object(_) | Shape::Words(_) | Shape::Alias(_) => None,
        });
        Self {
            by_name: interface.types.iter().map(|named| (&*named.name, named)).collect(),
            variants: variants.flatten().collect(),
        }
    }

    fn declare(&self, out: &mut String, named: &Named) {
        match &named.shape {
            Shape::Words(_) => {}
            Shape::Alias(alias) => {
                out.push('\n');
                doc(out, "", &named.doc);
                let _ = writeln!(out, "pub type {} = {};", named.name, ty(alias));
            }
            Shape::Object(members) => self.structure(out, named, members),
            Shape::Union(union) => self.union(out, named, union),
        }
    }

    fn union(&self, out: &mut String, named: &Named, union: &Union) {
        out.push('\n');
        doc(out, "", &named.doc);
        let _ = writeln!(
            out,
            "#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]\n#[serde(tag = {:?})]\npub enum {} {{",
            union.tag, named.name
        );
        let mut taken = BTreeSet::from(["Unrecognized".to_owned()]);
        for (text, variant) in &union.variants {
            let Some(Named { doc: text_of_doc, shape: Shape::Object(members), .. }) = self.by_name.get(&**variant)
            else {
                continue;
            };
            doc(out, "    ", text_of_doc);
            let _ = writeln!(out, "    #[serde(rename = {text:?}, rename_all = \"camelCase\")]");
            let name = unique(variant_name(text), &mut taken);
            let members: Vec<&Member> = members.iter().filter(|member| member.name != union.tag).collect();
            if members.is_empty() {
                let _ = writeln!(out, "    {name},");
                continue;
            }
            let _ = writeln!(out, "    {name} {{");
            fields(out, "        ", "", &self.fields_of(&named.name, members));
            out.push_str("    },\n");
        }
        out.push_str(
            "    /// A variant that this client does not know yet.\n    #[serde(other, skip_serializing)]\n    Unrecognized,\n}\n",
        );
    }

    fn structure(&self, out: &mut String, named: &Named, members: &[Member]) {
        let name = &named.name;
        let all_optional = members.iter().all(|member| !member.required);
        out.push('\n');
        doc(out, "", &named.doc);
        let default = if all_optional { "Default, " } else { "" };
        let _ = writeln!(
            out,
            "#[derive(Clone, Debug, {default}PartialEq, Serialize, Deserialize)]\n#[serde(rename_all = \"camelCase\")]"
        );
        let _ = writeln!(out, "pub struct {name} {{");
        let fields = self.fields_of(name, members);
        self::fields(out, "    ", "pub ", &fields);
        out.push_str("}\n");
        let required = fields.iter().filter(|(.., member)| member.required).count();
        if (1..=POSITIONAL_MAX).contains(&required)
            && named.usage != Usage::Out
            && fields.iter().any(|(.., member)| !member.required)
        {
            constructor(out, name, &fields);
        }
    }

    /// Members with the names and types of their fields.
    fn fields_of<'m>(&self, holder: &str, members: impl IntoIterator<Item = &'m Member>) -> Vec<Field<'m>> {
        let mut taken = BTreeSet::new();
        let field = |member: &'m Member| {
            (unique(field_name(&member.name), &mut taken), self.field_type(holder, member), member)
        };
        members.into_iter().map(field).collect()
    }

    fn field_type(&self, holder: &str, member: &Member) -> String {
        let inner = match &member.ty {
            Type::OrNull(inner) => inner,
            other => other,
        };
        let mut text = ty(inner);
        if self.holds(inner, holder, &mut BTreeSet::new()) {
            text = format!("Box<{text}>");
        }
        let optional = !member.required || matches!(member.ty, Type::OrNull(_));
        if optional { format!("Option<{text}>") } else { text }
    }

    /// Whether a value of this type has one of the type `name` in it directly, so that its size would have no end.
    fn holds(&self, of: &Type, name: &str, seen: &mut BTreeSet<String>) -> bool {
        match of {
            Type::Named(other) if other == name => true,
            Type::Named(other) => {
                seen.insert(other.clone())
                    && match self.by_name.get(&**other).map(|named| &named.shape) {
                        Some(Shape::Object(members)) => members.iter().any(|member| self.holds(&member.ty, name, seen)),
                        Some(Shape::Alias(alias)) => self.holds(alias, name, seen),
                        Some(Shape::Union(union)) => {
                            let mut variants = union.variants.iter();
                            variants.any(|(_, variant)| self.holds(&Type::Named(variant.clone()), name, seen))
                        }
                        Some(Shape::Words(_)) | None => false,
                    }
            }
            Type::OrNull(inner) => self.holds(inner, name, seen),
            Type::Tuple(items) => items.iter().any(|item| self.holds(item, name, seen)),
            Type::Null
            | Type::Bool
            | Type::Integer
            | Type::Wide
            | Type::Number
            | Type::Text
            | Type::Bytes
            | Type::Id(_)
            | Type::Words(_)
            | Type::List(_)
            | Type::Map(_)
            | Type::Object(_)
            | Type::Either(_)
            | Type::Any => false,
        }
    }

    /// Whether a type is an object without members.
    fn is_nothing(&self, of: &Type) -> bool {
        match of {
            Type::Object(members) => members.is_empty(),
            Type::Named(name) => {
                matches!(self.by_name.get(&**name).map(|named| &named.shape), Some(Shape::Object(members)) if members.is_empty())
            }
            _ => false,
        }
    }
}

/// A field: its name, its type, and the member that it holds.
type Field<'a> = (String, String, &'a Member);

fn fields(out: &mut String, indent: &str, vis: &str, fields: &[Field<'_>]) {
    for (field, ty, member) in fields {
        doc(out, indent, &member_doc(member));
        let mut attributes = Vec::new();
        if field.trim_start_matches("r#").to_lower_camel_case() != member.name {
            attributes.push(format!("rename = {:?}", member.name));
        }
        if ty.starts_with("Option<") && !member.required {
            attributes.push("skip_serializing_if = \"Option::is_none\"".to_owned());
        }
        if !attributes.is_empty() {
            let _ = writeln!(out, "{indent}#[serde({})]", attributes.join(", "));
        }
        let _ = writeln!(out, "{indent}{vis}{field}: {ty},");
    }
}

/// What is required by position, the rest absent: `..New::new(…)` in a literal outlives new optional members.
fn constructor(out: &mut String, name: &str, fields: &[Field<'_>]) {
    let _ = writeln!(out, "\nimpl {name} {{\n    /// With what is required, and nothing else.");
    let required = || fields.iter().filter(|(.., member)| member.required);
    let parameters: Vec<_> = required().map(|(field, ty, _)| format!("{field}: {}", accepted(ty))).collect();
    let _ = writeln!(out, "    pub fn new({}) -> Self {{\n        Self {{", parameters.join(", "));
    for (field, ty, member) in fields {
        let value = match (member.required, accepted(ty) == *ty) {
            (false, _) => "None".to_owned(),
            (true, true) => {
                let _ = writeln!(out, "            {field},");
                continue;
            }
            (true, false) => format!("{field}.into()"),
        };
        let _ = writeln!(out, "            {field}: {value},");
    }
    out.push_str("        }\n    }\n}\n");
}

/// What a constructor takes for a field.
fn accepted(ty: &str) -> String {
    if ty == "String" { "impl Into<String>".to_owned() } else { ty.to_owned() }
}

fn ty(of: &Type) -> String {
    match of {
        Type::Null => "()".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Integer | Type::Wide => "i64".to_owned(),
        Type::Number => "f64".to_owned(),
        Type::Text | Type::Bytes | Type::Words(_) => "String".to_owned(),
        Type::Id(prefix) => id_type_name(prefix),
        Type::List(item) => format!("Vec<{}>", ty(item)),
        Type::Tuple(items) => {
            let items: Vec<_> = items.iter().map(|item| format!("{},", ty(item))).collect();
            format!("({})", items.join(" "))
        }
        Type::Map(value) if **value == Type::Any => "Map<String, Value>".to_owned(),
        Type::Map(value) => format!("BTreeMap<String, {}>", ty(value)),
        Type::Object(_) | Type::Either(_) | Type::Any => "Value".to_owned(),
        Type::OrNull(inner) => format!("Option<{}>", ty(inner)),
        Type::Named(name) => name.clone(),
    }
}

/// A module of the tree of functions.
#[derive(Default)]
struct Module<'a> {
    functions: BTreeMap<&'a str, &'a Described>,
    inside: BTreeMap<&'a str, Module<'a>>,
}

impl<'a> Module<'a> {
    fn of(functions: &'a [Described]) -> Self {
        let mut root = Self::default();
        for function in functions {
            let mut module = &mut root;
            let mut parts: Vec<&str> = function.path.split('/').collect();
            let name = parts.pop().unwrap_or_default();
            for part in parts {
                module = module.inside.entry(part).or_default();
            }
            module.functions.insert(name, function);
        }
        root
    }
}

fn tree(out: &mut String, root: &Module<'_>, types: &Types<'_>) {
    out.push_str("\nimpl Client {\n");
    // The root holds modules alone: a function at the root of its crate has no path.
    accessors(out, "", root, "self", &mut names_of_client());
    out.push_str(
        "}\n\n/// The modules of functions, as [`Client`] opens them.\npub mod modules {\n    use super::*;\n",
    );
    for (name, module) in &root.inside {
        module_type(out, name, module, types);
    }
    out.push_str("}\n");
}

/// The methods that a client has by itself.
fn names_of_client() -> BTreeSet<String> {
    ["new", "token", "token_provider", "deploy_key", "timeout", "retries", "http", "call"].map(str::to_owned).into()
}

fn module_type(out: &mut String, path: &str, module: &Module<'_>, types: &Types<'_>) {
    let name = path.to_upper_camel_case();
    let _ = writeln!(
        out,
        "\n    /// The functions under `{path}`.\n    #[derive(Clone, Copy, Debug)]\n    \
         pub struct {name}<'c>(pub(super) &'c Client);\n\n    impl<'c> {name}<'c> {{"
    );
    let mut taken = BTreeSet::new();
    for (name, function) in &module.functions {
        method(out, &unique(identifier(&name.to_snake_case()), &mut taken), function, types);
    }
    accessors(out, path, module, "self.0", &mut taken);
    out.push_str("    }\n");
    for (name, inside) in &module.inside {
        module_type(out, &format!("{path}/{name}"), inside, types);
    }
}

fn accessors(out: &mut String, path: &str, module: &Module<'_>, client: &str, taken: &mut BTreeSet<String>) {
    let (indent, lifetime, place) = if path.is_empty() { ("    ", "'_", "modules::") } else { ("        ", "'c", "") };
    for name in module.inside.keys() {
        let full = if path.is_empty() { (*name).to_owned() } else { format!("{path}/{name}") };
        let ty = full.to_upper_camel_case();
        let method = unique(identifier(&name.to_snake_case()), taken);
        let _ = writeln!(
            out,
            "{indent}/// The functions under `{full}`.\n{indent}pub fn {method}(&self) -> {place}{ty}<{lifetime}> {{\n\
             {indent}    {place}{ty}({client})\n{indent}}}\n"
        );
    }
}

fn method(out: &mut String, name: &str, function: &Described, types: &Types<'_>) {
    let mut text = function.doc.clone();
    if function.visibility == Visibility::Admin {
        text.push_str("\n\nFor a deploy key or an identity with the role `admin`.");
    }
    if function.keyed && function.kind == Kind::Action {
        text.push_str(
            "\n\nWith an `idempotency_key` it is repeated when its answer is lost; without one it is sent once.",
        );
    }
    doc(out, "        ", text.trim());
    let (parameter, args) = match types.is_nothing(&function.args) {
        true => (String::new(), "&Map::new()"),
        false => (format!(", args: &{}", ty(&function.args)), "args"),
    };
    let kind = match function.kind {
        Kind::Query => "Query",
        Kind::Mutation => "Mutation",
        Kind::Action => "Action",
    };
    let (output, path) = (ty(&function.output), &function.path);
    let _ = writeln!(
        out,
        "        pub fn {name}(&self{parameter}) -> Call<'c, {output}> {{\n            \
         self.0.call({path:?}, Kind::{kind}, {args})\n        }}\n"
    );
}

fn field_name(wire: &str) -> String {
    let name = wire.to_snake_case();
    match name.starts_with(|c: char| c.is_alphabetic()) {
        true => identifier(&name),
        false => format!("field_{name}"),
    }
}

fn identifier(name: &str) -> String {
    const KEYWORDS: &[&str] = &[
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
        "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
        "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type",
        "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    ];
    match name {
        "self" | "super" | "crate" | "" => format!("{name}_"),
        keyword if KEYWORDS.contains(&keyword) => format!("r#{keyword}"),
        name => name.to_owned(),
    }
}

fn unique(mut name: String, taken: &mut BTreeSet<String>) -> String {
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

fn member_doc(member: &Member) -> String {
    let mut text = prose::with_rule(&member.doc, member.rule.as_deref());
    if let Some(default) = member.default.as_ref().filter(|_| !member.required) {
        let _ = write!(text, "{}`{default}` unless given.", if text.is_empty() { "" } else { "\n\n" });
    }
    text
}

fn doc(out: &mut String, indent: &str, text: &str) {
    for line in text.lines() {
        let _ = writeln!(out, "{}", format!("{indent}/// {line}").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn union_is_an_enum_whose_variants_have_the_members_beside_the_tag() {
        let member = |name: &str, ty: Type, required: bool| Member {
            name: name.to_owned(),
            doc: String::new(),
            rule: None,
            required,
            default: None,
            ty,
        };
        let named =
            |name: &str, shape: Shape| Named { name: name.to_owned(), doc: String::new(), shape, usage: Usage::Both };
        let tag = |text: &str| member("type", Type::Words(vec![text.to_owned()]), true);
        let variant = |text: &str, name: &str| (text.to_owned(), name.to_owned());
        let moved = vec![
            tag("has-moved"),
            member("toCity", Type::Text, true),
            member("before", Type::Named("Event".to_owned()), false),
        ];
        let union = Union {
            tag: "type".to_owned(),
            variants: vec![variant("has-moved", "EventHasMoved"), variant("closed", "EventClosed")],
        };
        let types = vec![
            named("Event", Shape::Union(union)),
            named("EventClosed", Shape::Object(vec![tag("closed")])),
            named("EventHasMoved", Shape::Object(moved)),
        ];
        let text = print(&Interface { program: String::new(), types, ids: BTreeSet::new(), functions: Vec::new() });
        let expected = "\
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = \"type\")]
pub enum Event {
    #[serde(rename = \"has-moved\", rename_all = \"camelCase\")]
    HasMoved {
        to_city: String,
        #[serde(skip_serializing_if = \"Option::is_none\")]
        before: Option<Box<Event>>,
    },
    #[serde(rename = \"closed\", rename_all = \"camelCase\")]
    Closed,
    /// A variant that this client does not know yet.
    #[serde(other, skip_serializing)]
    Unrecognized,
}
";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("struct Event"), "{text}");
    }
}
