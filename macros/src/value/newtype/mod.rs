//! `#[value]` on a struct with one unnamed field of text or number: its rule.

mod check;
mod expand;
mod rule;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemStruct;

use crate::attributes;
use crate::errors::Errors;

use rule::Kind;

/// Returns the struct after every mistake and the code of a value.
pub(super) fn expand(options: TokenStream, written: ItemStruct) -> TokenStream {
    let mut errors = Errors::default();
    let checked = check::check(options, &written, &mut errors);
    let wanted: &[&str] = match checked.as_ref().map(|checked| checked.rule.kind()) {
        Some(Kind::Integer) => &["Clone", "Copy", "Debug", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"],
        Some(Kind::Number) => &["Clone", "Copy", "Debug", "PartialEq", "PartialOrd"],
        Some(Kind::Text) | None => &["Clone", "Debug", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"],
    };
    let derive = attributes::derive(&written.attrs, &attributes::derives(wanted));
    let code = checked.map(|checked| {
        let made = expand::expand(&checked);
        let cfgs = attributes::cfgs(&written.attrs);
        quote! {
            #(#cfgs)*
            const _: () = { #made };
        }
    });
    let made = errors.with_code(code);
    quote!(#made #derive #written)
}
