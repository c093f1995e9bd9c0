//! `#[workflow]`: the unchanged function, and a type that represents it.

mod check;
mod expand;
mod parse;

use proc_macro2::TokenStream;
use quote::quote;

use crate::errors::beside;

/// Returns the function, followed by its registration or by every mistake.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    match parse::parse(options, item.clone()) {
        Ok(written) => {
            let made = check::check(&written).map(|workflow| expand::expand(&workflow));
            beside(&written.item, made)
        }
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#item #error)
        }
    }
}
