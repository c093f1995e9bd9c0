//! The whole text of notes: today's, and that at an earlier place of the log.
//!
//! A log is replayed from the nearest checkpoint before the place. Owns when a checkpoint is made, how many are kept, and
//! how far back the log goes. What a rollback does with an earlier text is `index`'s, how old entries lose theirs is
//! `thinning`'s.

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::{Meeting, Note, NoteCheckpoint, NoteOperation, NotePiece};

use super::edits;
use super::operation::Text;

/// Entries between two checkpoints.
pub const ENTRIES_PER_CHECKPOINT: i64 = 500;
/// Checkpoints that are kept behind the first entry that has its text: together they reach as far back as the base of an
/// operation may lie.
pub const CHECKPOINTS_KEPT: u64 = 20;
/// Entries that are replayed at most: two checkpoints lie less than so far from each other, unless one call added more.
pub const ENTRIES_REPLAYED_MAX: i64 = 1_000;

/// Rows of the log that are read at a time, fewer if they are large: an entry may hold 300 KB.
const ENTRIES_AT_A_TIME: usize = 200;

/// The text as it is now. One statement.
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

/// The last checkpoint up to the entry `sequence`.
///
/// # Errors
/// A failure of the store.
pub fn checkpoint_before(db: &Db, meeting: Id<Meeting>, sequence: i64) -> Result<Option<Doc<NoteCheckpoint>>> {
    let before = db.query(NoteCheckpoint::by_meeting_sequence).eq(meeting).range(..=sequence);
    Ok(before.order(Order::Desc).first()?)
}

/// The text after an entry of the log, 0 for the empty document. Reads a checkpoint and at most 1,000 entries.
///
/// # Errors
/// `CONFLICT` if there is no checkpoint that near, or if entries behind the place have lost their text; a failure of the
/// store.
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

/// The text after the entry `to`, where it was `content` after the entry `from`.
///
/// # Errors
/// `CONFLICT` if there are more than 1,000 entries between the two; a failure of the store.
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

/// Keeps the text as it is now for later replays, and lets the oldest such checkpoint go when there are too many. The one
/// from which the log has its text stays: without it nothing behind it could be replayed.
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

/// Refuses a place of the log behind which there are entries without their text.
///
/// # Errors
/// `CONFLICT`.
pub fn require_kept(note: &Note, sequence: i64) -> Result<()> {
    if sequence + 1 >= note.first_sequence {
        return Ok(());
    }
    Err(behind_the_history().with("firstSequence", note.first_sequence))
}

/// `CONFLICT` for a base that lies so far back that nobody reads all that came since.
pub fn too_far_behind() -> Error {
    Error::conflict("History is too far behind; reload the notes")
}

/// `CONFLICT` for a place of the log that cannot be reached any more.
fn behind_the_history() -> Error {
    Error::conflict("History is too far behind")
}
