//! Writes how an object is read: names it does not have, names given twice, arrays and missing members are refused.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::check::{Member, Object, Presence};
use crate::types;

/// `impl Deserialize`.
pub(super) fn expand(object: &Object) -> TokenStream {
    let name = &object.name;
    let names = object.members.iter().map(|member| &member.name);
    let slots = object.present().map(slot);
    let arms = object.members.iter().enumerate().filter_map(|(place, member)| arm(place, member));
    let fields = object.present().map(field);
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl<'de> ::convoke::__private::serde::Deserialize<'de> for #name {
            fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                const __NAMES: &[&::core::primitive::str] = &[#(#names),*];
                struct __Members;
                impl<'de> ::convoke::__private::serde::de::Visitor<'de> for __Members {
                    type Value = #name;
                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<__A: ::convoke::__private::serde::de::MapAccess<'de>>(
                        self,
                        mut map: __A,
                    ) -> ::core::result::Result<#name, __A::Error> {
                        #(#slots)*
                        while let ::core::option::Option::Some(place) =
                            ::convoke::__private::serde::de::MapAccess::next_key_seed(
                                &mut map,
                                ::convoke::__private::Place(__NAMES),
                            )?
                        {
                            match place {
                                #(#arms)*
                                _ => ::convoke::__private::skip(&mut map)?,
                            }
                        }
                        ::core::result::Result::Ok(#name { #(#fields)* })
                    }
                }
                ::convoke::__private::serde::Deserializer::deserialize_map(deserializer, __Members)
            }
        }
    }
}

/// The variable that holds a member while the others are read. No other variable here begins so.
fn slot_name(member: &Member) -> Ident {
    format_ident!("slot_{}", member.field.unraw(), span = Span::mixed_site())
}

/// `let mut slot_field: Option<Type> = None;`
fn slot(member: &Member) -> TokenStream {
    let slot = slot_name(member);
    let ty = read_as(member);
    quote!(let mut #slot: ::core::option::Option<#ty> = ::core::option::Option::None;)
}

/// What a member is read as: with a default it may also be null.
fn read_as(member: &Member) -> TokenStream {
    let (ty, _) = types::read_as(&member.ty);
    match member.presence {
        Presence::Or(_) => quote!(::core::option::Option<#ty>),
        Presence::Required | Presence::Optional | Presence::Retired => ty,
    }
}

/// Reads a member; one that is retired is passed over, by the last arm.
fn arm(place: usize, member: &Member) -> Option<TokenStream> {
    if let Presence::Retired = member.presence {
        return None;
    }
    let map = Ident::new("map", Span::mixed_site());
    let slot = slot_name(member);
    let name = &member.name;
    let ty = read_as(member);
    let fill = match types::read_as(&member.ty) {
        (_, true) => quote!(::convoke::__private::fill_plain),
        (_, false) => quote_spanned!(member.ty.span()=> ::convoke::__private::fill::<#ty, _>),
    };
    Some(quote!(#place => #fill(&mut #slot, &mut #map, #name)?,))
}

fn field(member: &Member) -> TokenStream {
    let field = &member.field;
    let slot = slot_name(member);
    let name = &member.name;
    let (ty, wrapped) = types::read_as(&member.ty);
    let unwrap = |value: TokenStream| match wrapped {
        true => quote!(::convoke::__private::Unwrap::unwrap_plain(#value)),
        false => value,
    };
    let given = match wrapped {
        true => quote!(::convoke::__private::given_plain),
        false => quote_spanned!(member.ty.span()=> ::convoke::__private::given::<#ty, _>),
    };
    match &member.presence {
        Presence::Or(default) => {
            let given = Ident::new("given", Span::mixed_site());
            let value = unwrap(quote!(#given));
            quote! {
                #field: match ::core::option::Option::flatten(#slot) {
                    ::core::option::Option::Some(#given) => #value,
                    ::core::option::Option::None => #default,
                },
            }
        }
        Presence::Required | Presence::Optional | Presence::Retired => {
            let value = unwrap(quote!(#given(#slot, #name)?));
            quote!(#field: #value,)
        }
    }
}
