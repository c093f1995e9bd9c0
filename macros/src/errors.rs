//! The mistakes of one item, collected so that they are reported together.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// Mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds a mistake under `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// Adds one or more mistakes.
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        }
    }

    /// Returns true if there was no mistake.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the value of `result`, or adds its mistake.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Returns every mistake of an item, and the code generated for it, as far as the item can be read: without the code,
    /// each use of the item would be one more mistake. rustc reports errors in the order of the text, so the result
    /// belongs before a type: a mistake about a field is more helpful than a failed derive.
    pub(crate) fn with_code(self, code: Option<TokenStream>) -> TokenStream {
        let mistakes = self.0.map(syn::Error::into_compile_error);
        quote!(#mistakes #code)
    }

    /// Returns `value`, if there was no mistake.
    pub(crate) fn finish<T>(self, value: Option<T>) -> syn::Result<T> {
        match (self.0, value) {
            (Some(errors), _) => Err(errors),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(syn::Error::new(proc_macro2::Span::call_site(), "the item cannot be parsed")),
        }
    }
}

/// Returns the item as written, followed by the generated code or by every mistake.
pub(crate) fn beside(item: &impl ToTokens, made: syn::Result<TokenStream>) -> TokenStream {
    let made = made.unwrap_or_else(syn::Error::into_compile_error);
    quote!(#item #made)
}
