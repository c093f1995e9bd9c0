//! Defaults of members that are literals: `#[default(20)]` of an `Age`.

use super::invalid::Invalid;
use super::text::TextRule;

/// A type that can have a literal as a default. The literal must obey the rule of the type.
#[diagnostic::on_unimplemented(
    message = "this literal cannot be the default of a field of type `{Self}`",
    label = "the field is a `{Self}`",
    note = "write a literal of the field's type, or an expression such as `{Self}::default()` or `vec![]`"
)]
pub trait FromLiteral<L>: Sized {
    /// Converts the literal.
    ///
    /// # Errors
    /// The rule that the literal breaks.
    fn from_literal(literal: L) -> Result<Self, Invalid>;
}

impl FromLiteral<&'static str> for String {
    fn from_literal(literal: &'static str) -> Result<Self, Invalid> {
        TextRule::ANY.apply(literal)
    }
}

/// Converts a literal to an integer of 64 bits.
///
/// # Errors
/// The literal does not fit into 64 bits.
pub fn integer_literal(literal: i128) -> Result<i64, Invalid> {
    i64::try_from(literal)
        .map_err(|_| Invalid::must_be(format_args!("an integer between {} and {}", i64::MIN, i64::MAX), literal))
}

/// Converts a literal that was checked at start.
///
/// # Panics
/// If the literal breaks the rule of its type.
pub fn of_literal<T: FromLiteral<L>, L>(literal: L) -> T {
    T::from_literal(literal).expect("a program whose defaults break a rule does not start")
}

/// A literal default, which the attributes submit and the start checks.
pub struct SubmittedDefault {
    /// Returns the rule that the literal breaks.
    pub check: fn() -> Result<(), Invalid>,
    /// The member, by its name on the wire.
    pub member: &'static str,
    /// The file of the default.
    pub file: &'static str,
    /// The line in the file.
    pub line: u32,
}
inventory::collect!(SubmittedDefault);
