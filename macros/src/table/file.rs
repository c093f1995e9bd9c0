//! `#[file(…)]`: the contents that a field with files accepts.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Fields, Ident, ItemStruct, LitStr, Token};

use crate::attributes::{self, Choice, Given};
use crate::errors::Errors;

/// Largest `max`: 5 GiB.
const BYTES_MAX: u64 = 5 << 30;

/// The units of `max`.
const UNITS: [(&str, u32); 4] = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

/// The rule of a field, as written.
pub(super) struct FileField {
    /// The field.
    pub field: Ident,
    /// The attribute.
    pub span: Span,
    bytes_max: Option<u64>,
    types: Vec<LitStr>,
    is_public: bool,
}

/// Removes `#[file(…)]` from the fields of a struct, and returns the rules.
pub(super) fn take(written: &mut ItemStruct, errors: &mut Errors) -> Vec<FileField> {
    let Fields::Named(fields) = &mut written.fields else { return Vec::new() };
    let mut rules = Vec::new();
    for field in &mut fields.named {
        let Some(ident) = field.ident.clone() else { continue };
        let mut found = attributes::take(&mut field.attrs, "file").into_iter();
        let Some(attribute) = found.next() else { continue };
        if let Some(second) = found.next() {
            errors.at(second, "a field can have only one #[file(…)]");
        }
        let span = attribute.path().segments.last().map_or_else(Span::call_site, |last| last.ident.span());
        let mut rule = FileField { field: ident, span, bytes_max: None, types: Vec::new(), is_public: false };
        let choices = attributes::choices(attributes::list(&attribute), errors);
        if choices.is_empty() {
            errors.at(&attribute, "write what the field accepts: `#[file(max = \"10MiB\", types(\"image/png\"))]`");
        }
        for choice in &choices {
            rule.read(choice, errors);
        }
        rules.push(rule);
    }
    rules
}

impl FileField {
    fn read(&mut self, choice: &Choice, errors: &mut Errors) {
        match choice.name.to_string().as_str() {
            "max" => {
                if let Some(text) = choice.text(errors) {
                    self.bytes_max = bytes(&text, errors);
                }
            }
            "types" => match &choice.given {
                Given::List(tokens) => self.types = types(&choice.name, tokens.clone(), errors),
                Given::Nothing | Given::Value(_) => {
                    errors.at(&choice.name, "list the types: `types(\"image/png\", \"image/jpeg\")`");
                }
            },
            "public" => self.is_public = choice.flag(errors),
            _ => attributes::unknown(choice, &["max", "types", "public"], errors),
        }
    }

    /// Returns the rule for the runtime.
    pub(super) fn expand(&self) -> TokenStream {
        let bytes_max = self
            .bytes_max
            .map_or_else(|| quote!(::convoke::__private::FileRule::DEFAULT.bytes_max), |bytes| quote!(#bytes));
        let (types, is_public) = (&self.types, self.is_public);
        quote! {
            ::convoke::__private::FileRule { bytes_max: #bytes_max, types: &[#(#types),*], is_public: #is_public }
        }
    }
}

/// Reads a size such as `10MiB`.
fn bytes(text: &LitStr, errors: &mut Errors) -> Option<u64> {
    let written = text.value();
    let found = UNITS.iter().find_map(|(unit, bits)| {
        let number: u64 = written.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(1 << bits)
    });
    match found {
        Some(bytes @ 1..=BYTES_MAX) => Some(bytes),
        Some(_) => {
            errors.at(text, "`max` must be between 1B and 5GiB");
            None
        }
        None => {
            errors.at(text, "write a size such as \"10MiB\"; the units are B, KiB, MiB and GiB");
            None
        }
    }
}

/// Reads a list of media types.
fn types(name: &Ident, tokens: TokenStream, errors: &mut Errors) -> Vec<LitStr> {
    let parser = Punctuated::<LitStr, Token![,]>::parse_terminated;
    let Some(list) = errors.take(parser.parse2(tokens)) else { return Vec::new() };
    if list.is_empty() {
        errors.at(name, "list the types: `types(\"image/png\", \"image/jpeg\")`; omit `types` to accept every type");
    }
    for written in &list {
        let text = written.value();
        let is_type = text.split_once('/').is_some_and(|(kind, rest)| {
            let plain = |part: &str| {
                !part.is_empty()
                    && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b))
            };
            plain(kind) && (rest == "*" || plain(rest))
        });
        if !is_type {
            errors.at(written, "write a media type in lower case, such as \"image/png\" or \"image/*\"");
        }
    }
    list.into_iter().collect()
}
