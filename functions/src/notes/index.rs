//! Editing notes: single operations, batches, and rollbacks to an earlier text.
//!
//! This module checks rights, finds the base of an edit, and builds responses. `chain` and `transform` transform edits
//! past earlier ones; `document` applies them to text and log.

use convoke::prelude::*;
use convoke::store::Db;
use convoke::{Context, args, mutation, value};
use schema::limits::Quotas;
use schema::{
    ClientToken, Details, List, Meeting, MeetingState, Natural, NoteEdit, NoteEditInput, NoteOperation, OperationId,
    RollbackReason, User,
};

use super::course::{Course, Start};
use super::difference::difference;
use super::document::{Applied, Document, Signature};
use super::edits;
use super::history;
use super::idempotency::{self, Repeated};
use super::log::Entry;
use super::operation::{Operation, Shape};
use super::texts::Failure;
use crate::access::{self, Membership};
use crate::audit;

/// Operations per batch: enough for a formatted paste, and still a short transaction.
const BATCH_MAX: usize = 100;

/// Most entries that the operations of one batch pass together: each entry may be in each result, and the results must
/// fit into a response.
const BATCH_STEPS_MAX: usize = 200_000;

/// Arguments of [`apply_note_operation`].
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "clientSequence": 0, "expectedVersion": 0,
///  "operation": {"type": "insert", "position": 0, "content": "Agenda"}, "operationId": "tab-1.1"}
/// ```
#[args]
pub struct ApplyNoteOperation {
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
    /// The last log sequence that the client has seen: the base of the operation, unless `expectedVersion` is given. A
    /// greater number than that of the log means the end of the log.
    pub client_sequence: Natural,
    /// Version of the text on which the operation was made.
    pub expected_version: Option<Natural>,
    /// The edit.
    pub operation: NoteEditInput,
    /// Identifies a repetition of the call.
    pub operation_id: Option<ClientToken>,
    /// True to reject an operation on an earlier version instead of transforming it.
    #[default(false)]
    pub strict: bool,
}

/// The result of an operation.
///
/// ```json
/// {"success": true, "serverSequence": 2, "newVersion": 2, "conflicts": ["noteop_01kdvws5r2a4n8w7k0q3d6m9vt"],
///  "transformedOperation": {"type": "delete", "position": 2, "content": "", "length": 2},
///  "transformedOperations": [{"type": "delete", "position": 2, "content": "", "length": 2},
///                            {"type": "delete", "position": 4, "content": "", "length": 3}]}
/// ```
#[value(output)]
pub struct NoteOperationApplied {
    /// Always true.
    pub success: bool,
    /// Sequence of its last entry in the log.
    pub server_sequence: i64,
    /// Version that it created.
    pub new_version: i64,
    /// Log entries that changed it.
    pub conflicts: Vec<Id<NoteOperation>>,
    /// The applied edit; of an operation that was split, its first piece.
    pub transformed_operation: NoteEdit,
    /// All pieces in order, if there are several.
    pub transformed_operations: Option<Vec<NoteEdit>>,
}

impl NoteOperationApplied {
    /// Creates the response for an operation that became these `pieces` (at least one), up to the entry `sequence`.
    fn new(sequence: i64, version: i64, conflicts: Vec<Entry>, pieces: Vec<NoteEdit>) -> Self {
        Self {
            success: true,
            server_sequence: sequence,
            new_version: version,
            conflicts,
            transformed_operation: pieces[0].clone(),
            transformed_operations: (pieces.len() > 1).then_some(pieces),
        }
    }

    fn of(applied: Applied, version: i64, conflicts: Vec<Entry>) -> Self {
        let pieces = applied.pieces.iter().map(edits::edit).collect();
        Self::new(applied.sequence, version, conflicts, pieces)
    }

    fn again(first: Repeated) -> Self {
        Self::new(first.sequence, first.version, first.conflicts, first.pieces)
    }
}

/// Applies one edit to a meeting's notes, transformed against everything that was committed since its base.
///
/// Positions and lengths are in UTF-16 code units. The cost does not depend on the length of document and log: it reads
/// the entries since the base and writes one or two pieces of the text.
///
/// # Errors
/// - `FAILED_PRECONDITION`: the meeting is cancelled; "Document too large".
/// - `CONFLICT`: the version is ahead, or behind and `strict`; the base lies too far behind, or before the part of the
///   log that has its text; the id came with other content before.
/// - `INVALID_ARGUMENT`: the edit does not fit the text it was made on.
#[mutation(rate = "notes", form = formed(&args.operation), rights = access::participant(args.meeting_id))]
pub fn apply_note_operation(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: ApplyNoteOperation,
) -> Result<NoteOperationApplied> {
    let quotas = ctx.settings::<Quotas>();
    let operation = edits::sent(&args.operation);
    let signature = signature(membership.user.id(), args.operation_id, &operation);
    if let Some(first) = idempotency::of_one(ctx, args.meeting_id, &signature, &operation)? {
        return Ok(NoteOperationApplied::again(first));
    }
    require_editable(&membership.meeting)?;
    let now = ctx.now();
    let mut document = Document::open(ctx.db_mut(), args.meeting_id, now)?;
    let base = match args.expected_version {
        Some(version) => base_of_version(ctx.db(), &document, version, args.strict)?,
        None => args.client_sequence.get().min(document.sequence()),
    };
    let start = Start::at(args.meeting_id, base, vec![operation.shape], usize::MAX);
    let mut course = document.begin(ctx, start, &quotas)?;
    let db = ctx.db_mut();
    let applied = document
        .apply(db, &mut course, operation, signature, &quotas)
        .map_err(|failure| refused(failure, "operation"))?;
    let version = document.save(db, now)?;
    let conflicts = course.ids().of(db, args.meeting_id, &applied.conflicts)?;
    Ok(NoteOperationApplied::of(applied, version, conflicts))
}

