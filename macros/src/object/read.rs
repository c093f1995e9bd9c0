//! Generates the deserialization of an object. It rejects unknown members, duplicate members, arrays and missing
//! members.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::check::{Member, Object, Presence};
use crate::{defaults, types};

/// Returns `impl Deserialize` of a struct.
pub(super) fn expand(object: &Object) -> TokenStream {
    let name = &object.name;
    let map = map();
    let members = members(&object.members, &quote!(#name));
    deserialize(name, "an object", &quote!(mut #map), &members)
}

/// Returns `impl Deserialize` of an object: `body` reads the members of the map that `pattern` binds.
pub(crate) fn deserialize(name: &Ident, expected: &str, pattern: &TokenStream, body: &TokenStream) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl<'de> ::convoke::__private::serde::Deserialize<'de> for #name {
            fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                struct __Members;
                impl<'de> ::convoke::__private::serde::de::Visitor<'de> for __Members {
                    type Value = #name;
                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str(#expected)
                    }
                    fn visit_map<__A: ::convoke::__private::serde::de::MapAccess<'de>>(
                        self,
                        #pattern: __A,
                    ) -> ::core::result::Result<#name, __A::Error> {
                        #body
                    }
                }
                ::convoke::__private::serde::Deserializer::deserialize_map(deserializer, __Members)
            }
        }
    }
}

/// Returns the variable that holds the unread members.
pub(crate) fn map() -> Ident {
    Ident::new("map", Span::mixed_site())
}

/// Returns statements that read members from [`map`] and end in `Ok(constructor { … })`.
pub(crate) fn members(members: &[Member], constructor: &TokenStream) -> TokenStream {
    let map = map();
    let present = || members.iter().filter(|member| !matches!(member.presence, Presence::Retired));
    let names = members.iter().map(|member| &member.name);
    let slots = present().map(slot);
    let arms = members.iter().enumerate().filter_map(|(place, member)| arm(place, member));
    let fields = present().map(field);
    quote_spanned! {Span::mixed_site()=>
        const __NAMES: &[&::core::primitive::str] = &[#(#names),*];
        #(#slots)*
        while let ::core::option::Option::Some(place) =
            ::convoke::__private::serde::de::MapAccess::next_key_seed(
                &mut #map,
                ::convoke::__private::MemberName(__NAMES),
            )?
        {
            match place {
                #(#arms)*
                _ => ::convoke::__private::skip(&mut #map)?,
            }
        }
        ::core::result::Result::Ok(#constructor { #(#fields)* })
    }
}

/// Returns the variable that holds a member while the others are read. Its prefix is unique in the generated code.
fn slot_name(member: &Member) -> Ident {
    format_ident!("slot_{}", member.field.unraw(), span = Span::mixed_site())
}

/// Returns `let mut slot_field: Option<Type> = None;`.
fn slot(member: &Member) -> TokenStream {
    let slot = slot_name(member);
    let ty = read_as(member);
    quote!(let mut #slot: ::core::option::Option<#ty> = ::core::option::Option::None;)
}

/// Returns the type that reads a member. With a default it may also be null.
fn read_as(member: &Member) -> TokenStream {
    let (ty, _) = types::read_as(&member.ty);
    match member.presence {
        Presence::Or(_) => quote!(::core::option::Option<#ty>),
        Presence::Required | Presence::Optional | Presence::Retired => ty,
    }
}

/// Returns the match arm that reads a member. The last arm ignores a retired member.
fn arm(place: usize, member: &Member) -> Option<TokenStream> {
    if let Presence::Retired = member.presence {
        return None;
    }
    let map = map();
    let slot = slot_name(member);
    let name = &member.name;
    let ty = read_as(member);
    let fill = match types::read_as(&member.ty) {
        (_, true) => quote!(::convoke::__private::fill_plain),
        (_, false) => quote_spanned!(member.ty.span()=> <#ty as ::convoke::__private::Member>::fill),
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
        false => quote_spanned!(member.ty.span()=> <#ty as ::convoke::__private::Member>::given),
    };
    match &member.presence {
        Presence::Or(default) => {
            let default = defaults::value(&member.ty, default);
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
