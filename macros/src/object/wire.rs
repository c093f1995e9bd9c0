//! The wire form of an object: deserialization, serialization, its schema, and the defaults of its members.

use proc_macro2::TokenStream;
use quote::quote;

use super::check::{Member, Object, Presence};
use super::schema::{self, Direction};
use super::{read, write};
use crate::defaults;

/// Returns the wire form of an object.
pub(crate) fn wire(object: &Object, direction: Direction) -> TokenStream {
    let write = write::expand(object);
    let schema = schema::expand(object, direction);
    let read = (direction == Direction::Both).then(|| read::expand(object));
    let defaults = defaults(&object.members);
    quote!(#read #write #schema #defaults)
}

/// Returns code that checks the defaults of members at start.
pub(crate) fn defaults(members: &[Member]) -> TokenStream {
    members
        .iter()
        .filter_map(|member| match &member.presence {
            Presence::Or(default) => defaults::submission(&member.name, &member.ty, default),
            Presence::Required | Presence::Optional | Presence::Retired => None,
        })
        .collect()
}

/// Returns the serialization and the schema alone, for a table.
pub(crate) fn wire_out(object: &Object) -> TokenStream {
    wire(object, Direction::Out)
}
