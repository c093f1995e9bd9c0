//! Parses a workflow and its attribute.

use proc_macro2::TokenStream;
use syn::ItemFn;

use crate::attributes::{self, Choice};
use crate::errors::Errors;

/// A workflow as written.
pub(super) struct Written {
    /// Options of the attribute.
    pub options: Vec<Choice>,
    /// The function.
    pub item: ItemFn,
}

/// Parses the function, and returns the mistakes of its attribute. `check` adds those inside the function.
pub(super) fn parse(options: TokenStream, item: TokenStream) -> syn::Result<(Written, Errors)> {
    let item: ItemFn = syn::parse2(item).map_err(|error| {
        let message = format!("a #[workflow] belongs above a function with a body ({error})");
        syn::Error::new(error.span(), message)
    })?;
    let mut errors = Errors::default();
    let options = attributes::choices(options, &mut errors);
    Ok((Written { options, item }, errors))
}
