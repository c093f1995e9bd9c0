//! `#[query]`, `#[mutation]`, `#[action]`: the unchanged function, and a type that represents it.

mod check;
mod context;
mod expand;
mod guard;
mod parse;

use proc_macro2::TokenStream;
use quote::quote;

pub(crate) use parse::Kind;

/// Returns the function, followed by every mistake and its registration.
pub(crate) fn expand(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    match parse::parse(kind, options, item.clone()) {
        Ok((written, mut errors)) => {
            let code = check::check(&written, &mut errors).map(|function| expand::expand(&function, errors.is_empty()));
            let (item, made) = (&written.item, errors.with_code(code));
            quote!(#item #made)
        }
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#item #error)
        }
    }
}
