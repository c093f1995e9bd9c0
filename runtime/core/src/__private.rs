//! The items of this crate that the expansions of the attributes use.
//!
//! This module is not for authors, and it is not stable.

pub use {inventory, schemars, serde};

pub use crate::error::Result;
pub use crate::id::Named;
pub use crate::wire::default::{FromLiteral, SubmittedDefault, integer_literal, of_literal};
pub use crate::wire::number::{IntegerRule, NumberRule, integer, number};
pub use crate::wire::object::{
    AsIs, AsPlain, AsTuple, Member, MemberName, OutMember, Unwrap, choice, fill_plain, given_plain, skip,
};
pub use crate::wire::schema::{ObjectSchema, SubmittedType, UnionSchema, one_of as schema_one_of, type_name};
pub use crate::wire::text::{Pattern, TextRule, text};
pub use crate::wire::union::tagged;
pub use crate::wire::{Invalid, one_of};
