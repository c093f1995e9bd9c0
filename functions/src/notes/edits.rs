//! Conversions between edits on the wire and operations of the rules, and the errors for rejected edits.
//!
//! `operation` defines which edits are valid.

use convoke::prelude::*;
use schema::{Fingerprint, Natural, NoteEdit, NoteEditInput, OperationType};

use super::operation::{Kind, Operation, Rejection, Shape};

/// Returns the operation of a client's edit. Members that its type does not need are ignored: the content of a delete,
/// the length of an insert.
pub fn operation(kind: OperationType, position: Natural, content: Option<&str>, length: Option<Natural>) -> Operation {
    let position = position.size();
    let length = length.map_or(0, Natural::size);
    match kind {
        OperationType::Insert => Operation::insert(position, content.unwrap_or_default()),
        OperationType::Delete => Operation::delete(position, length),
        OperationType::Retain => Operation::retain(position, length),
    }
}

/// Like [`operation`], for an edit that was sent online.
pub fn sent(edit: &NoteEditInput) -> Operation {
    operation(edit.kind, edit.position, edit.content.as_deref(), edit.length)
}

/// Returns the operation of a logged or queued edit.
pub fn logged(edit: NoteEdit) -> Operation {
    Operation { shape: shape(&edit), content: edit.content }
}

/// Returns the shape of a logged edit, without its text.
pub fn shape(edit: &NoteEdit) -> Shape {
    shape_of(edit.kind, edit.position, edit.length)
}

/// Returns a shape from the numbers of a row.
pub fn shape_of(kind: OperationType, position: i64, length: i64) -> Shape {
    let kind = match kind {
        OperationType::Insert => Kind::Insert,
        OperationType::Delete => Kind::Delete,
        OperationType::Retain => Kind::Retain,
    };
    Shape { kind, position: size(position), length: size(length) }
}

/// Returns the edit on the wire and in rows, with all four members.
pub fn edit(operation: &Operation) -> NoteEdit {
    NoteEdit {
        kind: kind(operation.shape.kind),
        position: number(operation.shape.position),
        content: operation.content.clone(),
        length: number(operation.shape.length),
    }
}

/// Returns the kind in a row.
pub fn kind(kind: Kind) -> OperationType {
    match kind {
        Kind::Insert => OperationType::Insert,
        Kind::Delete => OperationType::Delete,
        Kind::Retain => OperationType::Retain,
    }
}

/// Returns the fingerprint that detects a repeated id with different content.
pub fn fingerprint(operation: &Operation) -> Fingerprint {
    Fingerprint::of(&edit(operation))
}

/// Returns the error of a rejected edit at `path` in the arguments.
///
/// `INVALID_ARGUMENT` with the invalid member; `FAILED_PRECONDITION` if the document is full.
pub fn refusal(refused: Rejection, path: &str) -> Error {
    match refused.field() {
        Some(field) => Error::invalid_argument(format!("{path}.{field}"), refused.to_string()),
        None => Error::failed_precondition(refused.to_string()),
    }
}

/// Converts a count of the rules to a number in a row.
pub fn number(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Converts a number in a row to a count. Rows have no negative numbers.
pub fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
