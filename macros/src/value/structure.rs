//! `#[value]` on a struct with named fields: an object on the wire, JSON in a column.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, ItemStruct, LitStr};

use crate::attributes;
use crate::errors::Errors;
use crate::object::{self, Direction, Object};

/// Returns the struct after every mistake and the code of a value.
pub(super) fn expand(options: TokenStream, mut written: ItemStruct) -> TokenStream {
    let mut errors = Errors::default();
    let Options { direction, shown_as } = self::options(options, &mut errors);
    let object = object::check("value", &mut written, &mut errors).map(|object| Object { shown_as, ..object });
    let derive = attributes::derive(&written.attrs, &attributes::derives(derived(direction)));
    let code = object.map(|object| {
        let wire = object::wire(&object, direction);
        let column = (direction == Direction::Both).then(|| column(&object.name));
        let cfgs = attributes::cfgs(&written.attrs);
        quote! {
            #(#cfgs)*
            const _: () = {
                #wire
                #column
            };
        }
    });
    let made = errors.with_code(code);
    quote!(#made #derive #written)
}

/// Returns the derives of an object.
pub(super) fn derived(direction: Direction) -> &'static [&'static str] {
    match direction {
        Direction::Both => &["Clone", "Debug", "PartialEq"],
        Direction::Out => &["Clone", "Debug"],
    }
}

/// The options of the attribute.
struct Options {
    direction: Direction,
    shown_as: Option<LitStr>,
}

fn options(tokens: TokenStream, errors: &mut Errors) -> Options {
    let mut options = Options { direction: Direction::Both, shown_as: None };
    for choice in attributes::choices(tokens, errors) {
        match choice.name.to_string().as_str() {
            "output" => {
                choice.flag(errors);
                options.direction = Direction::Out;
            }
            "name" => options.shown_as = attributes::type_name(&choice, errors),
            _ => attributes::unknown(&choice, &["output", "name"], errors),
        }
    }
    options
}

/// Returns the column of an object: JSON text.
pub(super) fn column(name: &Ident) -> TokenStream {
    let unlisted = attributes::unlisted();
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
