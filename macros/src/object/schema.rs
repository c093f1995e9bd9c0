//! Writes how an object is described: from the doc comments and the types of its fields.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::Direction;
use super::check::{Member, Object, Presence};
use crate::types;

/// `impl JsonSchema`.
pub(crate) fn expand(object: &Object, direction: Direction) -> TokenStream {
    let name = &object.name;
    let doc = &object.doc;
    let generator = Ident::new("generator", Span::mixed_site());
    let members = object.present().map(|member| describe(member, &generator, direction));
    let unused = object.present().next().is_none().then(|| quote!(let _ = #generator;));
    let names = names(name);
    quote! {
        #[automatically_derived]
        impl ::convoke::__private::schemars::JsonSchema for #name {
            #names
            fn json_schema(
                #generator: &mut ::convoke::__private::schemars::SchemaGenerator,
            ) -> ::convoke::__private::schemars::Schema {
                #unused
                ::convoke::__private::ObjectSchema::new(#doc) #(#members)* .finish()
            }
        }
    }
}

/// The name of a type in a schema, and the id that tells it from one of its name in another module.
pub(crate) fn names(name: &Ident) -> TokenStream {
    let text = name.to_string();
    quote! {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(#text)
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(::core::concat!(::core::module_path!(), "::", #text))
        }
    }
}

fn describe(member: &Member, generator: &Ident, direction: Direction) -> TokenStream {
    let name = &member.name;
    let doc = &member.doc;
    let ty = &member.ty;
    match &member.presence {
        Presence::Optional => {
            let inner = types::option(ty).unwrap_or(ty);
            let call = quote_spanned!(ty.span()=> optional::<#inner>);
            quote!(.#call(#generator, #name, #doc))
        }
        Presence::Or(default) if direction == Direction::Both => {
            let call = quote_spanned!(ty.span()=> or::<#ty>);
            quote!(.#call(#generator, #name, #doc, &#default))
        }
        Presence::Required | Presence::Or(_) | Presence::Retired => {
            let call = quote_spanned!(ty.span()=> required::<#ty>);
            quote!(.#call(#generator, #name, #doc))
        }
    }
}
