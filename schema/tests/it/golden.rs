//! The schema as text, so that a review shows every change of a table.

use std::fmt::Write as _;
use std::path::Path;

use convoke::store::{Condition, IndexDef, SubmittedTable, TableDef};
use schema as _;

/// Environment variable that accepts the current schema.
const BLESS: &str = "CONVOKE_BLESS";

/// The tables of the application by name: without the runtime's own, which begin with an underscore.
fn tables() -> Vec<&'static TableDef> {
    let submitted = convoke::__private::inventory::iter::<SubmittedTable>().map(|table| table.0);
    let mut tables: Vec<_> = submitted.filter(|table| !table.name.starts_with('_')).collect();
    tables.sort_unstable_by_key(|table| table.name);
    tables
}

fn describe(table: &TableDef) -> String {
    let mut text = format!("{} ({}_…)\n", table.name, table.prefix);
    for field in table.fields {
        let optional = if field.nullable { "?" } else { "" };
        let _ = write!(text, "    {}{optional}: {:?}", field.name, field.column);
        if let Some(prefix) = field.references {
            let _ = write!(text, " of {prefix}");
        }
        if let Some(default) = field.default {
            let _ = write!(text, " = {:?}", default());
        }
        if field.retired {
            text.push_str(" retired");
        }
        text.push('\n');
    }
    for index in table.indexes {
        let _ = writeln!(text, "    {}", describe_index(table, index));
    }
    text
}

fn describe_index(table: &TableDef, index: &IndexDef) -> String {
    let keys: Vec<String> = index
        .keys
        .iter()
        .map(|key| format!("{}{}", table.fields[key.field].name, if key.descending { " desc" } else { "" }))
        .collect();
    let unique = if index.unique { "unique " } else { "" };
    let when = match index.when {
        None => String::new(),
        Some(Condition::Equals(field, value)) => format!(" when {field} = {value:?}"),
        Some(Condition::IsNull(field)) => format!(" when {field} is null"),
        Some(Condition::NotNull(field)) => format!(" when {field} is not null"),
    };
    format!("{unique}index {} ({}){when}", index.name, keys.join(", "))
}

#[test]
fn schema_equals_the_reviewed_one() {
    let now: String = tables().into_iter().map(|table| describe(table) + "\n").collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/schema.txt");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(now, reviewed, "the schema changed; if it is meant to, `.ci/renew` renews the file");
}

#[test]
fn names_and_prefixes_are_unique() {
    let tables = tables();
    for (at, table) in tables.iter().enumerate() {
        for other in &tables[..at] {
            assert_ne!(table.name, other.name);
            assert_ne!(table.prefix, other.prefix, "{} and {}", table.name, other.name);
        }
    }
}

#[test]
fn every_reference_names_a_table() {
    let tables = tables();
    for field in tables.iter().flat_map(|table| table.fields) {
        if let Some(prefix) = field.references {
            // The contents of files are in a table of the runtime.
            let is_known = prefix == "storedfile" || tables.iter().any(|table| table.prefix == prefix);
            assert!(is_known, "{}: {prefix}", field.name);
        }
    }
}
