//! Reads a function and the attributes that belong to it.

use proc_macro2::TokenStream;
use syn::{Attribute, ItemFn};

use crate::attributes::{self, Choice};
use crate::errors::Errors;

/// Which attribute stands above the function.
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
    /// The attribute as a message names it.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Kind::Query => "a #[query]",
            Kind::Mutation => "a #[mutation]",
            Kind::Action => "an #[action]",
        }
    }

    /// The attribute with one option.
    pub(crate) fn with(self, option: &str) -> String {
        let name = match self {
            Kind::Query => "query",
            Kind::Mutation => "mutation",
            Kind::Action => "action",
        };
        format!("#[{name}({option})]")
    }
}

/// A function as it was written.
pub(super) struct Written {
    /// Which attribute it has.
    pub kind: Kind,
    /// What stands in the attribute.
    pub options: Vec<Choice>,
    /// Its `#[cron]`s, taken out of `item`.
    pub crons: Vec<Attribute>,
    /// The function.
    pub item: ItemFn,
    /// What could not be read.
    pub errors: Option<syn::Error>,
}

/// Reads the function; what is wrong inside it is for `check` to say.
pub(super) fn parse(kind: Kind, options: TokenStream, item: TokenStream) -> syn::Result<Written> {
    let mut item: ItemFn = syn::parse2(item).map_err(|error| {
        let message = format!("{} stands above a function with a body ({error})", kind.attribute());
        syn::Error::new(error.span(), message)
    })?;
    let mut errors = Errors::default();
    let options = attributes::choices(options, &mut errors);
    let crons = attributes::take(&mut item.attrs, "cron");
    Ok(Written { kind, options, crons, item, errors: errors.finish(Some(())).err() })
}
