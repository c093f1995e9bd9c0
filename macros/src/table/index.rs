//! `#[index(…)]`: the name of an index, its keys, and its condition.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Token};

use super::literal::Literal;
use crate::attributes::{self, Given};
use crate::errors::Errors;

/// An index as written.
pub(super) struct Index {
    /// Its name.
    pub name: Ident,
    /// Its keys, in order.
    pub keys: Vec<Key>,
    /// True if it is unique: at most one row has the same keys.
    pub unique: bool,
    /// Condition for its rows.
    pub when: Option<When>,
}

/// A key of an index.
pub(super) struct Key {
    /// The field.
    pub field: Ident,
    /// True if the greatest value comes first.
    pub descending: bool,
}

/// The condition for the rows of an index.
pub(super) struct When {
    /// The field that is compared.
    pub field: Ident,
    /// The required value.
    pub is: Is,
}

/// The required value of a field.
pub(super) enum Is {
    /// Equal to this.
    Equal(Literal),
    /// No value.
    Null,
    /// Any value.
    NotNull,
}

const EXAMPLE: &str = "write the index's name and its fields: `#[index(by_user(user_id))]`";

/// Parses one attribute.
pub(super) fn parse(attribute: &Attribute, errors: &mut Errors) -> Option<Index> {
    let mut choices = attributes::choices(attributes::list(attribute), errors).into_iter();
    let Some(first) = choices.next() else {
        errors.at(attribute, EXAMPLE);
        return None;
    };
    let Given::List(fields) = first.given else {
        errors.at(&first.name, EXAMPLE);
        return None;
    };
    let mut index = Index { keys: keys(&first.name, fields, errors), name: first.name, unique: false, when: None };
    for choice in choices {
        match choice.name.to_string().as_str() {
            "unique" => index.unique = choice.flag(errors),
            "when" => match choice.given {
                Given::List(condition) => index.when = errors.take(syn::parse2(condition)),
                Given::Nothing | Given::Value(_) => {
                    errors.at(
                        &choice.name,
                        "write the condition: `when(status = \"waiting\")`, `when(ended_at is null)`",
                    );
                }
            },
            _ => attributes::unknown(&choice, &["unique", "when"], errors),
        }
    }
    Some(index)
}

fn keys(name: &Ident, fields: TokenStream, errors: &mut Errors) -> Vec<Key> {
    let parser = Punctuated::<Key, Token![,]>::parse_terminated;
    let Some(keys) = errors.take(parser.parse2(fields)) else { return Vec::new() };
    if keys.is_empty() {
        errors.at(name, format!("name the fields of the index: `{name}(user_id)`"));
    }
    keys.into_iter().collect()
}

impl Parse for Key {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let field: Ident = input.call(syn::ext::IdentExt::parse_any)?;
        if input.peek(Token![.]) {
            let within: Token![.] = input.parse()?;
            let inner: Ident = input.call(syn::ext::IdentExt::parse_any)?;
            let message = format!(
                "an index contains only whole fields of the table, and `{inner}` is inside `{field}`; make it a \
                 field of the table, such as `{field}_{inner}`"
            );
            return Err(syn::Error::new_spanned(quote::quote!(#field #within #inner), message));
        }
        let descending = match input.parse::<Option<Ident>>()? {
            None => false,
            Some(word) if word == "desc" => true,
            Some(word) if word == "asc" => false,
            Some(word) => return Err(syn::Error::new_spanned(word, "only `desc` or `asc` can follow a key")),
        };
        Ok(Self { field, descending })
    }
}

impl Parse for When {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let field = input.call(syn::ext::IdentExt::parse_any)?;
        let expected = "write `field = value`, `field is null` or `field is not null`";
        let is = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Is::Equal(input.parse()?)
        } else {
            let unexpected = input.span();
            let words = words(input).map_err(|_| syn::Error::new(unexpected, expected))?;
            match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["is", "null"] => Is::Null,
                ["is", "not", "null"] => Is::NotNull,
                _ => return Err(syn::Error::new_spanned(field, expected)),
            }
        };
        if !input.is_empty() {
            return Err(input.error(expected));
        }
        Ok(Self { field, is })
    }
}

fn words(input: ParseStream<'_>) -> syn::Result<Vec<String>> {
    let mut words = Vec::new();
    while !input.is_empty() {
        let word: Ident = input.call(syn::ext::IdentExt::parse_any)?;
        words.push(word.to_string().to_lowercase());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_with_another_comparison_is_rejected_with_the_possible_ones() {
        for condition in ["b > 3", "b is > 3", "b is nothing", "b"] {
            let error = syn::parse_str::<When>(condition).err().unwrap();
            assert_eq!(
                error.to_string(),
                "write `field = value`, `field is null` or `field is not null`",
                "{condition}"
            );
        }
        assert!(syn::parse_str::<When>("b is not null").is_ok());
    }
}
