//! Properties of a type that are visible in its spelling.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type};

/// The types that the wire reads with its own rules: integers, doubles, texts.
const PLAIN: [&str; 11] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize", "f64", "String"];

/// Returns true if `name` is a number type of Rust.
pub(crate) fn is_number(name: &str) -> bool {
    name != "String" && PLAIN.contains(&name)
}

/// Returns `T` of `Option<T>`.
pub(crate) fn option(ty: &Type) -> Option<&Type> {
    inside(ty, "Option")
}

fn inside<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match (arguments.args.len(), arguments.args.first()) {
        (1, Some(GenericArgument::Type(inner))) => Some(inner),
        _ => None,
    }
}

/// Returns the last name of a path type without arguments: `String` of `std::string::String`.
pub(crate) fn last_name(ty: &Type) -> Option<&syn::Ident> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().filter(|last| last.arguments.is_none()).map(|last| &last.ident)
}

/// Returns the type that reads a member, and true if the result must be unwrapped.
pub(crate) fn read_as(ty: &Type) -> (TokenStream, bool) {
    match plain(ty) {
        Some(wrapped) => (wrapped, true),
        None => (ty.to_token_stream(), false),
    }
}

/// Length of the longest tuple that the wire reads with its own rules.
const TUPLE_MAX: usize = 8;

/// Returns the type with its plain parts wrapped, or `None` if it has no plain part.
fn plain(ty: &Type) -> Option<TokenStream> {
    if let Type::Tuple(tuple) = ty
        && (1..=TUPLE_MAX).contains(&tuple.elems.len())
    {
        let places = tuple.elems.iter().map(|place| {
            plain(place).unwrap_or_else(|| quote_spanned!(place.span()=> ::convoke::__private::AsIs<#place>))
        });
        return Some(quote!(::convoke::__private::AsTuple<(#(#places,)*)>));
    }
    if let Some((name, key, value)) = map(ty) {
        let value = plain(value)?;
        return Some(quote!(::std::collections::#name<#key, #value>));
    }
    let containers = [
        ("Option", quote!(::core::option::Option)),
        ("Vec", quote!(::std::vec::Vec)),
        ("Box", quote!(::std::boxed::Box)),
    ];
    for (name, container) in containers {
        if let Some(inner) = inside(ty, name) {
            let inner = plain(inner)?;
            return Some(quote!(#container<#inner>));
        }
    }
    let is_plain = last_name(ty).is_some_and(|name| PLAIN.iter().any(|plain| name == plain));
    is_plain.then(|| quote_spanned!(ty.span()=> ::convoke::__private::AsPlain<#ty>))
}

/// Returns the name, the key and the value of a `HashMap` or `BTreeMap`.
fn map(ty: &Type) -> Option<(&syn::Ident, &Type, &Type)> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "HashMap" || last.ident == "BTreeMap")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.iter().collect::<Vec<_>>()[..] {
        [GenericArgument::Type(key), GenericArgument::Type(value)] => Some((&last.ident, key, value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_types_are_read_by_the_rules_of_the_wire_at_every_depth() {
        let read = |text: &str| {
            let ty: Type = syn::parse_str(text).unwrap();
            let (ty, unwrap) = read_as(&ty);
            (ty.to_string().replace(' ', ""), unwrap)
        };
        assert_eq!(read("i64"), ("::convoke::__private::AsPlain<i64>".to_owned(), true));
        assert_eq!(
            read("Option<Vec<String>>"),
            ("::core::option::Option<::std::vec::Vec<::convoke::__private::AsPlain<String>>>".to_owned(), true)
        );
        assert_eq!(
            read("(i64, Id<User>)"),
            (
                "::convoke::__private::AsTuple<(::convoke::__private::AsPlain<i64>,::convoke::__private::AsIs<Id<User>>,)>"
                    .to_owned(),
                true
            )
        );
        assert_eq!(
            read("HashMap<String, Box<u8>>"),
            (
                "::std::collections::HashMap<String,::std::boxed::Box<::convoke::__private::AsPlain<u8>>>".to_owned(),
                true
            )
        );
        assert_eq!(read("Option<Id<User>>"), ("Option<Id<User>>".to_owned(), false));
        assert_eq!(read("bool"), ("bool".to_owned(), false));
    }
}
