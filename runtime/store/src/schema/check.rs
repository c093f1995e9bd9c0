//! The rules of table definitions, independent of a database.

use std::collections::HashSet;

use super::table::{Condition, FIELDS_MAX, FieldDef, IndexDef, KEYS_MAX, Literal, TableDef};
use crate::error::OpenError;
use crate::value::ColumnType;

/// The table of the schema itself.
pub(super) const OWN_TABLE: &str = "_schema";

/// Checks all tables.
///
/// # Errors
/// [`OpenError::Definition`], with the source location of the table.
pub fn check(tables: &[&'static TableDef]) -> Result<(), OpenError> {
    let (mut names, mut prefixes) = (HashSet::new(), HashSet::new());
    for table in tables {
        mistake(tables, table, &mut names, &mut prefixes).map_or(Ok(()), |mistake| {
            Err(OpenError::Definition { table: table.name, file: table.file, line: table.line, mistake })
        })?;
    }
    Ok(())
}

fn mistake(
    tables: &[&'static TableDef],
    table: &TableDef,
    names: &mut HashSet<String>,
    prefixes: &mut HashSet<&str>,
) -> Option<String> {
    let place = |first: Option<&&'static TableDef>| {
        first.map_or_else(String::new, |first| format!("{}:{}", first.file, first.line))
    };
    if !is_name(table.name) || table.name == OWN_TABLE {
        return Some("this name cannot be used".to_owned());
    }
    // Some engines ignore case in names.
    if !names.insert(table.name.to_ascii_lowercase()) {
        let first = tables.iter().find(|first| first.name.eq_ignore_ascii_case(table.name));
        return Some(format!("the table at {} has this name too; rename one of them", place(first)));
    }
    if !prefixes.insert(table.prefix) {
        let first = tables.iter().find(|first| first.prefix == table.prefix);
        return Some(format!("the table at {} has the prefix {} too; change one of them", place(first), table.prefix));
    }
    if table.fields.len() > FIELDS_MAX {
        return Some(format!("it has more than {FIELDS_MAX} fields"));
    }
    let mut fields = HashSet::new();
    for field in table.fields {
        if !is_name(field.name) || field.name.starts_with('_') {
            return Some(format!("the name of field {} cannot be used", field.name));
        }
        if !fields.insert(field.name.to_ascii_lowercase()) {
            return Some(format!("two fields are called {}", field.name));
        }
        if let Some(Err(reason)) = field.default.map(|default| (field.check)(default().as_ref())) {
            return Some(format!("the default of field {}: {reason}", field.name));
        }
    }
    let mut indexes = HashSet::new();
    table.indexes.iter().find_map(|index| {
        if !is_name(index.name) || !indexes.insert(index.name.to_ascii_lowercase()) {
            return Some(format!("two indexes are called {}, or the name cannot be used", index.name));
        }
        index_mistake(table, index).map(|mistake| format!("index {}: {mistake}", index.name))
    })
}

fn index_mistake(table: &TableDef, index: &IndexDef) -> Option<String> {
    if index.keys.is_empty() || index.keys.len() > KEYS_MAX {
        return Some(format!("an index has 1 to {KEYS_MAX} keys"));
    }
    for key in index.keys {
        match table.fields.get(key.field) {
            None => return Some(format!("there is no field {}", key.field)),
            Some(field) if field.retired => return Some(format!("field {} is retired", field.name)),
            Some(_) => {}
        }
    }
    let (Condition::Equals(field, _) | Condition::IsNull(field) | Condition::NotNull(field)) = index.when?;
    let Some(place) = table.field(field) else { return Some(format!("there is no field {field}")) };
    let field = &table.fields[place];
    match index.when {
        _ if field.retired => Some(format!("field {} is retired", field.name)),
        Some(Condition::Equals(_, value)) if !fits(value, field) => {
            Some(format!("the value compared with field {} is of another type", field.name))
        }
        _ => None,
    }
}

fn fits(literal: Literal, field: &FieldDef) -> bool {
    match (literal, field.column) {
        (Literal::Text(text), ColumnType::Text | ColumnType::Json) => !text.contains('\0'),
        (Literal::Integer(_), ColumnType::Integer) | (Literal::Bool(_), ColumnType::Bool) => true,
        (Literal::Float(number), ColumnType::Float) => number.is_finite(),
        _ => false,
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
