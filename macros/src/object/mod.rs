//! Structs with named fields that are objects on the wire: `#[args]`, and `#[value]` on such a struct.

mod check;
pub(crate) mod read;
pub(crate) mod schema;
pub(crate) mod write;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, ItemStruct};

use crate::errors::{Errors, before, beside};
use crate::{attributes, defaults};

pub(crate) use check::{Member, Object, Presence, check, foreign, members};

/// `#[args]`.
pub(crate) fn expand_args(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut written: ItemStruct = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(written)) => written,
        Ok(_) | Err(_) => {
            let message = "#[args] stands above a struct whose fields are a function's arguments";
            return beside(&item, Err(syn::Error::new(proc_macro2::Span::call_site(), message)));
        }
    };
    let mut errors = Errors::default();
    let mut shown_as = None;
    for choice in attributes::choices(options, &mut errors) {
        match choice.name.to_string().as_str() {
            "name" => shown_as = attributes::type_name(&choice, &mut errors),
            _ => attributes::unknown(&choice, &["name"], &mut errors),
        }
    }
    let object = check("args", &mut written, &mut errors).map(|object| Object { shown_as, ..object });
    let derive = attributes::derive(&written.attrs, &attributes::derives(&["Clone", "Debug"]));
    let made = errors.finish(object).map(|object| {
        let wire = wire(&object, Direction::Both);
        let unlisted = attributes::unlisted();
        let name = &object.name;
        let cfgs = attributes::cfgs(&written.attrs);
        quote! {
            #(#cfgs)*
            const _: () = {
                #wire
                #[automatically_derived]
                #unlisted
                impl ::convoke::__private::Args for #name {}
            };
        }
    });
    before(&quote!(#derive #written), made)
}

/// Which ways a struct travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// In and out.
    Both,
    /// Out only: its fields need no reading.
    Out,
}

/// The wire form of an object.
pub(crate) fn wire(object: &Object, direction: Direction) -> TokenStream {
    let write = write::expand(object);
    let schema = schema::expand(object, direction);
    let read = (direction == Direction::Both).then(|| read::expand(object));
    let defaults = defaults(&object.members);
    quote!(#read #write #schema #defaults)
}

/// What has the defaults of members checked at start.
pub(crate) fn defaults(members: &[Member]) -> TokenStream {
    members
        .iter()
        .filter_map(|member| match &member.presence {
            Presence::Or(default) => defaults::submission(&member.name, &member.ty, default),
            Presence::Required | Presence::Optional | Presence::Retired => None,
        })
        .collect()
}

/// The way out alone, and the schema: what a table has.
pub(crate) fn wire_out(object: &Object) -> TokenStream {
    wire(object, Direction::Out)
}
