//! The complete text of notes: the current one, and that at an earlier position of the log.
//!
//! The log is replayed from the nearest checkpoint before the position. This module defines the creation and number of
//! checkpoints, and the reach of the log. `index` implements rollbacks; `thinning` removes the text of old entries.

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::{Meeting, Note, NoteCheckpoint, NoteOperation, NotePiece};

use super::edits;
use super::operation::Text;

/// Entries between two checkpoints.
pub const ENTRIES_PER_CHECKPOINT: i64 = 500;
/// Number of checkpoints behind the first entry with its text: together they cover every permitted base of an
/// operation.
pub const CHECKPOINTS_KEPT: u64 = 20;
/// Most entries of a replay: checkpoints are closer than that, unless one call added more.
pub const ENTRIES_REPLAYED_MAX: i64 = 1_000;

/// Rows of the log per read, and fewer if they are large: an entry may have 300 KB.
const ENTRIES_AT_A_TIME: usize = 200;

/// Returns the current text. One statement.
///
/// # Errors
/// A failure of the store.
pub fn text(db: &Db, note: &Note) -> Result<String> {
    let ids: Vec<Id<NotePiece>> = note.pieces.iter().map(|piece| piece.id).collect();
    let mut text = String::new();
    for (id, piece) in ids.iter().zip(db.get_many(&ids)?) {
        let piece = piece.ok_or_else(|| Error::internal(format!("the piece {id} is gone")))?;
        text.push_str(&piece.text);
    }
    Ok(text)
}

/// Returns the last checkpoint up to the entry `sequence`.
///
/// # Errors
/// A failure of the store.
pub fn checkpoint_before(db: &Db, meeting: Id<Meeting>, sequence: i64) -> Result<Option<Doc<NoteCheckpoint>>> {
    let before = db.query(NoteCheckpoint::by_meeting_sequence).eq(meeting).range(..=sequence);
    Ok(before.order(Order::Desc).first()?)
}

/// Returns the text after a log entry; 0 is the empty document. Reads a checkpoint and at most 1,000 entries.
///
/// # Errors
/// `CONFLICT`: there is no checkpoint near enough, or entries behind the position have lost their text; a failure of
/// the store.
pub fn text_of_snapshot(ctx: &QueryCtx, (meeting, sequence): &(Id<Meeting>, i64)) -> Result<String> {
    let (db, meeting, sequence) = (ctx.db(), *meeting, *sequence);
    if let Some(note) = db.query(Note::by_meeting).eq(meeting).unique()? {
        require_kept(&note, sequence)?;
    }
    match checkpoint_before(db, meeting, sequence)?.map(Doc::into_inner) {
        Some(NoteCheckpoint { sequence: from, content, .. }) => replay(db, meeting, from, &content, sequence),
        None => replay(db, meeting, 0, "", sequence),
    }
}

/// Returns the text after the entry `to`, if it was `content` after the entry `from`.
///
/// # Errors
/// `CONFLICT`: there are more than 1,000 entries between the two; a failure of the store.
pub fn replay(db: &Db, meeting: Id<Meeting>, from: i64, content: &str, to: i64) -> Result<String> {
    if to - from > ENTRIES_REPLAYED_MAX {
        return Err(behind_the_history());
    }
    let mut text = Text::from(content);
    let mut cursor = None;
    loop {
        let entries = db.query(NoteOperation::by_meeting_sequence).eq(meeting).range(from + 1..=to);
        let page = entries.page(cursor.as_ref(), ENTRIES_AT_A_TIME)?;
        for entry in page.items {
            let place = entry.sequence;
            text.apply(&edits::logged(entry.into_inner().operation))
                .map_err(|refused| Error::internal(format!("entry {place} of the notes of {meeting}: {refused}")))?;
        }
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(String::from(&text));
        }
    }
}

/// Stores the current text as a checkpoint, and deletes the oldest one if there are too many. The checkpoint at the
/// start of the available text stays, since every later replay needs it.
///
/// # Errors
/// A failure of the store.
pub fn make_checkpoint(db: &mut DbMut, note: &Note) -> Result<()> {
    let content = text(db, note)?;
    let (meeting_id, sequence, version) = (note.meeting_id, note.sequence, note.version);
    db.insert(NoteCheckpoint { meeting_id, sequence, version, content })?;
    let from = note.first_sequence;
    let kept = db.query(NoteCheckpoint::by_meeting_sequence).eq(meeting_id).range(from..).count()?;
    if kept > CHECKPOINTS_KEPT
        && let Some(oldest) = db.query(NoteCheckpoint::by_meeting_sequence).eq(meeting_id).range(from..).first()?
    {
        db.delete(oldest.id())?;
    }
    Ok(())
}

/// Requires that all entries after a position of the log have their text.
///
/// # Errors
/// `CONFLICT`.
pub fn require_kept(note: &Note, sequence: i64) -> Result<()> {
    if sequence + 1 >= note.first_sequence {
        return Ok(());
    }
    Err(behind_the_history().with("firstSequence", note.first_sequence))
}

/// Returns `CONFLICT` for a base too old to read everything after it.
pub fn too_far_behind() -> Error {
    Error::conflict("History is too far behind; reload the notes")
}

/// Returns `CONFLICT` for a position of the log that is no longer available.
fn behind_the_history() -> Error {
    Error::conflict("History is too far behind")
}
