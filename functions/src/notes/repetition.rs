//! Operations that came before: a repetition is answered as the first time was, and nothing is applied twice.
//!
//! The log knows the id that an author gave an operation, and the fingerprint of what was sent under it.

use convoke::prelude::*;
use convoke::store::Db;
use schema::{Meeting, NoteEdit, NoteOperation, OperationId};

use super::document::Signature;
use super::edits::size;
use super::index::NoteOperationApplied;

/// Entries of one version that are read to compare a batch: a hundred operations, each split many times.
const ENTRIES_OF_A_BATCH_MAX: usize = 10_000;

/// What was answered to an operation with this id of this author, if there was one.
///
/// # Errors
/// `CONFLICT` if it was another operation; a failure of the store.
pub fn of_one(db: &Db, meeting: Id<Meeting>, signature: &Signature) -> Result<Option<NoteOperationApplied>> {
    let Some(id) = &signature.operation_id else { return Ok(None) };
    let known =
        db.query(NoteOperation::by_meeting_author_operation).eq(meeting).eq(signature.author).eq(id).unique()?;
    let Some(first) = known else { return Ok(None) };
    if first.fingerprint != signature.fingerprint {
        return Err(other_content(id));
    }
    let entries = match first.pieces {
        1 => vec![first],
        pieces => {
            let from = first.sequence;
            let all = db.query(NoteOperation::by_meeting_sequence).eq(meeting).range(from..from + pieces);
            all.take(size(pieces))?
        }
    };
    Ok(answered(&entries))
}

/// What was answered to these operations as one batch, if they came as one.
///
/// # Errors
/// `CONFLICT` if one of their ids is known and the batch was another one; a failure of the store.
pub fn of_batch(db: &Db, meeting: Id<Meeting>, signatures: &[Signature]) -> Result<Option<Vec<NoteOperationApplied>>> {
    let ids: Vec<&OperationId> = signatures.iter().filter_map(|signature| signature.operation_id.as_ref()).collect();
    let Some(author) = signatures.first().map(|signature| signature.author) else { return Ok(None) };
    if ids.is_empty() {
        return Ok(None);
    }
    let known = db.query(NoteOperation::by_meeting_author_operation).eq(meeting).eq(author).any(ids).take(1)?;
    let Some(one) = known.into_iter().next() else { return Ok(None) };
    let entries = db.query(NoteOperation::by_meeting_version).eq(meeting).eq(one.version);
    let entries = entries.take(ENTRIES_OF_A_BATCH_MAX)?;
    let operations = operations(&entries);
    let same = operations.len() == signatures.len()
        && operations.iter().zip(signatures).all(|(entries, signature)| {
            let first = &entries[0];
            first.author_id == author
                && first.operation_id == signature.operation_id
                && first.fingerprint == signature.fingerprint
        });
    match (same, &one.operation_id) {
        (true, _) => Ok(Some(operations.into_iter().filter_map(answered).collect())),
        (false, Some(id)) => Err(other_content(id)),
        (false, None) => Err(Error::internal("an operation was found by an id that it has not")),
    }
}

/// The entries of one version, by the operations to which they belong.
fn operations(mut entries: &[Doc<NoteOperation>]) -> Vec<&[Doc<NoteOperation>]> {
    let mut operations = Vec::new();
    while let Some(first) = entries.first() {
        let (operation, rest) = entries.split_at(size(first.pieces).clamp(1, entries.len()));
        operations.push(operation);
        entries = rest;
    }
    operations
}

/// The answer to the operation that these entries are.
fn answered(entries: &[Doc<NoteOperation>]) -> Option<NoteOperationApplied> {
    let (first, last) = (entries.first()?, entries.last()?);
    let pieces: Vec<NoteEdit> = entries.iter().map(|entry| entry.operation.clone()).collect();
    Some(NoteOperationApplied::new(last.sequence, first.version, first.conflicts_with.clone(), pieces))
}

fn other_content(id: &OperationId) -> Error {
    Error::conflict(format!("Operation {id} was already applied with different content"))
}
