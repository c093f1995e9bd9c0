//! `#[value]` on an enum without fields: one of a list of texts.

pub(super) mod check;
mod expand;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemEnum;

use crate::attributes;
use crate::errors::Errors;

/// Returns the enum after every mistake and the code of a value.
pub(super) fn expand(options: TokenStream, mut written: ItemEnum) -> TokenStream {
    let mut errors = Errors::default();
    let checked = check::check(options, &mut written, &mut errors);
    let wanted = ["Clone", "Copy", "Debug", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"];
    let derive = attributes::derive(&written.attrs, &attributes::derives(&wanted));
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
