//! `#[query]`, `#[mutation]`, `#[action]`: the unchanged function, and a type that represents it.

mod check;
mod context;
mod expand;
mod guard;
mod parse;

use proc_macro2::TokenStream;
use quote::quote;

use crate::errors::beside;

pub(crate) use parse::Kind;

/// Returns the function, followed by its registration or by every mistake.
pub(crate) fn expand(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    match parse::parse(kind, options, item.clone()) {
        Ok(written) => {
            let made = check::check(&written).map(|function| expand::expand(&function));
            beside(&written.item, made)
        }
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#item #error)
        }
    }
}