/// Arguments of [`batch_apply_note_operations`].
#[args]
pub struct BatchApplyNoteOperations {
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
    /// Version of the text on which the first operation was made. Absent: the current version.
    pub expected_version: Option<Natural>,
    /// The operations, each made after the one before it.
    pub operations: List<BatchedOperation, 1, BATCH_MAX>,
}

/// An operation of a batch.
#[value]
pub struct BatchedOperation {
    /// The edit.
    pub operation: NoteEditInput,
    /// Identifies a repetition of the batch.
    pub operation_id: Option<ClientToken>,
}

/// The result of a batch.
#[value(output)]
pub struct NoteOperationsApplied {
    /// Always true.
    pub success: bool,
    /// Version that the batch created.
    pub new_version: i64,
    /// Result of each operation, in order.
    pub results: Vec<NoteOperationApplied>,
}

/// Applies edits that were made one after the other: all of them as one version, or none.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `INVALID_ARGUMENT`: an edit does not fit the text it was made on; `field` begins with `operations[i]`.
/// - `CONFLICT`: the version is ahead; the base lies too far behind for so many operations; an id is known from
///   elsewhere than the same batch.
/// - `FAILED_PRECONDITION`: "Meeting is cancelled"; "Document too large".
#[mutation(
    rate = "notes",
    form = formed_batch(&args.operations),
    rights = access::batch_participant(args.meeting_id, args.operations.len())
)]
pub fn batch_apply_note_operations(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: BatchApplyNoteOperations,
) -> Result<NoteOperationsApplied> {
    let quotas = ctx.settings::<Quotas>();
    let operations: Vec<Operation> = args.operations.iter().map(|sent| edits::sent(&sent.operation)).collect();
    let author = membership.user.id();
    let signatures: Vec<Signature> = args
        .operations
        .iter()
        .zip(&operations)
        .map(|(sent, operation)| Signature {
            // Also without an id: a repeated batch is compared operation by operation.
            fingerprint: Some(edits::fingerprint(operation)),
            ..signature(author, sent.operation_id.clone(), operation)
        })
        .collect();
    if let Some(first) = idempotency::of_batch(ctx, args.meeting_id, &signatures, &operations)? {
        let results: Vec<_> = first.into_iter().map(NoteOperationApplied::again).collect();
        let new_version = results.first().map_or(0, |result| result.new_version);
        return Ok(NoteOperationsApplied { success: true, new_version, results });
    }
    require_editable(&membership.meeting)?;
    let now = ctx.now();
    let mut document = Document::open(ctx.db_mut(), args.meeting_id, now)?;
    let base = match args.expected_version {
        Some(version) => base_of_version(ctx.db(), &document, version, false)?,
        None => document.sequence(),
    };
    let shapes: Vec<Shape> = operations.iter().map(|operation| operation.shape).collect();
    let start = Start::at(args.meeting_id, base, shapes, BATCH_STEPS_MAX);
    let mut course = document.begin(ctx, start, &quotas)?;
    if course.behind() * operations.len() > BATCH_STEPS_MAX {
        return Err(history::too_far_behind());
    }
    let db = ctx.db_mut();
    let mut all = Vec::with_capacity(operations.len());
    for (place, (operation, signature)) in operations.into_iter().zip(signatures).enumerate() {
        let applied = document
            .apply(db, &mut course, operation, signature, &quotas)
            .map_err(|failure| refused(failure, &format!("operations[{place}].operation")))?;
        all.push(applied);
    }
    let new_version = document.save(db, now)?;
    let mut results = Vec::with_capacity(all.len());
    for applied in all {
        let conflicts = course.ids().of(db, args.meeting_id, &applied.conflicts)?;
        results.push(NoteOperationApplied::of(applied, new_version, conflicts));
    }
    Ok(NoteOperationsApplied { success: true, new_version, results })
}

/// Arguments of [`rollback_to_sequence`].
#[args]
pub struct RollbackToSequence {
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
    /// Log entry after which the text was as wanted; 0 for the empty text.
    pub target_sequence: Natural,
    /// Reason for the audit log.
    pub reason: Option<RollbackReason>,
}

/// The version after a rollback.
#[value(output)]
pub struct NotesRolledBack {
    /// Always true.
    pub success: bool,
    /// Current version.
    pub new_version: i64,
}

