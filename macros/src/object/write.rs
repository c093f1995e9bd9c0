//! Generates the serialization of an object: members in the struct's order, without absent ones.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::check::{Member, Object, Presence};

/// Returns `impl Serialize` of a struct.
pub(super) fn expand(object: &Object) -> TokenStream {
    let name = &object.name;
    let body = members(&name.to_string(), None, &object.members, |member| {
        let field = &member.field;
        quote_spanned!(Span::mixed_site()=> self.#field)
    });
    serialize(name, &body)
}

/// Returns `impl Serialize` of an object.
pub(crate) fn serialize(name: &Ident, body: &TokenStream) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl ::convoke::__private::serde::Serialize for #name {
            fn serialize<__S: ::convoke::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                #body
            }
        }
    }
}

/// Returns statements that serialize members, each through the expression that `at` returns, after a tag with its text.
pub(crate) fn members(
    name: &str,
    tag: Option<(&str, &str)>,
    members: &[Member],
    at: impl Fn(&Member) -> TokenStream,
) -> TokenStream {
    let present = || members.iter().filter(|member| !matches!(member.presence, Presence::Retired));
    let is_optional = |member: &&Member| matches!(member.presence, Presence::Optional);
    let always = present().filter(|member| !is_optional(member)).count() + usize::from(tag.is_some());
    let sometimes = present().filter(is_optional).map(|member| {
        let place = at(member);
        quote_spanned!(Span::mixed_site()=> + ::core::option::Option::is_some(&#place) as ::core::primitive::usize)
    });
    let state = Ident::new("object", Span::mixed_site());
    let tag = tag.map(|(tag, text)| {
        quote_spanned! {Span::mixed_site()=>
            ::convoke::__private::serde::ser::SerializeStruct::serialize_field(&mut #state, #tag, #text)?;
        }
    });
    let mutable = (tag.is_some() || present().next().is_some()).then(|| quote!(mut));
    let members = present().map(|member| write(member, &at(member), &state));
    quote_spanned! {Span::mixed_site()=>
        let #mutable #state = ::convoke::__private::serde::Serializer::serialize_struct(
            serializer,
            #name,
            #always #(#sometimes)*,
        )?;
        #tag
        #(#members)*
        ::convoke::__private::serde::ser::SerializeStruct::end(#state)
    }
}

fn write(member: &Member, place: &TokenStream, state: &Ident) -> TokenStream {
    let name = &member.name;
    let ty = &member.ty;
    let write = quote_spanned!(ty.span()=> <#ty as ::convoke::__private::OutMember>::write);
    let write = quote_spanned!(Span::mixed_site()=> #write(&#place, &mut #state, #name)?;);
    match member.presence {
        Presence::Optional => quote_spanned! {Span::mixed_site()=>
            if ::core::option::Option::is_some(&#place) {
                #write
            }
        },
        Presence::Required | Presence::Or(_) | Presence::Retired => write,
    }
}
