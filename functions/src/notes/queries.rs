//! Queries of notes: the text, and the log for clients that follow it.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{Limit, Meeting, Natural, Note, NoteEdit, NoteOperation, OperationId, User};

use super::{document, history};
use crate::access::{self, Membership};

/// Arguments of [`get_meeting_notes`].
#[args]
pub struct GetMeetingNotes {
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
}

/// The current notes of a meeting.
///
/// ```json
/// {"content": "abXYhij", "version": 3, "sequence": 4, "firstSequence": 1, "updatedAt": 1767225600000}
/// ```
#[value(output)]
pub struct MeetingNotes {
    /// Text.
    pub content: String,
    /// Number of changes; 0 for unchanged notes.
    pub version: i64,
    /// Sequence of the last log entry.
    pub sequence: i64,
    /// First log entry that still has its text: 1 until the log is thinned, and greater than `sequence` if all entries
    /// were.
    pub first_sequence: i64,
    /// Time of the last change.
    pub updated_at: Millis,
}

/// Returns the current notes of a meeting and the end of their log.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
#[query(tool, rights = access::participant(args.meeting_id))]
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

/// Arguments of [`list_note_operations`].
#[args]
pub struct ListNoteOperations {
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
    /// First entry to list; 1 if absent.
    pub from_sequence: Option<Natural>,
    /// Most entries to list.
    #[default(Limit::default())]
    pub limit: Limit<200, 1000>,
}

/// A part of the log.
#[value(output)]
pub struct NoteOperations {
    /// The entries, in order.
    pub operations: Vec<LoggedOperation>,
    /// `fromSequence` of the next part.
    pub next_sequence: i64,
    /// Current version of the text.
    pub version: i64,
    /// First log entry that still has its text: 1 until the log is thinned.
    pub first_sequence: i64,
}

/// A log entry. All entries, applied in order to the empty text, yield the text.
#[value(output)]
pub struct LoggedOperation {
    #[value(rename = "_id")]
    pub id: Id<NoteOperation>,
    /// Its position in the log.
    pub sequence: i64,
    /// Its version.
    pub version: i64,
    /// Its author.
    pub author_id: Id<User>,
    /// The edit as it was applied.
    pub operation: NoteEdit,
    /// Id from its author, or `<clientId>/<id>` if it was queued offline.
    pub operation_id: Option<OperationId>,
    pub created_at: Millis,
}

/// Returns the log of a meeting's notes from one entry on.
///
/// Returns `limit` entries, or as many as fit into a page. The text of old entries is merged into a checkpoint, and
/// only later entries are listed.
///
/// # Errors
/// - `CONFLICT`: the start lies before the first entry that has its text; `firstSequence` says which that is.
/// - `FORBIDDEN`: the caller is not in the meeting.
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
    // A client that requests entries in the future continues with the next one, so that it misses none.
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

/// Returns the row of a meeting's notes, or the initial one.
fn row(ctx: &QueryCtx, meeting: &Doc<Meeting>) -> Result<Note> {
    let row = ctx.db().query(Note::by_meeting).eq(meeting.id()).unique()?;
    Ok(row.map_or_else(|| document::empty(meeting.id(), meeting.creation_time()), Doc::into_inner))
}
