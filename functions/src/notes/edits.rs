//! Between an edit as it travels and as the rules see it, and what a refusal of the rules is to a client.
//!
//! Owns the two conversions and the words; what makes an edit valid is `operation`'s.

use convoke::prelude::*;
use schema::{Fingerprint, Natural, NoteEdit, NoteEditInput, OperationType};

use super::operation::{Kind, Operation, Rejection, Shape};

/// What a client asks for. What its type does not need is left out: the content of a delete, the length of an insert.
pub fn operation(kind: OperationType, position: Natural, content: Option<&str>, length: Option<Natural>) -> Operation {
    let position = position.size();
    let length = length.map_or(0, Natural::size);
    match kind {
        OperationType::Insert => Operation::insert(position, content.unwrap_or_default()),
        OperationType::Delete => Operation::delete(position, length),
        OperationType::Retain => Operation::retain(position, length),
    }
}

/// As [`operation`], of an edit sent online.
pub fn sent(edit: &NoteEditInput) -> Operation {
    operation(edit.kind, edit.position, edit.content.as_deref(), edit.length)
}

/// The operation that a logged or queued edit is.
pub fn logged(edit: NoteEdit) -> Operation {
    Operation { shape: shape(&edit), content: edit.content }
}

/// Where a logged edit acts, without its text.
pub fn shape(edit: &NoteEdit) -> Shape {
    shape_of(edit.kind, edit.position, edit.length)
}

/// A shape from the numbers of a row.
pub fn shape_of(kind: OperationType, position: i64, length: i64) -> Shape {
    let kind = match kind {
        OperationType::Insert => Kind::Insert,
        OperationType::Delete => Kind::Delete,
        OperationType::Retain => Kind::Retain,
    };
    Shape { kind, position: size(position), length: size(length) }
}

/// The edit as it travels and is stored, always all four members.
pub fn edit(operation: &Operation) -> NoteEdit {
    NoteEdit {
        kind: kind(operation.shape.kind),
        position: number(operation.shape.position),
        content: operation.content.clone(),
        length: number(operation.shape.length),
    }
}

/// What kind a row names.
pub fn kind(kind: Kind) -> OperationType {
    match kind {
        Kind::Insert => OperationType::Insert,
        Kind::Delete => OperationType::Delete,
        Kind::Retain => OperationType::Retain,
    }
}

/// By which a repetition with the same content is told from one with another.
pub fn fingerprint(operation: &Operation) -> Fingerprint {
    Fingerprint::of(&edit(operation))
}

/// What the client reads of a refused edit that stands at `path` in its arguments.
///
/// `INVALID_ARGUMENT` with the member at fault; `FAILED_PRECONDITION` where the document is full.
pub fn refusal(refused: Rejection, path: &str) -> Error {
    match refused.field() {
        Some(field) => Error::invalid_argument(format!("{path}.{field}"), refused.to_string()),
        None => Error::failed_precondition(refused.to_string()),
    }
}

/// A count of the rules as a row holds it.
pub fn number(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// A number of a row as a count. Rows hold no negative ones.
pub fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
