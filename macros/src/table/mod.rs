//! `#[table]`: a struct whose values are rows.

mod check;
mod expand;
mod file;
mod index;
mod literal;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Item, ItemStruct};

use crate::attributes;
use crate::errors::{Errors, beside};

/// Returns the struct after every mistake and the code of a table.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut written: ItemStruct = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(written)) => written,
        Ok(_) | Err(_) => {
            let message = "#[table] belongs above a struct whose fields are the columns";
            return beside(&item, Err(syn::Error::new(Span::call_site(), message)));
        }
    };
    let mut errors = Errors::default();
    let table = check::check(options, &mut written, &mut errors);
    let derive = attributes::derive(&written.attrs, &attributes::derives(&["Clone", "Debug", "PartialEq"]));
    let made = errors.with_code(table.map(|table| expand::expand(&table)));
    quote!(#made #derive #written)
}
