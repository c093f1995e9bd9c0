//! What a client in any language is made from: named types, and functions with their arguments and results.

use std::collections::BTreeSet;

use serde_json::Value;

use convoke_calls::function::{Kind, Visibility};

/// The functions that can be called from outside, and every type they speak of.
pub struct Interface {
    /// The name of the program that the functions are in.
    pub program: String,
    /// By name.
    pub types: Vec<Named>,
    /// Prefixes of the ids that occur (`meeting` of `meeting_01h455vb4pex5vsknk084sn02q`).
    pub ids: BTreeSet<String>,
    /// By path.
    pub functions: Vec<Described>,
}

impl Interface {
    /// The function of this kind that examples call: one without arguments, if there is one.
    pub fn example(&self, kind: Kind) -> Option<&Described> {
        let all = || self.functions.iter().filter(|function| function.kind == kind);
        let public = || all().filter(|function| function.visibility == Visibility::Public);
        public().find(|function| function.args_optional).or_else(|| public().next()).or_else(|| all().next())
    }
}

/// One function.
pub struct Described {
    /// `module/path/functionName`.
    pub path: String,
    /// What a call of it may do.
    pub kind: Kind,
    /// Who may call it.
    pub visibility: Visibility,
    /// The doc comment.
    pub doc: String,
    /// What it takes.
    pub args: Type,
    /// Whether `{}` is enough.
    pub args_optional: bool,
    /// Whether the arguments have a member `idempotencyKey`, by which a call may be repeated safely.
    pub keyed: bool,
    /// What it returns.
    pub output: Type,
}

/// A type with a name.
pub struct Named {
    /// In PascalCase.
    pub name: String,
    /// The doc comment.
    pub doc: String,
    /// What it is.
    pub shape: Shape,
    /// Where it occurs.
    pub usage: Usage,
}

/// Where a type occurs: what goes in may be written in more ways than what comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// In arguments.
    In,
    /// In results.
    Out,
    /// In both, with one form.
    Both,
}

/// What a named type is.
pub enum Shape {
    /// An object with these members and no other.
    Object(Vec<Member>),
    /// One of these texts.
    Words(Vec<String>),
    /// One of these objects, told apart by a member.
    Union(Union),
    /// Another type.
    Alias(Type),
}

/// Objects of which each has its own text in one member.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// The member.
    pub tag: String,
    /// Each text with the name of its type, whose members include the tag.
    pub variants: Vec<(String, String)>,
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// As on the wire.
    pub name: String,
    /// The doc comment.
    pub doc: String,
    /// What it must be beyond its type, in words.
    pub rule: Option<String>,
    /// Whether it is always there.
    pub required: bool,
    /// What stands for it when it is absent.
    pub default: Option<Value>,
    /// Its type.
    pub ty: Type,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `null` alone.
    Null,
    /// `true` or `false`.
    Bool,
    /// A whole number within ±2^53.
    Integer,
    /// A whole number of 64 bits, of which some are no doubles.
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
    /// So many values of different types.
    Tuple(Vec<Type>),
    /// An object whose members' names are not known.
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
