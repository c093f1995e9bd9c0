//! Golden files of the code that each attribute generates: a review shows each change of an expansion.
//!
//! `tests/golden/<name>.rs` has items with the attributes. The file with `expanded` before its ending has the expansions.
//! `.ci/renew`, which sets `CONVOKE_BLESS=1`, renews the expansions.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Attribute, Item};

use crate::function::{self, Kind};
use crate::{attributes, cron, object, route, table, value, workflow};

/// The expansion of an attribute: takes its options and the item below it, and returns the code.
type Expand = fn(TokenStream, TokenStream) -> TokenStream;

const ATTRIBUTES: [(&str, Expand); 9] = [
    ("cron", cron::expand),
    ("query", |options, item| function::expand(Kind::Query, options, item)),
    ("mutation", |options, item| function::expand(Kind::Mutation, options, item)),
    ("action", |options, item| function::expand(Kind::Action, options, item)),
    ("route", route::expand),
    ("workflow", workflow::expand),
    ("args", object::expand_args),
    ("value", value::expand),
    ("table", table::expand),
];

#[test]
fn expansions_match_the_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut different = Vec::new();
    for input in inputs(&folder) {
        let expanded = input.with_extension("expanded.rs");
        let text = expand(&fs::read_to_string(&input).unwrap());
        if std::env::var_os("CONVOKE_BLESS").is_some() {
            fs::write(&expanded, text).unwrap();
        } else if fs::read_to_string(&expanded).ok().as_deref() != Some(&text) {
            different.push(expanded);
        }
    }
    assert!(
        different.is_empty(),
        "the expansions differ from {different:#?}; if the change is intended, run `.ci/renew`"
    );
}

fn inputs(folder: &Path) -> Vec<PathBuf> {
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_string_lossy().ends_with(".expanded.rs"))
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    inputs
}

fn expand(source: &str) -> String {
    let file = syn::parse_file(source).unwrap();
    let items: TokenStream = file.items.into_iter().map(item).collect();
    let file = syn::parse2(items).unwrap_or_else(|error| panic!("an expansion is not Rust: {error}"));
    prettyplease::unparse(&file)
}

/// Expands the attributes of an item in their order, as rustc does.
fn item(mut item: Item) -> TokenStream {
    let Some((expand, attribute)) = attributes_of(&mut item).and_then(take_first) else {
        return item.into_token_stream();
    };
    let expanded: syn::File = syn::parse2(expand(attributes::list(&attribute), quote!(#item))).unwrap();
    expanded.items.into_iter().map(self::item).collect()
}

fn attributes_of(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    match item {
        Item::Fn(item) => Some(&mut item.attrs),
        Item::Struct(item) => Some(&mut item.attrs),
        Item::Enum(item) => Some(&mut item.attrs),
        _ => None,
    }
}

fn take_first(written: &mut Vec<Attribute>) -> Option<(Expand, Attribute)> {
    let find = |attribute: &Attribute| ATTRIBUTES.iter().find(|(name, _)| attributes::is(attribute, name));
    let place = written.iter().position(|attribute| find(attribute).is_some())?;
    let attribute = written.remove(place);
    find(&attribute).map(|(_, expand)| (*expand, attribute))
}
