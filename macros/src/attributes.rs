//! Parts of attributes that the expansions read: docs, `cfg`, derives, and lists of options.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, LitStr, Meta, Path, Token};

use crate::errors::Errors;

/// Returns true if an attribute is `#[name]`, with any path before the name.
pub(crate) fn is(attribute: &Attribute, name: &str) -> bool {
    ends_in(attribute.path(), name)
}

/// Returns true if the last segment of a path is `name`.
pub(crate) fn ends_in(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == name)
}

/// Removes the attributes called `name` from the list, and returns them.
pub(crate) fn take(attributes: &mut Vec<Attribute>, name: &str) -> Vec<Attribute> {
    attributes.extract_if(.., |attribute| is(attribute, name)).collect()
}

/// Returns the doc comment with its line breaks, without the space after `///`.
pub(crate) fn docs(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value
        {
            let text = text.value();
            lines.extend(text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()));
            if text.is_empty() {
                lines.push(String::new());
            }
        }
    }
    lines.join("\n").trim().to_owned()
}

/// Returns the `#[cfg]`s of an item. The code that is generated for the item gets the same conditions.
pub(crate) fn cfgs(attributes: &[Attribute]) -> Vec<&Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect()
}

/// Returns `#[derive(…)]` of those of `wanted` that the author did not derive.
pub(crate) fn derive(attributes: &[Attribute], wanted: &[(&str, TokenStream)]) -> TokenStream {
    let mut written: Vec<String> = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let paths = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
        let names = paths.into_iter().flatten().filter_map(|path| path.segments.last().map(|last| last.ident.clone()));
        written.extend(names.map(|name| name.to_string()));
    }
    let missing = wanted.iter().filter(|(name, _)| !written.iter().any(|there| there == name)).map(|(_, path)| path);
    quote!(#[::core::prelude::v1::derive(#(#missing),*)])
}

/// Returns the usual derives by name.
pub(crate) fn derives(names: &[&'static str]) -> Vec<(&'static str, TokenStream)> {
    let path = |name: &str| match name {
        "Clone" => quote!(::core::clone::Clone),
        "Copy" => quote!(::core::marker::Copy),
        "Debug" => quote!(::core::fmt::Debug),
        "PartialEq" => quote!(::core::cmp::PartialEq),
        "Eq" => quote!(::core::cmp::Eq),
        "PartialOrd" => quote!(::core::cmp::PartialOrd),
        "Ord" => quote!(::core::cmp::Ord),
        _ => quote!(::core::hash::Hash),
    };
    names.iter().map(|name| (*name, path(name))).collect()
}

/// One option of a list: `internal`, `rate = "class"`, `unique`, `when(…)`.
pub(crate) struct Choice {
    /// Its name.
    pub name: Ident,
    /// The tokens after it.
    pub given: Given,
}

/// The tokens after the name of an option.
pub(crate) enum Given {
    /// Nothing.
    Nothing,
    /// `= expression`.
    Value(Expr),
    /// `(tokens)`.
    List(TokenStream),
}

impl Choice {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.call(syn::ext::IdentExt::parse_any)?;
        let given = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Given::Value(input.parse()?)
        } else if input.peek(syn::token::Paren) {
            let list;
            syn::parenthesized!(list in input);
            Given::List(list.parse()?)
        } else {
            Given::Nothing
        };
        Ok(Self { name, given })
    }

    /// Checks that the option has no value, and returns true.
    pub(crate) fn flag(&self, errors: &mut Errors) -> bool {
        if !matches!(self.given, Given::Nothing) {
            errors.at(&self.name, format!("`{}` takes no value", self.name));
        }
        true
    }

    /// Returns the expression after `=`.
    pub(crate) fn expression(&self, errors: &mut Errors) -> Option<Expr> {
        match &self.given {
            Given::Value(value) => Some(value.clone()),
            Given::Nothing | Given::List(_) => {
                errors.at(&self.name, format!("`{0}` needs a value: `{0} = …`", self.name));
                None
            }
        }
    }

    /// Returns the text after `=`.
    pub(crate) fn text(&self, errors: &mut Errors) -> Option<LitStr> {
        match self.expression(errors)? {
            Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text),
            other => {
                errors.at(other, format!("`{}` takes a text in quotes", self.name));
                None
            }
        }
    }
}

/// Returns the author's name of a type in clients and in OpenAPI: `name = "Place"`.
pub(crate) fn type_name(choice: &Choice, errors: &mut Errors) -> Option<LitStr> {
    let name = choice.text(errors)?;
    let text = name.value();
    if text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Some(name);
    }
    errors
        .at(&name, "the name of a type in clients must be PascalCase: letters and digits, such as `name = \"Place\"`");
    None
}

/// Parses the options of an attribute. Each may occur once.
pub(crate) fn choices(tokens: TokenStream, errors: &mut Errors) -> Vec<Choice> {
    let parser = |input: ParseStream<'_>| Punctuated::<Choice, Token![,]>::parse_terminated_with(input, Choice::parse);
    let Some(list) = errors.take(parser.parse2(tokens)) else { return Vec::new() };
    let list: Vec<Choice> = list.into_iter().collect();
    for (at, choice) in list.iter().enumerate() {
        if list[..at].iter().any(|earlier| earlier.name == choice.name) {
            errors.at(&choice.name, format!("`{}` is set twice", choice.name));
        }
    }
    list
}

/// Rejects an unknown option, and names the known ones.
pub(crate) fn unknown(choice: &Choice, known: &[&str], errors: &mut Errors) {
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let known = match known.as_slice() {
        [only] => format!("the only option is {only}"),
        several => format!("the options are {}", several.join(", ")),
    };
    errors.at(&choice.name, format!("unknown option `{}`; {known}", choice.name));
}

/// Returns the tokens of an attribute's list; empty for `#[name]` alone.
pub(crate) fn list(attribute: &Attribute) -> TokenStream {
    match &attribute.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(pair) => pair.value.to_token_stream(),
    }
}

/// Returns the attribute that hides the runtime's own types in rustc's lists of "other types that implement the trait".
/// Only the runtime gets it: a crate without the implicit prelude does not know the attribute.
pub(crate) fn unlisted() -> Option<TokenStream> {
    let is_runtime = std::env::var_os("CARGO_CRATE_NAME").is_some_and(|name| name == "convoke");
    is_runtime.then(|| quote!(#[diagnostic::do_not_recommend]))
}
