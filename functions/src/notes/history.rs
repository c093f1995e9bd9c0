//! The whole text of notes: today's, and that at an earlier place of the log.
//!
//! A log is replayed from the nearest checkpoint before the place. Owns when a checkpoint is made and how many are
//! kept; what a rollback does with an earlier text is `index`'s.

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::{Note, NoteCheckpoint, NoteOperation, NotePiece};

use super::edits::{self, number};
use super::operation::Text;

/// Entries between two checkpoints: so many at most are replayed for a place that has one before it.
pub const ENTRIES_PER_CHECKPOINT: i64 = 500;
/// Checkpoints that are kept: together they reach as far back as the base of an operation may lie.
pub const CHECKPOINTS_KEPT: u64 = 20;

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

/// The text after the entry `sequence` of the log, 0 for the empty document. Replays `entries_max` entries at most.
///
/// # Errors
/// `CONFLICT` if there is no checkpoint that near; a failure of the store.
pub fn text_at(db: &Db, note: &Note, sequence: i64, entries_max: usize) -> Result<String> {
    let meeting = note.meeting_id;
    let nearest =
        db.query(NoteCheckpoint::by_meeting_sequence).eq(meeting).range(..=sequence).order(Order::Reverse).first()?;
    let (from, content) = match &nearest {
        Some(checkpoint) => (checkpoint.sequence, checkpoint.content.as_str()),
        None => (0, ""),
    };
    if sequence - from > number(entries_max) {
        return Err(too_far_behind());
    }
    let mut text = Text::from(content);
    let entries = db.query(NoteOperation::by_meeting_sequence).eq(meeting).range(from + 1..=sequence);
    for entry in entries.take(entries_max)? {
        let place = entry.sequence;
        text.apply(&edits::logged(entry.into_inner().operation))
            .map_err(|refused| Error::internal(format!("entry {place} of the notes of {meeting}: {refused}")))?;
    }
    Ok(String::from(&text))
}

/// Keeps the text as it is now for later replays, and lets the oldest checkpoint go when there are too many.
///
/// # Errors
/// A failure of the store.
pub fn make_checkpoint(db: &mut DbMut, note: &Note) -> Result<()> {
    let content = text(db, note)?;
    let (meeting_id, sequence, version) = (note.meeting_id, note.sequence, note.version);
    db.insert(NoteCheckpoint { meeting_id, sequence, version, content })?;
    let kept = db.query(NoteCheckpoint::by_meeting_sequence).eq(meeting_id).count()?;
    if kept > CHECKPOINTS_KEPT
        && let Some(oldest) = db.query(NoteCheckpoint::by_meeting_sequence).eq(meeting_id).first()?
    {
        db.delete(oldest.id())?;
    }
    Ok(())
}

/// `CONFLICT` for a base or a place that lies further back than anybody reads.
pub fn too_far_behind() -> Error {
    Error::conflict("History is too far behind; reload the notes")
}
