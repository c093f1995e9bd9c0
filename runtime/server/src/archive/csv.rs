//! A table's rows as CSV (RFC 4180), for spreadsheets. CSV cannot be imported.
//!
//! Spreadsheets execute texts that begin with certain characters as formulas. Such a text is prefixed with an
//! apostrophe, which spreadsheets read as the mark of a text.

use convoke_store::table::{FieldDef, TableDef};
use convoke_store::{ColumnType, Row, StoreError, ValueRef};

use super::row::{CREATION_TIME, ID, write_value};

/// Returns the header line.
pub fn head(table: &'static TableDef) -> Vec<u8> {
    let names = [ID, CREATION_TIME].into_iter().chain(shown(table).map(|(_, field)| field.name));
    let mut line = names.collect::<Vec<_>>().join(",").into_bytes();
    line.extend_from_slice(b"\r\n");
    line
}

/// Appends a row with a line break.
///
/// # Errors
/// [`StoreError::Corrupt`]: a value does not have the type of its column.
pub fn write(table: &'static TableDef, row: &dyn Row, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let mut id = Vec::new();
    convoke_store::table::write_id(table.prefix, row.id()?, &mut id);
    out.extend_from_slice(id.trim_ascii().strip_prefix(b"\"").and_then(|id| id.strip_suffix(b"\"")).unwrap_or(&id));
    out.extend_from_slice(format!(",{}", row.creation_time()?).as_bytes());
    for (place, field) in shown(table) {
        out.push(b',');
        cell(field, row.value(place)?, out)?;
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

fn shown(table: &'static TableDef) -> impl Iterator<Item = (usize, &'static FieldDef)> {
    let is_shown = |field: &FieldDef| !field.retired && !super::is_hidden(table, field);
    table.fields.iter().enumerate().filter(move |(_, field)| is_shown(field))
}

fn cell(field: &FieldDef, value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
    match value {
        ValueRef::Null => Ok(()),
        ValueRef::Text(text) => {
            quoted(text, field.column == ColumnType::Text, out);
            Ok(())
        }
        ValueRef::Bool(_) | ValueRef::Integer(_) | ValueRef::Float(_) | ValueRef::Bytes(_) | ValueRef::Id(_) => {
            let mut json = Vec::new();
            write_value(field, value, &mut json)?;
            // Bytes and ids need no escapes.
            out.extend(json.into_iter().filter(|byte| *byte != b'"'));
            Ok(())
        }
    }
}

fn quoted(text: &str, may_be_formula: bool, out: &mut Vec<u8>) {
    let is_formula = may_be_formula && text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    out.push(b'"');
    if is_formula {
        out.push(b'\'');
    }
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_and_never_a_formula() {
        for (text, written) in [
            ("plain", "\"plain\""),
            ("a \"b\", c\r\nd", "\"a \"\"b\"\", c\r\nd\""),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("a=1", "\"a=1\""),
            ("", "\"\""),
        ] {
            let mut out = Vec::new();
            quoted(text, true, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), written);
        }
    }
}
