//! Writes how an object is written: members in the struct's order, those without a value left out.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::check::{Member, Object, Presence};

/// `impl Serialize`.
pub(super) fn expand(object: &Object) -> TokenStream {
    let name = &object.name;
    let text = name.to_string();
    let always = object.present().filter(|member| !matches!(member.presence, Presence::Optional)).count();
    let sometimes = object.present().filter(|member| matches!(member.presence, Presence::Optional)).map(|member| {
        let field = &member.field;
        quote_spanned! {Span::mixed_site()=>
            + ::core::option::Option::is_some(&self.#field) as ::core::primitive::usize
        }
    });
    let state = Ident::new("object", Span::mixed_site());
    let members = object.present().map(|member| write(member, &state));
    let mutable = (object.present().next().is_some()).then(|| quote!(mut));
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl ::convoke::__private::serde::Serialize for #name {
            fn serialize<__S: ::convoke::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                let #mutable #state = ::convoke::__private::serde::Serializer::serialize_struct(
                    serializer,
                    #text,
                    #always #(#sometimes)*,
                )?;
                #(#members)*
                ::convoke::__private::serde::ser::SerializeStruct::end(#state)
            }
        }
    }
}

fn write(member: &Member, state: &Ident) -> TokenStream {
    let field = &member.field;
    let name = &member.name;
    let ty = &member.ty;
    let write = quote_spanned!(ty.span()=> ::convoke::__private::write::<#ty, _>);
    let write = quote_spanned!(Span::mixed_site()=> #write(&self.#field, &mut #state, #name)?;);
    match member.presence {
        Presence::Optional => quote_spanned! {Span::mixed_site()=>
            if ::core::option::Option::is_some(&self.#field) {
                #write
            }
        },
        Presence::Required | Presence::Or(_) | Presence::Retired => write,
    }
}
