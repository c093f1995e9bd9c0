//! Generates the schema of an object from the doc comments and the types of its fields.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{LitStr, Type};

use super::check::{Member, Object, Presence};
use crate::{defaults, types};

/// The directions in which a struct is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To and from clients.
    Both,
    /// To clients only: its fields need no deserialization.
    Out,
}

/// Returns `impl JsonSchema`.
pub(crate) fn expand(object: &Object, direction: Direction) -> TokenStream {
    let name = &object.name;
    let generator = Ident::new("generator", Span::mixed_site());
    let schema = members(&object.doc, None, &object.members, direction);
    let TypeName { names, submission } = type_name(name, object.shown_as.as_ref());
    quote! {
        #[automatically_derived]
        impl ::convoke::__private::schemars::JsonSchema for #name {
            #names
            fn json_schema(
                #generator: &mut ::convoke::__private::schemars::SchemaGenerator,
            ) -> ::convoke::__private::schemars::Schema {
                #schema
            }
        }
        #submission
    }
}

/// Returns statements that end in the schema of an object with these members, after a tag with its text.
pub(crate) fn members(doc: &str, tag: Option<(&str, &str)>, members: &[Member], direction: Direction) -> TokenStream {
    let generator = Ident::new("generator", Span::mixed_site());
    let present = || members.iter().filter(|member| !matches!(member.presence, Presence::Retired));
    let unused = present().next().is_none().then(|| quote!(let _ = #generator;));
    let tag = tag.map(|(tag, text)| quote!(.tag(#tag, #text)));
    let members = present().map(|member| describe(member, &generator, direction));
    quote! {
        #unused
        ::convoke::__private::ObjectSchema::new(#doc) #tag #(#members)* .finish()
    }
}

/// The name of a type in schemas.
pub(crate) struct TypeName {
    /// Functions of `impl JsonSchema` that return the name and the id of the type.
    pub names: TokenStream,
    /// Code that submits the name to the check at start: two types must have different names.
    pub submission: TokenStream,
}

/// Returns the name of a type: the author's name, or a name from its module and its own name. No other type changes
/// the result.
pub(crate) fn type_name(name: &Ident, shown_as: Option<&LitStr>) -> TypeName {
    named(name, shown_as, &name.unraw().to_string(), "")
}

/// Returns the name of a variant of `union`, which `ty` represents.
pub(crate) fn variant_name(ty: &Ident, union: &Ident, shown_as: Option<&LitStr>, variant: &str) -> TypeName {
    named(ty, shown_as, &union.unraw().to_string(), variant)
}

fn named(ty: &Ident, shown_as: Option<&LitStr>, name: &str, variant: &str) -> TypeName {
    let own = format!("{name}{variant}");
    let path = if variant.is_empty() { name.to_owned() } else { format!("{name}::{variant}") };
    let id = quote!(::core::concat!(::core::module_path!(), "::", #path));
    let shown = match shown_as {
        Some(shown) => {
            let shown = LitStr::new(&format!("{}{variant}", shown.value()), shown.span());
            quote!(::std::borrow::Cow::Borrowed(#shown))
        }
        None => quote!(::std::borrow::Cow::Owned(::convoke::__private::type_name(::core::module_path!(), #own))),
    };
    let names = quote! {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            #shown
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(#id)
        }
    };
    let submission = quote! {
        ::convoke::__private::inventory::submit! {
            ::convoke::__private::SubmittedType {
                name: <#ty as ::convoke::__private::schemars::JsonSchema>::schema_name,
                id: #id,
                file: ::core::file!(),
                line: ::core::line!(),
            }
        }
    };
    TypeName { names, submission }
}

fn describe(member: &Member, generator: &Ident, direction: Direction) -> TokenStream {
    let Member { name, doc, ty, presence, .. } = member;
    let of = |ty: &Type| quote_spanned!(ty.span()=> <#ty as ::convoke::__private::OutMember>);
    match presence {
        Presence::Optional => {
            let of = of(types::option(ty).unwrap_or(ty));
            quote!(.optional(#generator, #name, #doc, #of::schema))
        }
        Presence::Or(default) if direction == Direction::Both => {
            let (of, default) = (of(ty), defaults::value(ty, default));
            quote!(.or(#generator, #name, #doc, #of::schema, #of::json(&#default)))
        }
        Presence::Required | Presence::Or(_) | Presence::Retired => {
            let of = of(ty);
            quote!(.required(#generator, #name, #doc, #of::schema))
        }
    }
}
