//! Mistakes in the types of a program that rustc cannot see, reported at start: a name in clients that belongs to
//! another type, and a default that breaks the rule of its type.
//!
//! The name of a type in clients and in OpenAPI depends on that type alone, so that a new type never changes the name of
//! another one. Two types with one name are therefore a mistake.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use convoke_core::wire::default::SubmittedDefault;
use convoke_core::wire::schema::{SubmittedType, id_type_name, row_type_name};
use convoke_store::SubmittedTable;

/// The location of a declaration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Location(&'static str, u32);

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0, self.1)
    }
}

/// Returns all mistakes, each with its location.
pub(crate) fn mistakes() -> Vec<String> {
    let tables = inventory::iter::<SubmittedTable>().flat_map(|SubmittedTable(table)| {
        [("ids", id_type_name(table.prefix)), ("rows", row_type_name(table.name))].map(|(what, name)| {
            (name, format!("the {what} of table `{}`", table.name), Location(table.file, table.line))
        })
    });
    let types = inventory::iter::<SubmittedType>()
        .map(|of| ((of.name)().into_owned(), format!("`{}`", of.id), Location(of.file, of.line)));
    let mut mistakes = names_given_twice(tables, types);
    for SubmittedDefault { check, member, file, line } in inventory::iter::<SubmittedDefault>() {
        if let Err(invalid) = check() {
            mistakes.push(format!("{}: the default of {}", Location(file, *line), invalid.at(member).message()));
        }
    }
    mistakes.sort();
    mistakes
}

/// Returns the types whose name belongs to an earlier type. The store checks that two tables differ.
fn names_given_twice(
    tables: impl Iterator<Item = (String, String, Location)>,
    types: impl Iterator<Item = (String, String, Location)>,
) -> Vec<String> {
    let mut first: BTreeMap<String, (String, Location)> = tables.map(|(name, of, place)| (name, (of, place))).collect();
    let mut types: Vec<_> = types.collect();
    types.sort_by(|(_, a, a_place), (_, b, b_place)| (a_place, a).cmp(&(b_place, b)));
    let mut mistakes = Vec::new();
    for (name, of, place) in types {
        match first.entry(name) {
            Entry::Vacant(free) => drop(free.insert((of, place))),
            Entry::Occupied(taken) if taken.get().0 == of => {}
            Entry::Occupied(taken) => {
                let (name, (other, other_place)) = (taken.key(), taken.get());
                mistakes.push(format!(
                    "{place}: {of} and {other} at {other_place} have the same name in clients and in OpenAPI, \
                     `{name}`; choose another one: #[value(name = \"…\")] or #[args(name = \"…\")]"
                ));
            }
        }
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, of: &str, line: u32) -> (String, String, Location) {
        (name.to_owned(), of.to_owned(), Location("a.rs", line))
    }

    #[test]
    fn duplicate_type_name_is_a_mistake_that_names_both() {
        let tables = || [named("TodoId", "the ids of table `todos`", 9)].into_iter();
        let two = [named("TodosAdd", "`app::todos::Add`", 1), named("NotesAdd", "`app::notes::Add`", 2)];
        assert_eq!(names_given_twice(tables(), two.clone().into_iter()), Vec::<String>::new());
        let again = [named("NotesAdd", "`app::notes::Add`", 2), named("TodosAdd", "`b::todos::Add`", 7)];
        let more = [named("TodoId", "`app::todo::Id`", 8)];
        let advice = "choose another one: #[value(name = \"…\")] or #[args(name = \"…\")]";
        assert_eq!(
            names_given_twice(tables(), two.into_iter().chain(again).chain(more)),
            [
                format!(
                    "a.rs:7: `b::todos::Add` and `app::todos::Add` at a.rs:1 have the same name in clients and in OpenAPI, \
                     `TodosAdd`; {advice}"
                ),
                format!(
                    "a.rs:8: `app::todo::Id` and the ids of table `todos` at a.rs:9 have the same name in clients and in \
                     OpenAPI, `TodoId`; {advice}"
                ),
            ]
        );
    }

    #[test]
    fn declarations_of_the_runtime_have_no_mistakes() {
        assert_eq!(mistakes(), Vec::<String>::new());
    }
}
