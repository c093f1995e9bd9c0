//! `#[value]` on a struct with named fields: an object on the wire, JSON in a column.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemStruct;

use crate::attributes;
use crate::errors::{Errors, beside};
use crate::object::{self, Direction, Object};

/// The struct, and behind it what makes it a value.
pub(super) fn expand(options: TokenStream, mut written: ItemStruct) -> TokenStream {
    let mut errors = Errors::default();
    let direction = direction(options, &mut errors);
    let object = object::check("value", &mut written, &mut errors);
    let wanted: &[&str] = match direction {
        Direction::Both => &["Clone", "Debug", "PartialEq"],
        Direction::Out => &["Clone", "Debug"],
    };
    let derive = attributes::derive(&written.attrs, &attributes::derives(wanted));
    let made = errors.finish(object).map(|object| {
        let wire = object::wire(&object, direction);
        let column = (direction == Direction::Both).then(|| column(&object));
        let cfgs = attributes::cfgs(&written.attrs);
        quote! {
            #(#cfgs)*
            const _: () = {
                #wire
                #column
            };
        }
    });
    beside(&quote!(#derive #written), made)
}

fn direction(options: TokenStream, errors: &mut Errors) -> Direction {
    let mut direction = Direction::Both;
    for choice in attributes::choices(options, errors) {
        match choice.name.to_string().as_str() {
            "output" => {
                choice.flag(errors);
                direction = Direction::Out;
            }
            _ => attributes::unknown(&choice, &["output"], errors),
        }
    }
    direction
}

fn column(object: &Object) -> TokenStream {
    let unlisted = attributes::unlisted();
    let name = &object.name;
    quote! {
        #[automatically_derived]
        #unlisted
        impl ::convoke::__private::Column for #name {
            const TYPE: ::convoke::__private::ColumnType = ::convoke::__private::ColumnType::Json;
            fn to_value(&self) -> ::convoke::__private::Value {
                ::convoke::__private::json_to_value(self)
            }
            fn from_value(
                value: ::convoke::__private::ValueRef<'_>,
            ) -> ::core::result::Result<Self, ::std::string::String> {
                ::convoke::__private::json_from_value(value)
            }
        }
    }
}
