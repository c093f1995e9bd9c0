//! Repeated operations: a repetition gets the first response, and nothing is applied twice.
//!
//! The log has the id that an author gave an operation, and the fingerprint of its content. Further entries for the
//! response are read before the transaction: a repetition writes nothing, and may be as long as the original.

use convoke::prelude::*;
use schema::{Meeting, NoteEdit, NoteOperation, OperationId, OperationType};

use super::course::ENTRIES_NEAR;
use super::document::Signature;
use super::edits::size;
use super::log::{self, Entry, Ids};
use super::operation::Operation;

/// Most entries of one version that are read to compare a batch: a hundred operations, each split many times.
const ENTRIES_OF_A_BATCH_MAX: usize = 10_000;

/// The first application of a repeated operation.
pub struct Repeated {
    /// Sequence of its last entry in the log.
    pub sequence: i64,
    /// Version that it created.
    pub version: i64,
    /// Entries that changed it.
    pub conflicts: Vec<Entry>,
    /// Applied edits: at least one piece.
    pub pieces: Vec<NoteEdit>,
}

/// Returns the first application of an operation with this id of this author, if there was one.
///
/// # Errors
/// `CONFLICT`: it was a different operation; a failure of the store.
pub fn of_one(
    ctx: &mut MutationCtx,
    meeting: Id<Meeting>,
    signature: &Signature,
    operation: &Operation,
) -> Result<Option<Repeated>> {
    let Some(id) = &signature.operation_id else { return Ok(None) };
    let db = ctx.db();
    let known =
        db.query(NoteOperation::by_meeting_author_operation).eq(meeting).eq(signature.author).eq(id).unique()?;
    let Some(first) = known else { return Ok(None) };
    if first.fingerprint != signature.fingerprint {
        return Err(other_content(id));
    }
    let split;
    let entries = match first.pieces {
        1 => std::slice::from_ref(&first),
        pieces => {
            split = ctx.prepared((meeting, first.sequence, pieces), pieces_of)?;
            split.as_slice()
        }
    };
    let ids = ids(ctx, meeting, &[entries])?;
    Ok(repeated(entries, &ids, operation))
}

/// Returns the first application of these operations as one batch, if there was one.
///
/// # Errors
/// `CONFLICT`: one of the ids is known from a different batch; a failure of the store.
pub fn of_batch(
    ctx: &mut MutationCtx,
    meeting: Id<Meeting>,
    signatures: &[Signature],
    sent: &[Operation],
) -> Result<Option<Vec<Repeated>>> {
    let known_by: Vec<&OperationId> =
        signatures.iter().filter_map(|signature| signature.operation_id.as_ref()).collect();
    let Some(author) = signatures.first().map(|signature| signature.author) else { return Ok(None) };
    if known_by.is_empty() {
        return Ok(None);
    }
    let db = ctx.db();
    let known = db.query(NoteOperation::by_meeting_author_operation).eq(meeting).eq(author).any(known_by).take(1)?;
    let Some(one) = known.into_iter().next() else { return Ok(None) };
    let entries = ctx.prepared((meeting, one.version), entries_of)?;
    let operations = operations(&entries);
    let same = operations.len() == signatures.len()
        && operations.iter().zip(signatures).all(|(entries, signature)| {
            let first = &entries[0];
            first.author_id == author
                && first.operation_id == signature.operation_id
                && first.fingerprint == signature.fingerprint
        });
    match (same, &one.operation_id) {
        (true, _) => {
            let ids = ids(ctx, meeting, &operations)?;
            Ok(Some(
                operations.into_iter().zip(sent).filter_map(|(entries, sent)| repeated(entries, &ids, sent)).collect(),
            ))
        }
        (false, Some(id)) => Err(other_content(id)),
        (false, None) => Err(Error::internal("an operation was found by an id that it has not")),
    }
}

/// Returns the entries of an operation that was split, from the first one.
fn pieces_of(ctx: &QueryCtx, (meeting, first, pieces): &(Id<Meeting>, i64, i64)) -> Result<Vec<Doc<NoteOperation>>> {
    let entries = ctx.db().query(NoteOperation::by_meeting_sequence).eq(meeting).range(*first..first + pieces);
    committed(entries.take(size(*pieces))?)
}

/// Returns the entries of a version.
fn entries_of(ctx: &QueryCtx, (meeting, version): &(Id<Meeting>, i64)) -> Result<Vec<Doc<NoteOperation>>> {
    let entries = ctx.db().query(NoteOperation::by_meeting_version).eq(meeting).eq(version);
    committed(entries.take(ENTRIES_OF_A_BATCH_MAX)?)
}

/// Entries that only the transaction sees were written by the transaction itself.
fn committed(entries: Vec<Doc<NoteOperation>>) -> Result<Vec<Doc<NoteOperation>>> {
    if entries.is_empty() {
        return Err(Error::internal("an operation was repeated within the transaction that applied it"));
    }
    Ok(entries)
}

/// Returns the ids of the entries that changed these operations; many ids are read before the transaction.
fn ids(ctx: &mut MutationCtx, meeting: Id<Meeting>, operations: &[impl AsRef<[Doc<NoteOperation>]>]) -> Result<Ids> {
    let first = operations.iter().filter_map(|entries| entries.as_ref().first());
    let sequences = log::sequences(first.map(|first| &first.conflicts_with[..]));
    if sequences.len() <= ENTRIES_NEAR {
        return Ids::read(ctx.db(), meeting, &sequences);
    }
    let read =
        |ctx: &QueryCtx, (meeting, sequences): &(Id<Meeting>, Vec<i64>)| Ids::read(ctx.db(), *meeting, sequences);
    Ok((*ctx.prepared((meeting, sequences), read)?).clone())
}

/// Groups the entries of one version by operation.
fn operations(mut entries: &[Doc<NoteOperation>]) -> Vec<&[Doc<NoteOperation>]> {
    let mut operations = Vec::new();
    while let Some(first) = entries.first() {
        let (operation, rest) = entries.split_at(size(first.pieces).clamp(1, entries.len()));
        operations.push(operation);
        entries = rest;
    }
    operations
}

/// Returns the repeated operation of these entries. The text of an insertion is that of the repetition: the entry may
/// have lost it, and the fingerprints are equal.
fn repeated(entries: &[Doc<NoteOperation>], ids: &Ids, sent: &Operation) -> Option<Repeated> {
    let (first, last) = (entries.first()?, entries.last()?);
    let edit = |entry: &Doc<NoteOperation>| match entry.operation.kind {
        OperationType::Insert => NoteEdit { content: sent.content.clone(), ..entry.operation.clone() },
        OperationType::Delete | OperationType::Retain => entry.operation.clone(),
    };
    let conflicts = ids.named(&first.conflicts_with);
    let pieces = entries.iter().map(edit).collect();
    Some(Repeated { sequence: last.sequence, version: first.version, conflicts, pieces })
}

fn other_content(id: &OperationId) -> Error {
    Error::conflict(format!("Operation {id} was already applied with different content"))
}
