//! What the attributes' expansions name of this crate.
//!
//! Nothing here is for authors, and nothing here is stable.

pub use {inventory, schemars, serde};

pub use crate::error::Result;
pub use crate::id::Named;
pub use crate::wire::number::{IntegerRule, NumberRule, integer, number};
pub use crate::wire::object::{AsPlain, Place, Unwrap, choice, fill, fill_plain, given, given_plain, skip, write};
pub use crate::wire::schema::{ObjectSchema, one_of as schema_one_of};
pub use crate::wire::text::{Pattern, TextRule, text};
pub use crate::wire::{Invalid, one_of};
