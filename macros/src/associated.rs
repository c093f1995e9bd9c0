//! Functions of an `impl` or a `trait`. They have no path by which the runtime could call them, and an attribute cannot add
//! its items there.

use quote::ToTokens as _;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::errors::Errors;

/// The attributes above a function.
const ATTRIBUTES: [&str; 5] = ["query", "mutation", "action", "workflow", "route"];

/// Rejects a function of an `impl` or a `trait`. `reason` begins the message, such as `a #[query] is called by its path`.
/// Returns true if the function is outside of them.
pub(crate) fn reject(item: &ItemFn, reason: &str, errors: &mut Errors) -> bool {
    if let Some(receiver) = item.sig.receiver() {
        errors.at(receiver, format!("{reason} and has no `self`; move it out of the `impl`"));
        return false;
    }
    if is_associated(item) {
        errors.at(&item.sig.ident, format!("{reason}; move it out of the `impl`"));
        return false;
    }
    true
}

/// Returns true if the source file has this function in an `impl` or a `trait`. The compiler passes only the function
/// itself to an attribute. The file is read only if the function is indented, so most functions cost nothing.
fn is_associated(item: &ItemFn) -> bool {
    let Some(first) = item.to_token_stream().into_iter().next().filter(|_| proc_macro::is_available()) else {
        return false;
    };
    let position = first.span().unwrap();
    let file = position.local_file().filter(|_| position.column() > 1);
    let text = file.and_then(|path| std::fs::read_to_string(path).ok());
    text.and_then(|text| syn::parse_file(&text).ok()).is_some_and(|file| Search::finds(&item.sig, &file))
}

/// Looks for a function with an attribute of ours in each `impl` and `trait`.
struct Search<'a> {
    wanted: &'a Signature,
    is_found: bool,
}

impl<'a> Search<'a> {
    fn finds(wanted: &'a Signature, file: &syn::File) -> bool {
        let mut search = Search { wanted, is_found: false };
        search.visit_file(file);
        search.is_found
    }

    fn look_at(&mut self, attributes: &[Attribute], signature: &Signature) {
        let is_ours = |attribute: &Attribute| {
            attribute.path().segments.last().is_some_and(|last| ATTRIBUTES.iter().any(|name| last.ident == name))
        };
        self.is_found |= signature == self.wanted && attributes.iter().any(is_ours);
    }
}

impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.look_at(&function.attrs, &function.sig);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.look_at(&function.attrs, &function.sig);
        visit::visit_trait_item_fn(self, function);
    }
}
