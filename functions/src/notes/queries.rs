//! Reading notes: the text, and the log by which a client follows it.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{Limit, Meeting, Natural, Note, NoteEdit, NoteOperation, OperationId, User};

use super::{document, history};
use crate::access::{self, Membership};

/// What [`get_meeting_notes`] takes.
#[args]
pub struct GetMeetingNotes {
    /// Of which meeting.
    pub meeting_id: Id<Meeting>,
}

/// The notes of a meeting as they are now.
///
/// ```json
/// {"content": "abXYhij", "version": 3, "sequence": 4, "firstSequence": 1, "updatedAt": 1767225600000}
/// ```
#[value(output)]
pub struct MeetingNotes {
    /// The text.
    pub content: String,
    /// How often it was changed; 0 for notes that never were.
    pub version: i64,
    /// The log's end.
    pub sequence: i64,
    /// The first entry of the log that still has its text: 1 as long as none was folded. Behind the log's end if all were.
    pub first_sequence: i64,
    /// When it was changed last.
    pub updated_at: Millis,
}

/// The notes of a meeting as they are now: the text, and where its log ends.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn get_meeting_notes(ctx: &QueryCtx, membership: Membership, _: GetMeetingNotes) -> Result<MeetingNotes> {
    let note = row(ctx, &membership.meeting)?;
    Ok(MeetingNotes {
        content: history::text(ctx.db(), &note)?,
        version: note.version,
        sequence: note.sequence,
        first_sequence: note.first_sequence,
        updated_at: note.updated_at,
    })
}

/// What [`list_note_operations`] takes.
#[args]
pub struct ListNoteOperations {
    /// Of which meeting.
    pub meeting_id: Id<Meeting>,
    /// The first entry to be listed; 1 if absent.
    pub from_sequence: Option<Natural>,
    /// How many entries at most.
    #[default(Limit::default())]
    pub limit: Limit<200, 1000>,
}

/// A part of the log.
#[value(output)]
pub struct NoteOperations {
    /// The entries, in order.
    pub operations: Vec<LoggedOperation>,
    /// The `fromSequence` that goes on where this part ends.
    pub next_sequence: i64,
    /// The version of the text now.
    pub version: i64,
    /// The first entry of the log that still has its text: 1 as long as none was folded.
    pub first_sequence: i64,
}

/// An entry of the log: applied one after the other to the empty text, they make the text.
#[value(output)]
pub struct LoggedOperation {
    #[value(rename = "_id")]
    pub id: Id<NoteOperation>,
    /// Its place in the log.
    pub sequence: i64,
    /// The version to which it belongs.
    pub version: i64,
    /// Who did it.
    pub author_id: Id<User>,
    /// What was done, as it was applied.
    pub operation: NoteEdit,
    /// The id that its author gave it: their own, or `<clientId>/<id>` if it was queued offline.
    pub operation_id: Option<OperationId>,
    pub created_at: Millis,
}

/// The log of a meeting's notes from one entry on.
///
/// `limit` entries, or as many as fit a page. The text of old entries is folded into a checkpoint, and only those behind
/// it are listed.
///
/// # Errors
/// - `CONFLICT`: the start lies before the first entry that has its text; `firstSequence` says which that is.
/// - `FORBIDDEN`: the caller has no place in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn list_note_operations(
    ctx: &QueryCtx,
    membership: Membership,
    args: ListNoteOperations,
) -> Result<NoteOperations> {
    let note = row(ctx, &membership.meeting)?;
    let from = args.from_sequence.map_or(1, Natural::get).max(1);
    history::require_kept(&note, from - 1)?;
    let entries = ctx.db().query(NoteOperation::by_meeting_sequence).eq(args.meeting_id).range(from..);
    let page = entries.page(None, args.limit.get())?;
    let operations: Vec<LoggedOperation> = page.items.into_iter().map(logged).collect();
    // Who asks for entries that do not exist yet is sent to the first of them, so that it misses none.
    let next_sequence = operations.last().map_or(from.min(note.sequence + 1), |last| last.sequence + 1);
    Ok(NoteOperations { operations, next_sequence, version: note.version, first_sequence: note.first_sequence })
}

fn logged(entry: Doc<NoteOperation>) -> LoggedOperation {
    let (id, created_at) = (entry.id(), entry.creation_time());
    let entry = entry.into_inner();
    LoggedOperation {
        id,
        sequence: entry.sequence,
        version: entry.version,
        author_id: entry.author_id,
        operation: entry.operation,
        operation_id: entry.operation_id,
        created_at,
    }
}

/// The row of a meeting's notes; of a meeting without, the empty ones it was made with.
fn row(ctx: &QueryCtx, meeting: &Doc<Meeting>) -> Result<Note> {
    let row = ctx.db().query(Note::by_meeting).eq(meeting.id()).unique()?;
    Ok(row.map_or_else(|| document::empty(meeting.id(), meeting.creation_time()), Doc::into_inner))
}
