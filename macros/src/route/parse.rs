//! Parses a route: `#[route(METHOD, "/path", option = …)]` and the function below it.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser as _};
use syn::{Ident, ItemFn, LitStr, Token};

use crate::attributes::{self, Choice};
use crate::errors::Errors;

/// A route as written.
pub(super) struct Written {
    /// The method.
    pub method: Ident,
    /// The path.
    pub path: LitStr,
    /// The options after them.
    pub options: Vec<Choice>,
    /// The function.
    pub item: ItemFn,
    /// Parse errors of the options.
    pub errors: Option<syn::Error>,
}

const FORM: &str = "write the method and the path: `#[route(GET, \"/calendar/{meeting}.ics\")]`";

/// Parses the route. `check` reports mistakes inside it.
pub(super) fn parse(options: TokenStream, item: TokenStream) -> syn::Result<Written> {
    let item: ItemFn = syn::parse2(item).map_err(|error| {
        syn::Error::new(error.span(), format!("a #[route] belongs above a function with a body ({error})"))
    })?;
    let mut errors = Errors::default();
    let head = |input: ParseStream<'_>| {
        let method = input.parse::<Ident>()?;
        input.parse::<Token![,]>()?;
        let path = input.parse::<LitStr>()?;
        input.parse::<Option<Token![,]>>()?;
        Ok((method, path, input.parse::<TokenStream>()?))
    };
    let (method, path, rest) = head.parse2(options).map_err(|error| syn::Error::new(error.span(), FORM))?;
    let options = attributes::choices(rest, &mut errors);
    Ok(Written { method, path, options, item, errors: errors.finish(Some(())).err() })
}
