//! Structs with named fields that are objects on the wire: `#[args]`, and `#[value]` on such a struct.

mod args;
mod check;
pub(crate) mod read;
pub(crate) mod schema;
mod wire;
pub(crate) mod write;

pub(crate) use args::expand_args;
pub(crate) use check::{Member, Object, Presence, check, foreign, members};
pub(crate) use schema::Direction;
pub(crate) use wire::{defaults, wire, wire_out};
