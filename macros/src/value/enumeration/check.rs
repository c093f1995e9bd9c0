//! Everything that can be wrong with an enum that is one of a list of texts, found at once.

use proc_macro2::TokenStream;
use syn::{Fields, Ident, ItemEnum, Visibility};

use crate::attributes;
use crate::errors::Errors;
use crate::names::Spelling;

/// An enum without mistakes.
pub(super) struct Enumeration {
    /// Its name.
    pub name: Ident,
    /// Who sees it.
    pub vis: Visibility,
    /// Its doc comment.
    pub doc: String,
    /// Its variants, in order.
    pub variants: Vec<Variant>,
}

/// A variant.
pub(super) struct Variant {
    /// Its name.
    pub name: Ident,
    /// Its text on the wire.
    pub text: String,
    /// Its doc comment.
    pub doc: String,
}

/// Checks an enum and takes our attributes out of it.
pub(super) fn check(options: TokenStream, written: &mut ItemEnum, errors: &mut Errors) -> Option<Enumeration> {
    let spelling = spelling(options, errors);
    if !written.generics.params.is_empty() {
        errors.at(&written.generics.params, "an enum with #[value] takes no parameters");
    }
    if written.variants.is_empty() {
        errors.at(&written.ident, "an enum with #[value] has at least one variant: no text could be read as it");
    }
    let mut variants: Vec<Variant> = Vec::new();
    for variant in &mut written.variants {
        if !matches!(variant.fields, Fields::Unit) {
            errors.at(
                &variant.fields,
                "a variant of a #[value] is a text on the wire and holds nothing; use a struct for what belongs to it",
            );
        }
        if let Some(cfg) = attributes::cfgs(&variant.attrs).first() {
            errors.at(cfg, "a variant is there in every build or in none: the wire form may not depend on it");
        }
        let text = text(spelling, variant, errors);
        if let Some(first) = variants.iter().find(|first| first.text == text) {
            let message = format!("`{}` and `{}` are both {text:?} on the wire", first.name, variant.ident);
            errors.at(&variant.ident, message);
        }
        variants.push(Variant { name: variant.ident.clone(), text, doc: attributes::docs(&variant.attrs) });
    }
    Some(Enumeration {
        name: written.ident.clone(),
        vis: written.vis.clone(),
        doc: attributes::docs(&written.attrs),
        variants,
    })
}

fn spelling(options: TokenStream, errors: &mut Errors) -> Spelling {
    let mut spelling = Spelling::Kebab;
    for choice in attributes::choices(options, errors) {
        match choice.name.to_string().as_str() {
            "rename_all" => {
                let Some(text) = choice.text(errors) else { continue };
                match Spelling::named(&text.value()) {
                    Ok(named) => spelling = named,
                    Err(message) => errors.at(text, message),
                }
            }
            _ => attributes::unknown(&choice, &["rename_all"], errors),
        }
    }
    spelling
}

fn text(spelling: Spelling, variant: &mut syn::Variant, errors: &mut Errors) -> String {
    let mut text = spelling.of(&variant.ident);
    for own in attributes::take(&mut variant.attrs, "value") {
        for choice in attributes::choices(attributes::list(&own), errors) {
            match choice.name.to_string().as_str() {
                "rename" => {
                    if let Some(renamed) = choice.text(errors) {
                        text = renamed.value();
                    }
                }
                _ => attributes::unknown(&choice, &["rename"], errors),
            }
        }
    }
    if text.is_empty() {
        errors.at(&variant.ident, "the variant needs a text on the wire");
    }
    text
}
