//! `#[value]`: a type with its wire form, its stored form and its rule.

mod enumeration;
mod newtype;
mod structure;
mod union;

use proc_macro2::{Span, TokenStream};
use syn::{Fields, Item};

use crate::errors::beside;

/// Returns the type, followed by the code of a value or by every mistake.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Enum(written)) if !written.generics.params.is_empty() => {
            let message = "an enum with #[value] has one wire form and cannot be generic; write concrete types";
            beside(&written, Err(syn::Error::new_spanned(&written.generics.params, message)))
        }
        Ok(Item::Enum(written)) => {
            match written.variants.iter().all(|variant| matches!(variant.fields, Fields::Unit)) {
                true => enumeration::expand(options, written),
                false => union::expand(options, written),
            }
        }
        Ok(Item::Struct(written)) => match written.fields {
            Fields::Unnamed(_) => newtype::expand(options, written),
            Fields::Named(_) | Fields::Unit => structure::expand(options, written),
        },
        Ok(_) | Err(_) => {
            let message = "#[value] belongs above a struct with named fields, a struct around one value such as \
                           `struct Age(i64);`, or an enum";
            beside(&item, Err(syn::Error::new(Span::call_site(), message)))
        }
    }
}
