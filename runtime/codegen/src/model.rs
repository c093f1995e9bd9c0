//! The model of a client in any language: named types, and functions with their arguments and results.

use std::collections::BTreeSet;

use serde_json::Value;

use convoke_calls::function::{Kind, Visibility};

/// The functions that clients can call, and all types that they use.
pub struct Interface {
    /// The name of the program.
    pub program: String,
    /// The named types, sorted by name.
    pub types: Vec<NamedType>,
    /// The prefixes of the ids that occur (`meeting` of `meeting_01h455vb4pex5vsknk084sn02q`).
    pub ids: BTreeSet<String>,
    /// The functions, sorted by path.
    pub functions: Vec<Function>,
}

impl Interface {
    /// Returns the function of this kind for examples, if possible one without required arguments.
    pub fn example(&self, kind: Kind) -> Option<&Function> {
        let all = || self.functions.iter().filter(|function| function.kind == kind);
        let public = || all().filter(|function| function.visibility == Visibility::Public);
        public().find(|function| function.args_optional).or_else(|| public().next()).or_else(|| all().next())
    }
}

/// A function.
pub struct Function {
    /// `module/path/functionName`.
    pub path: String,
    /// The kind: query, mutation or action.
    pub kind: Kind,
    /// The visibility.
    pub visibility: Visibility,
    /// The doc comment.
    pub doc: String,
    /// The type of the arguments.
    pub args: Type,
    /// True if the call needs no arguments.
    pub args_optional: bool,
    /// True if the arguments have a member `idempotencyKey`, with which a call may be retried safely.
    pub keyed: bool,
    /// The type of the result.
    pub output: Type,
}

#[cfg(test)]
impl Function {
    /// Returns a public query without arguments.
    pub(crate) fn query(path: &str, output: Type) -> Self {
        Self {
            path: path.to_owned(),
            kind: Kind::Query,
            visibility: Visibility::Public,
            doc: String::new(),
            args: Type::Object(Vec::new()),
            args_optional: true,
            keyed: false,
            output,
        }
    }
}

/// A type with a name.
pub struct NamedType {
    /// The name in PascalCase.
    pub name: String,
    /// The doc comment.
    pub doc: String,
    /// The form of the type.
    pub shape: Shape,
    /// The use of the type in arguments and results.
    pub usage: Usage,
}

/// The use of a type. Arguments may have more forms than results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Arguments only.
    In,
    /// Results only.
    Out,
    /// Arguments and results, with the same form.
    Both,
}

/// The form of a named type.
pub enum Shape {
    /// An object with exactly these members.
    Object(Vec<Member>),
    /// One of these texts.
    Words(Vec<String>),
    /// A union of objects, which differ by a tag.
    Union(Union),
    /// Another type.
    Alias(Type),
}

/// A tagged union: each object has its own text in the tag.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// The name of the tag.
    pub tag: String,
    /// The text of each tag with the name of its type, whose members include the tag.
    pub variants: Vec<(String, String)>,
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name on the wire.
    pub name: String,
    /// The doc comment.
    pub doc: String,
    /// The rule of the value, in words.
    pub rule: Option<String>,
    /// True if the member is always present.
    pub required: bool,
    /// The value of an absent member.
    pub default: Option<Value>,
    /// The type.
    pub ty: Type,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer within ±2^53.
    Integer,
    /// An integer of 64 bits, which a double may not represent exactly.
    Wide,
    /// A double.
    Number,
    /// A text.
    Text,
    /// Bytes, as a text in base64.
    Bytes,
    /// The id of a row, by its prefix.
    Id(String),
    /// One of these texts.
    Words(Vec<String>),
    /// A list.
    List(Box<Type>),
    /// A fixed number of values of different types.
    Tuple(Vec<Type>),
    /// An object with arbitrary keys.
    Map(Box<Type>),
    /// An object with these members.
    Object(Vec<Member>),
    /// One of several types.
    Either(Vec<Type>),
    /// The type, or null.
    OrNull(Box<Type>),
    /// Any JSON.
    Any,
    /// A type of [`Interface::types`].
    Named(String),
}
