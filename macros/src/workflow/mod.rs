//! `#[workflow]`: the unchanged function, and a type that represents it.

mod check;
mod expand;
mod parse;

use proc_macro2::TokenStream;
use quote::quote;

/// Returns the function, followed by every mistake and its registration.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    match parse::parse(options, item.clone()) {
        Ok((written, mut errors)) => {
            let code = check::check(&written, &mut errors).map(|workflow| expand::expand(&workflow, errors.is_empty()));
            let (item, made) = (&written.item, errors.with_code(code));
            quote!(#item #made)
        }
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#item #error)
        }
    }
}
