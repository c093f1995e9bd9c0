//! All checks of a table, in one pass.

use proc_macro2::TokenStream;
use syn::{Attribute, Ident, ItemStruct, LitStr, Visibility};

use super::file::{self, FileField};
use super::index::{self, Index, Key};
use crate::attributes;
use crate::errors::Errors;
use crate::names;
use crate::object::{Member, Object, Presence};
use crate::types;

/// A table as far as it can be read.
pub(super) struct Table {
    /// The struct's name.
    pub ident: Ident,
    /// Visibility.
    pub vis: Visibility,
    /// The `#[cfg]`s above it.
    pub cfgs: Vec<Attribute>,
    /// The table's name.
    pub name: LitStr,
    /// The prefix of its ids.
    pub prefix: LitStr,
    /// Its fields as members of an object, including removed ones.
    pub object: Object,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// The rules of its fields with `#[file(…)]`.
    pub files: Vec<FileField>,
}

impl Table {
    /// Returns the index of a field among the fields.
    pub(super) fn place(&self, field: &Ident) -> Option<usize> {
        self.object.members.iter().position(|member| member.field == *field)
    }
}

/// Checks a table, and removes our attributes and the retired fields from the struct. Returns nothing if no code can be
/// generated for it.
pub(super) fn check(options: TokenStream, written: &mut ItemStruct, errors: &mut Errors) -> Option<Table> {
    let (name, prefix) = names(options, errors);
    let indexes = attributes::take(&mut written.attrs, "index");
    let indexes: Vec<Index> = indexes.iter().filter_map(|attribute| index::parse(attribute, errors)).collect();
    let files = file::take(written, errors);
    let object = crate::object::check("table", written, errors)?;
    fields(&object, &written.ident, errors);
    let mut table = Table {
        ident: written.ident.clone(),
        vis: written.vis.clone(),
        cfgs: attributes::cfgs(&written.attrs).into_iter().cloned().collect(),
        name: name.unwrap_or_else(|| LitStr::new("table", written.ident.span())),
        prefix: prefix.unwrap_or_else(|| LitStr::new("row", written.ident.span())),
        object,
        indexes: Vec::new(),
        files,
    };
    for index in indexes {
        check_index(index, &mut table, errors);
    }
    Some(table)
}

fn names(options: TokenStream, errors: &mut Errors) -> (Option<LitStr>, Option<LitStr>) {
    let (mut name, mut prefix) = (None, None);
    let choices = attributes::choices(options, errors);
    let (mut name_given, mut prefix_given) = (false, false);
    for choice in &choices {
        match choice.name.to_string().as_str() {
            "name" => {
                name_given = true;
                name = choice.text(errors);
            }
            "prefix" => {
                prefix_given = true;
                prefix = choice.text(errors);
            }
            _ => attributes::unknown(choice, &["name", "prefix"], errors),
        }
    }
    let example = "#[table(name = \"meetingParticipants\", prefix = \"participant\")]";
    if !name_given {
        errors.add(syn::Error::new(proc_macro2::Span::call_site(), format!("name the table: `{example}`")));
    }
    if !prefix_given {
        let message = format!("name the prefix of its ids: `{example}`");
        errors.add(syn::Error::new(proc_macro2::Span::call_site(), message));
    }
    (name.filter(|text| is_name(text, errors)), prefix.filter(|text| is_prefix(text, errors)))
}

fn is_name(name: &LitStr, errors: &mut Errors) -> bool {
    let text = name.value();
    let bare = text.strip_prefix('_').unwrap_or(&text);
    let mistake = if bare.is_empty() {
        "a table's name cannot be empty"
    } else if !bare.starts_with(|c: char| c.is_ascii_lowercase()) || !bare.chars().all(|c| c.is_ascii_alphanumeric()) {
        "a table's name must be camelCase: letters and digits, such as \"meetingParticipants\""
    } else {
        return true;
    };
    errors.at(name, mistake);
    false
}

/// Checks the prefix of a TypeID (TypeID 0.3, "Type Prefix").
fn is_prefix(prefix: &LitStr, errors: &mut Errors) -> bool {
    let text = prefix.value();
    let mistake = if text.is_empty() {
        "a table's prefix cannot be empty: it marks the ids of the table"
    } else if !text.chars().all(|c| c.is_ascii_lowercase() || c == '_') || text.starts_with('_') || text.ends_with('_')
    {
        "a table's prefix must contain only a-z and `_`, and begin and end with a letter"
    } else {
        return true;
    };
    errors.at(prefix, mistake);
    false
}

