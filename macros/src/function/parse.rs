//! Parses a function and its attributes.

use proc_macro2::TokenStream;
use syn::{Attribute, ItemFn};

use crate::attributes::{self, Choice};
use crate::errors::Errors;

/// The attribute above a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `#[query]`
    Query,
    /// `#[mutation]`
    Mutation,
    /// `#[action]`
    Action,
}

impl Kind {
    /// Returns the attribute as messages name it.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Kind::Query => "a #[query]",
            Kind::Mutation => "a #[mutation]",
            Kind::Action => "an #[action]",
        }
    }

    /// Returns the attribute with one option.
    pub(crate) fn with(self, option: &str) -> String {
        let name = match self {
            Kind::Query => "query",
            Kind::Mutation => "mutation",
            Kind::Action => "action",
        };
        format!("#[{name}({option})]")
    }
}

/// A function as written.
pub(super) struct Written {
    /// Kind of its attribute.
    pub kind: Kind,
    /// Options of the attribute.
    pub options: Vec<Choice>,
    /// Its `#[cron]`s, removed from `item`.
    pub crons: Vec<Attribute>,
    /// The function.
    pub item: ItemFn,
}

/// Parses the function, and returns the mistakes of its attribute. `check` adds those inside the function.
pub(super) fn parse(kind: Kind, options: TokenStream, item: TokenStream) -> syn::Result<(Written, Errors)> {
    let mut item: ItemFn = syn::parse2(item).map_err(|error| {
        let message = format!("{} belongs above a function with a body ({error})", kind.attribute());
        syn::Error::new(error.span(), message)
    })?;
    let mut errors = Errors::default();
    let options = attributes::choices(options, &mut errors);
    let crons = attributes::take(&mut item.attrs, "cron");
    Ok((Written { kind, options, crons, item }, errors))
}
