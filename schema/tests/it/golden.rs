//! The schema as text, so that a review shows every change of a table.

use std::fmt::Write as _;
use std::path::Path;

use convoke::store::{Condition, IndexDef, TableDef};
use schema::TABLES;

/// Environment variable that accepts the current schema.
const BLESS: &str = "CONVOKE_BLESS";

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
    let now: String = TABLES.iter().map(|table| describe(table) + "\n").collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/schema.txt");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(now, reviewed, "the schema changed; if it is meant to, `.ci/renew` renews the file");
}

#[test]
fn names_and_prefixes_are_unique() {
    for (at, table) in TABLES.iter().enumerate() {
        for other in &TABLES[..at] {
            assert_ne!(table.name, other.name);
            assert_ne!(table.prefix, other.prefix, "{} and {}", table.name, other.name);
        }
    }
}

#[test]
fn every_table_of_the_schema_is_in_the_list() {
    let submitted = convoke::__private::inventory::iter::<convoke::store::SubmittedTable>();
    // The names of the runtime's own tables begin with an underscore.
    let mut registered: Vec<_> =
        submitted.into_iter().map(|table| table.0.name).filter(|name| !name.starts_with('_')).collect();
    let mut listed: Vec<_> = TABLES.iter().map(|table| table.name).collect();
    registered.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, registered);
}

#[test]
fn every_reference_names_a_table() {
    for field in TABLES.iter().flat_map(|table| table.fields) {
        if let Some(prefix) = field.references {
            assert!(TABLES.iter().any(|table| table.prefix == prefix), "{}: {prefix}", field.name);
        }
    }
}
