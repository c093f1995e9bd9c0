//! The rule of a value, from its attribute.

use syn::{Expr, LitStr, Path};

/// The wire form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// An integer.
    Integer,
    /// A double.
    Number,
}

impl Kind {
    /// Each kind with the option that names it and its Rust types.
    pub(super) const ALL: [(Kind, &'static str, &'static [&'static str]); 3] = [
        (Kind::Text, "text", &["String"]),
        (Kind::Integer, "integer", &["i64", "i32", "u32"]),
        (Kind::Number, "number", &["f64"]),
    ];

    /// Returns the option that names it.
    pub(super) fn option(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Integer => "integer",
            Kind::Number => "number",
        }
    }
}

/// A rule.
pub(super) enum Rule {
    /// The rule of a text.
    Text(TextRule),
    /// The rule of an integer.
    Integer(NumberRule),
    /// The rule of a double.
    Number(NumberRule),
}

impl Rule {
    /// Returns the kind of values with this rule.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Rule::Text(_) => Kind::Text,
            Rule::Integer(_) => Kind::Integer,
            Rule::Number(_) => Kind::Number,
        }
    }
}

/// The rule of a text.
#[derive(Default)]
pub(super) struct TextRule {
    pub trim: bool,
    pub min: Option<Expr>,
    pub max: Option<Expr>,
    pub too_short: Option<LitStr>,
    pub too_long: Option<LitStr>,
    pub pattern: Option<LitStr>,
    pub expected: Option<LitStr>,
    pub check: Option<Path>,
}

/// The rule of a number.
#[derive(Default)]
pub(super) struct NumberRule {
    pub min: Option<Expr>,
    pub max: Option<Expr>,
    pub too_small: Option<LitStr>,
    pub too_large: Option<LitStr>,
}
