//! All checks of an enum without fields, in one pass.

use proc_macro2::TokenStream;
use syn::{Ident, ItemEnum, LitStr, Visibility};

use crate::attributes::{self, Choice};
use crate::errors::Errors;
use crate::names::Spelling;

/// An enum as far as it can be read.
pub(super) struct Enumeration {
    /// Its name.
    pub name: Ident,
    /// Its name in clients and in OpenAPI, if the author sets it.
    pub shown_as: Option<LitStr>,
    /// Visibility.
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

/// Checks an enum, and removes our attributes from it.
pub(super) fn check(options: TokenStream, written: &mut ItemEnum, errors: &mut Errors) -> Option<Enumeration> {
    let Options { spelling, shown_as } = self::options(options, errors);
    if written.variants.is_empty() {
        errors.at(&written.ident, "an enum with #[value] must have at least one variant");
    }
    let mut variants: Vec<Variant> = Vec::new();
    for variant in &mut written.variants {
        let text = text(spelling, variant, errors);
        same_text(&variant.ident, &text, variants.iter().map(|first| (&first.name, &first.text)), errors);
        variants.push(Variant { name: variant.ident.clone(), text, doc: attributes::docs(&variant.attrs) });
    }
    (!variants.is_empty()).then(|| Enumeration {
        name: written.ident.clone(),
        shown_as,
        vis: written.vis.clone(),
        doc: attributes::docs(&written.attrs),
        variants,
    })
}

/// The options of the attribute.
struct Options {
    spelling: Spelling,
    shown_as: Option<LitStr>,
}

fn options(tokens: TokenStream, errors: &mut Errors) -> Options {
    let mut options = Options { spelling: Spelling::Kebab, shown_as: None };
    for choice in attributes::choices(tokens, errors) {
        match choice.name.to_string().as_str() {
            "rename_all" => options.spelling = spelling(&choice, errors),
            "name" => options.shown_as = attributes::type_name(&choice, errors),
            "tag" => errors.at(&choice.name, "`tag` is for an enum with fields; this enum is a text"),
            _ => attributes::unknown(&choice, &["rename_all", "name"], errors),
        }
    }
    options
}

/// Returns the spelling that `rename_all` names.
pub(in crate::value) fn spelling(choice: &Choice, errors: &mut Errors) -> Spelling {
    let Some(text) = choice.text(errors) else { return Spelling::Kebab };
    Spelling::named(&text.value()).unwrap_or_else(|message| {
        errors.at(text, message);
        Spelling::Kebab
    })
}

/// Rejects a variant with the text of an earlier one.
pub(in crate::value) fn same_text<'a>(
    variant: &Ident,
    text: &str,
    mut earlier: impl Iterator<Item = (&'a Ident, &'a String)>,
    errors: &mut Errors,
) {
    if let Some((first, _)) = earlier.find(|(_, other)| *other == text) {
        errors.at(variant, format!("`{first}` and `{variant}` are both {text:?} on the wire"));
    }
}

/// Returns the text of a variant on the wire, and removes our attribute from the variant.
pub(in crate::value) fn text(spelling: Spelling, variant: &mut syn::Variant, errors: &mut Errors) -> String {
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
    if let Some(cfg) = attributes::cfgs(&variant.attrs).first() {
        errors.at(cfg, "remove the `cfg` of the variant: the wire form must be the same in every build");
    }
    if text.is_empty() {
        errors.at(&variant.ident, "the variant needs a text on the wire");
    }
    text
}
