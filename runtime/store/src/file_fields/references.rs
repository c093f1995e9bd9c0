//! The references of rows to contents, as a transaction counts them.

use super::content::{ContentState, StoredFile};
use super::rule::FileRule;
use crate::error::StoreError;
use crate::packed_row::PackedRow;
use crate::schema::table::{Column as _, Meaning, Table as _, TableDef};
use crate::value::{Value, ValueRef};

/// A change of the number of references of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A field refers to the content now.
    Added,
    /// A field no longer refers to it.
    Removed,
}

/// Returns the fields of a table that have files, by position, with their rules.
pub fn file_places(table: &'static TableDef) -> impl Iterator<Item = (usize, FileRule)> {
    table.fields.iter().enumerate().filter_map(|(place, field)| match field.meaning {
        Meaning::File(rule) => Some((place, rule)),
        Meaning::Plain | Meaning::Time | Meaning::Choice(_) => None,
    })
}

/// Returns true if a field of the table has files.
pub fn has_files(table: &'static TableDef) -> bool {
    file_places(table).next().is_some()
}

fn place(name: &str) -> usize {
    StoredFile::DEF.field(name).unwrap_or_default()
}

fn integer(content: &PackedRow, name: &str) -> i64 {
    match content.value(place(name)) {
        ValueRef::Integer(number) => number,
        _ => 0,
    }
}

/// Checks that a field may refer to this content.
///
/// # Errors
/// [`StoreError::NoFile`]: there is no such content, or it is being removed. [`StoreError::UnfitFile`]: the rule of the
/// field does not accept it.
pub(crate) fn require_fit(
    table: &'static TableDef,
    field: usize,
    rule: FileRule,
    content: Option<&PackedRow>,
) -> Result<(), StoreError> {
    let field = table.fields[field].name;
    let is_stored = |content: &&PackedRow| content.value(place("state")) == ContentState::Stored.to_value().as_ref();
    let content = content.filter(is_stored).ok_or(StoreError::NoFile { table: table.name, field })?;
    let unfit = |reason: String| Err(StoreError::UnfitFile { table: table.name, field, reason });
    let bytes = u64::try_from(integer(content, "bytes")).unwrap_or(u64::MAX);
    if bytes > rule.bytes_max {
        return unfit(format!("the file has {bytes} bytes, and at most {} are allowed", rule.bytes_max));
    }
    match content.value(place("contentType")) {
        ValueRef::Text(found) if !rule.accepts_type(found) => {
            unfit(format!("the content of the file is {found}, and must be {}", rule.accepted()))
        }
        _ => Ok(()),
    }
}

/// Returns the values of a content before and the changes after one change of its references.
pub(crate) fn with_references(content: &PackedRow, change: Reference) -> (Vec<Value>, Vec<(usize, Value)>) {
    let before = (0..StoredFile::DEF.fields.len()).map(|place| content.value(place).to_value()).collect();
    let references = integer(content, "references");
    let mut changes = match change {
        Reference::Added => vec![(place("unreferencedAt"), Value::Null)],
        Reference::Removed => Vec::new(),
    };
    let references = match change {
        Reference::Added => references + 1,
        Reference::Removed => (references - 1).max(0),
    };
    changes.push((place("references"), Value::Integer(references)));
    (before, changes)
}
