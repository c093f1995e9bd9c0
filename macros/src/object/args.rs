//! `#[args]`: the arguments of a function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, ItemStruct};

use super::check::{Object, check};
use super::schema::Direction;
use super::wire::wire;
use crate::attributes;
use crate::errors::{Errors, beside};

/// `#[args]`.
pub(crate) fn expand_args(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut written: ItemStruct = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(written)) => written,
        Ok(_) | Err(_) => {
            let message = "#[args] belongs above a struct whose fields are a function's arguments";
            return beside(&item, Err(syn::Error::new(proc_macro2::Span::call_site(), message)));
        }
    };
    let mut errors = Errors::default();
    let mut shown_as = None;
    for choice in attributes::choices(options, &mut errors) {
        match choice.name.to_string().as_str() {
            "name" => shown_as = attributes::type_name(&choice, &mut errors),
            _ => attributes::unknown(&choice, &["name"], &mut errors),
        }
    }
    let object = check("args", &mut written, &mut errors).map(|object| Object { shown_as, ..object });
    let derive = attributes::derive(&written.attrs, &attributes::derives(&["Clone", "Debug"]));
    let code = object.map(|object| {
        let wire = wire(&object, Direction::Both);
        let unlisted = attributes::unlisted();
        let name = &object.name;
        let cfgs = attributes::cfgs(&written.attrs);
        quote! {
            #(#cfgs)*
            const _: () = {
                #wire
                #[automatically_derived]
                #unlisted
                impl ::convoke::__private::Args for #name {}
            };
        }
    });
    let made = errors.with_code(code);
    quote!(#made #derive #written)
}