/// Restores the text after an earlier log entry. The log only grows: the difference is deleted and inserted as one
/// version, and nothing is appended if the texts are equal. Only for hosts; recorded in the audit log.
///
/// # Errors
/// - `FAILED_PRECONDITION`: the meeting is cancelled.
/// - `INVALID_ARGUMENT`: there is no such entry.
/// - `CONFLICT`: the entry lies too far behind: before the part of the log that has its text, or more than 1,000 entries
///   behind the nearest checkpoint that is still kept.
#[mutation(rate = "notes", rights = access::host(args.meeting_id))]
pub fn rollback_to_sequence(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: RollbackToSequence,
) -> Result<NotesRolledBack> {
    let quotas = ctx.settings::<Quotas>();
    require_editable(&membership.meeting)?;
    let now = ctx.now();
    let mut document = Document::open(ctx.db_mut(), args.meeting_id, now)?;
    let (target, end) = (args.target_sequence.get(), document.sequence());
    if target > end {
        let message = format!("targetSequence: must be an integer between 0 and {end} (got {target})");
        return Err(Error::invalid_argument("targetSequence", message));
    }
    history::require_kept(document.row(), target)?;
    // The earlier text does not change any more, so it is read before the transaction.
    let wanted = ctx.prepared((args.meeting_id, target), history::text_of_snapshot)?;
    let db = ctx.db_mut();
    let current = history::text(db, document.row())?;
    let mut course = Course::at_the_end();
    let author = Signature { author: membership.user.id(), operation_id: None, fingerprint: None };
    for operation in difference(&current, &wanted, quotas.note_insert_units) {
        document
            .apply(db, &mut course, operation, author.clone(), &quotas)
            .map_err(|failure| refused(failure, "targetSequence"))?;
    }
    let last = document.sequence();
    let new_version = document.save(db, now)?;
    if last > end {
        let details = Details::new()
            .with("targetSequence", target)
            .with("fromSequence", end)
            .with("toSequence", last)
            .with("reason", args.reason.as_ref().map(RollbackReason::as_str).unwrap_or_default());
        let actor = access::actor(ctx, Some(&membership.user));
        audit::meeting(ctx, &actor, "notes.rolled_back", &membership.meeting, details)?;
        info!("Notes of {} rolled back to entry {target}", args.meeting_id);
    }
    Ok(NotesRolledBack { success: true, new_version })
}

/// Requires that the meeting is not cancelled.
///
/// # Errors
/// `FAILED_PRECONDITION`.
pub fn require_editable(meeting: &Meeting) -> Result<()> {
    match meeting.state {
        MeetingState::Cancelled => Err(Error::failed_precondition("Meeting is cancelled")),
        MeetingState::Scheduled | MeetingState::Active | MeetingState::Concluded => Ok(()),
    }
}

/// Returns the sequence of the last entry of the version that a client expects.
///
/// # Errors
/// `CONFLICT` "Version mismatch: expected N, got M": it is ahead, or behind and `strict`.
pub fn base_of_version(db: &Db, document: &Document, expected: Natural, strict: bool) -> Result<i64> {
    let (expected, version) = (expected.get(), document.row().version);
    if expected > version || (strict && expected < version) {
        return Err(Error::conflict(format!("Version mismatch: expected {expected}, got {version}"))
            .with("expectedVersion", expected)
            .with("currentVersion", version));
    }
    document.sequence_of_version(db, expected)
}

/// Checks the form of the operation, independent of the document.
fn formed(ctx: &impl Context, sent: &NoteEditInput) -> Result<()> {
    formed_at("operation", sent, &ctx.settings::<Quotas>())
}

fn formed_at(path: &str, sent: &NoteEditInput, quotas: &Quotas) -> Result<()> {
    let checked = edits::sent(sent).check_form(quotas.note_insert_units);
    checked.map_err(|refused| edits::refusal(refused, path))
}

fn formed_batch(ctx: &impl Context, sent: &[BatchedOperation]) -> Result<()> {
    let quotas = ctx.settings::<Quotas>();
    for (place, one) in sent.iter().enumerate() {
        formed_at(&format!("operations[{place}].operation"), &one.operation, &quotas)?;
        let twice =
            one.operation_id.is_some() && sent[..place].iter().any(|earlier| earlier.operation_id == one.operation_id);
        if twice {
            let field = format!("operations[{place}].operationId");
            let message = format!("{field}: must be an id of its own in the batch");
            return Err(Error::invalid_argument(field, message));
        }
    }
    Ok(())
}

fn signature(author: Id<User>, operation_id: Option<ClientToken>, operation: &Operation) -> Signature {
    let operation_id = operation_id.map(OperationId::online);
    let fingerprint = operation_id.is_some().then(|| edits::fingerprint(operation));
    Signature { author, operation_id, fingerprint }
}

fn refused(failure: Failure, path: &str) -> Error {
    match failure {
        Failure::Rejected(refused) => edits::refusal(refused, path),
        Failure::Broken(error) => error,
    }
}