fn fields(object: &Object, ident: &Ident, errors: &mut Errors) {
    if object.present().next().is_none() {
        errors.at(ident, "a table must have at least one field");
    }
    for (at, member) in object.members.iter().enumerate() {
        if member.name.starts_with('_') || member.field.to_string().starts_with('_') {
            errors.at(&member.field, "names with a leading `_` are reserved for system fields: `_id`, `_creationTime`");
        }
        if !member.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            errors.at(&member.field, format!("`{}` cannot name a column: use letters and digits", member.name));
        }
        let clash = object.members[..at]
            .iter()
            .find(|first| first.name != member.name && first.name.eq_ignore_ascii_case(&member.name));
        if let Some(first) = clash {
            let message = format!("columns must differ in more than case: `{}` exists already", first.name);
            errors.at(&member.field, message);
        }
    }
}

/// Checks an index, and adds it to the table as far as it can be read: without keys that are not fields.
fn check_index(mut index: Index, table: &mut Table, errors: &mut Errors) {
    let is_taken = table.indexes.iter().any(|first| first.name == index.name);
    if is_taken {
        errors.at(&index.name, format!("another index is named `{}`", index.name));
    }
    let mut keys: Vec<Key> = Vec::new();
    for mut key in index.keys {
        if keys.iter().any(|first| first.field == key.field) {
            errors.at(&key.field, format!("the index already contains `{}`", key.field));
        } else if known(table, &mut key.field, errors).is_some() {
            keys.push(key);
        }
    }
    index.keys = keys;
    index.when = index.when.and_then(|mut when| {
        let member = known(table, &mut when.field, errors)?;
        condition(&when, member, errors).then_some(when)
    });
    if !is_taken && !index.keys.is_empty() {
        table.indexes.push(index);
    }
}

/// Returns the field of an index. The field must exist and must not be retired. A misspelled name is corrected.
fn known<'a>(table: &'a Table, field: &mut Ident, errors: &mut Errors) -> Option<&'a Member> {
    let Some(place) = table.place(field) else {
        let meant = table.object.present().find(|member| names::near(&member.field.to_string(), &field.to_string()));
        let message = match meant {
            Some(meant) => format!("the table has no field `{field}`; did you mean `{}`?", meant.field),
            None => {
                let names: Vec<String> = table.object.present().map(|member| member.field.to_string()).collect();
                format!("the table has no field `{field}`; it has {}", names.join(", "))
            }
        };
        errors.at(&*field, message);
        if let Some(meant) = meant {
            *field = meant.field.clone();
        }
        return meant;
    };
    let member = &table.object.members[place];
    if matches!(member.presence, Presence::Retired) {
        errors.at(&*field, format!("`{field}` is retired: no row has a value that an index could contain"));
        return None;
    }
    Some(member)
}

fn condition(when: &index::When, member: &Member, errors: &mut Errors) -> bool {
    match when.is {
        index::Is::Null | index::Is::NotNull if types::option(&member.ty).is_none() => {
            errors.at(&when.field, format!("`{}` always has a value: its type is not an `Option`", when.field));
            false
        }
        index::Is::Null | index::Is::NotNull | index::Is::Equal(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// Returns every message about a table with these options and fields.
    fn mistakes(options: TokenStream, fields: TokenStream) -> Vec<String> {
        let mut written: ItemStruct = syn::parse2(quote!(struct Row { #fields })).unwrap();
        let mut errors = Errors::default();
        let table = check(options, &mut written, &mut errors);
        match errors.finish(table) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
        }
    }

    #[test]
    fn prefix_is_that_of_a_typeid() {
        for good in ["user", "user_row", "a", "a_b_c"] {
            assert_eq!(mistakes(quote!(name = "rows", prefix = #good), quote!(a: i64)), Vec::<String>::new(), "{good}");
        }
        for bad in ["", "User", "user1", "_user", "user_", "user-row", "ü"] {
            assert_eq!(mistakes(quote!(name = "rows", prefix = #bad), quote!(a: i64)).len(), 1, "{bad}");
        }
    }

    #[test]
    fn name_is_camel_case_and_may_begin_with_the_underscore_of_the_runtime() {
        for good in ["rows", "meetingParticipants", "_jobs", "a1"] {
            assert_eq!(mistakes(quote!(name = #good, prefix = "row"), quote!(a: i64)), Vec::<String>::new(), "{good}");
        }
        for bad in ["", "_", "Rows", "meeting_participants", "1a", "a b", "__jobs"] {
            assert_eq!(mistakes(quote!(name = #bad, prefix = "row"), quote!(a: i64)).len(), 1, "{bad}");
        }
    }

    #[test]
    fn table_has_a_field() {
        let options = quote!(name = "rows", prefix = "row");
        assert_eq!(mistakes(options, quote!()), ["a table must have at least one field"]);
    }

    #[test]
    fn all_mistakes_are_reported_together() {
        let found = mistakes(quote!(name = "Rows", prefix = "Row", color = "red"), quote!(_id: i64, a_b: i64, aB: i64));
        assert_eq!(found.len(), 5, "{found:#?}");
    }
}
