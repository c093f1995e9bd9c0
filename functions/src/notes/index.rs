//! Editing notes: one operation, a batch of them, and the way back to an earlier text.
//!
//! Owns who may edit, on which text an edit was made, and what is answered. How an edit passes those that came first is
//! `chain`'s and `transform`'s, how it comes into the text and the log is `document`'s.

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

/// Operations of one batch: a paste with its formatting, and still one short transaction.
const BATCH_MAX: usize = 100;

/// Entries that the operations of one batch are carried past, all together: each may be named in the result of each,
/// and the results have to fit a response.
const BATCH_STEPS_MAX: usize = 200_000;

/// What [`apply_note_operation`] takes.
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "clientSequence": 0, "expectedVersion": 0,
///  "operation": {"type": "insert", "position": 0, "content": "Agenda"}, "operationId": "tab-1.1"}
/// ```
#[args]
pub struct ApplyNoteOperation {
    /// The meeting whose notes change.
    pub meeting_id: Id<Meeting>,
    /// The last sequence of the log that the client has seen: the base of the operation, unless `expectedVersion`
    /// names it. One ahead of the log means the log's end.
    pub client_sequence: Natural,
    /// The version of the text on which the operation was made.
    pub expected_version: Option<Natural>,
    /// What is to be done.
    pub operation: NoteEditInput,
    /// By what a repetition of the call is known.
    pub operation_id: Option<ClientToken>,
    /// Whether to refuse an operation made on an earlier version instead of transforming it.
    #[default(false)]
    pub strict: bool,
}

/// What happened to an operation.
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
    /// The sequence of its last entry in the log.
    pub server_sequence: i64,
    /// The version that it made.
    pub new_version: i64,
    /// The entries of the log that changed it.
    pub conflicts: Vec<Id<NoteOperation>>,
    /// What was applied; of an operation that was split, its first piece.
    pub transformed_operation: NoteEdit,
    /// All pieces, one after the other, if there are several.
    pub transformed_operations: Option<Vec<NoteEdit>>,
}

impl NoteOperationApplied {
    /// The answer to an operation that became these `pieces` (at least one), up to the entry `sequence`.
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
/// Positions and lengths count UTF-16 code units. Costs the same in a long document with a long log as in a new one:
/// read are the entries since the base, written are one or two pieces of the text.
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

/// What [`batch_apply_note_operations`] takes.
#[args]
pub struct BatchApplyNoteOperations {
    /// The meeting whose notes change.
    pub meeting_id: Id<Meeting>,
    /// The version of the text on which the first operation was made; the newest if absent.
    pub expected_version: Option<Natural>,
    /// The operations, each made after the one before it.
    pub operations: List<BatchedOperation, 1, BATCH_MAX>,
}

/// One operation of a batch.
#[value]
pub struct BatchedOperation {
    /// What is to be done.
    pub operation: NoteEditInput,
    /// By what a repetition of the batch is known.
    pub operation_id: Option<ClientToken>,
}

/// What happened to a batch.
#[value(output)]
pub struct NoteOperationsApplied {
    /// Always true.
    pub success: bool,
    /// The version that the batch made.
    pub new_version: i64,
    /// What happened to each operation, in their order.
    pub results: Vec<NoteOperationApplied>,
}

/// Applies edits that were made one after the other: all of them, as one version, or none.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
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
            // Also without an id: a repetition of the batch is compared operation by operation.
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

/// What [`rollback_to_sequence`] takes.
#[args]
pub struct RollbackToSequence {
    /// The meeting whose notes go back.
    pub meeting_id: Id<Meeting>,
    /// The entry of the log after which the text was as it shall be again; 0 for the empty text.
    pub target_sequence: Natural,
    /// Why, for the audit.
    pub reason: Option<RollbackReason>,
}

/// The version after a rollback.
#[value(output)]
pub struct NotesRolledBack {
    /// Always true.
    pub success: bool,
    /// The version now.
    pub new_version: i64,
}

/// Makes the text what it was after an earlier entry of the log. The log only grows: what differs is deleted and
/// inserted anew, as one version; nothing is appended if the texts are equal. Hosts only, and audited.
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
    // What was there then does not change any more, so it is read before the transaction.
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

/// Refuses to change the notes of a meeting that will not take place.
///
/// # Errors
/// `FAILED_PRECONDITION`.
pub fn require_editable(meeting: &Meeting) -> Result<()> {
    match meeting.state {
        MeetingState::Cancelled => Err(Error::failed_precondition("Meeting is cancelled")),
        MeetingState::Scheduled | MeetingState::Active | MeetingState::Concluded => Ok(()),
    }
}

/// The log's end when the document had the version that a client expects.
///
/// # Errors
/// `CONFLICT` "Version mismatch: expected N, got M" if that is ahead, or behind and `strict`.
pub fn base_of_version(db: &Db, document: &Document, expected: Natural, strict: bool) -> Result<i64> {
    let (expected, version) = (expected.get(), document.row().version);
    if expected > version || (strict && expected < version) {
        return Err(Error::conflict(format!("Version mismatch: expected {expected}, got {version}"))
            .with("expectedVersion", expected)
            .with("currentVersion", version));
    }
    document.sequence_of_version(db, expected)
}

/// The operation has the right form, whatever the document is.
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
