//! Removes the text of old log entries. A checkpoint keeps the text that they produced.
//!
//! Ids, sequences, fingerprints and shapes stay, so that a repetition is recognized forever and nothing is applied
//! twice. Thinning runs in steps, each a transaction of some milliseconds: a checkpoint is made behind the old entries,
//! and the log counts as beginning there; then the entries lose their texts one after the other; then earlier
//! checkpoints are deleted. The notes are consistent after every step.

use convoke::prelude::*;
use schema::limits::{Retention, days};
use schema::{Meeting, Note, NoteCheckpoint, NoteOperation, OperationType};

use super::edits::size;
use super::history::{self, ENTRIES_REPLAYED_MAX};

/// Entries per step; changing one takes 20 to 40 µs.
const ENTRIES_MAX: usize = 100;

/// Units of text per step: a long text is in hundreds of pages, which are freed.
const UNITS_MAX: usize = 200_000;

/// Notes per step. A step finishes all of them if they are of an earlier release and were never changed.
const NOTES_MAX: usize = 20;

/// Returns if old entries with text are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinned {
    /// None are left.
    All,
    /// There may be more.
    Part,
}

/// The work on the log of some notes.
enum Old {
    /// Nothing: the first entry with a text was made at this time.
    None { text_since: Millis },
    /// The log can begin behind this entry.
    Entries {
        through: i64,
        version: i64,
        /// The text there, if there is no checkpoint yet.
        content: Option<String>,
    },
}

/// Runs one step on the notes with the oldest text.
///
/// # Errors
/// A failure of the store.
pub fn thin(ctx: &mut MutationCtx) -> Result<Thinned> {
    let keep = ctx.settings::<Retention>();
    let before = ctx.now() - days(keep.note_history_days);
    let oldest = ctx.db().query(Note::by_text_since).range(..before).take(NOTES_MAX)?;
    let (unwritten, written): (Vec<_>, Vec<_>) = oldest.into_iter().partition(|note| note.sequence == 0);
    if !unwritten.is_empty() {
        for note in unwritten {
            ctx.db_mut().patch_doc(note, |note| note.text_since = Millis::MAX)?;
        }
        return Ok(Thinned::Part);
    }
    let Some(note) = written.into_iter().next() else { return Ok(Thinned::All) };
    if note.cleared_sequence + 1 < note.first_sequence {
        clear(ctx, note)?;
    } else if let Some(former) = former_checkpoint(ctx, &note)? {
        ctx.db_mut().delete(former.id())?;
    } else {
        fold(ctx, note, before)?;
    }
    Ok(Thinned::Part)
}

/// Makes the log of some notes begin behind its old entries, or records when the next ones become old.
fn fold(ctx: &mut MutationCtx, note: Doc<Note>, before: Millis) -> Result<()> {
    let meeting_id = note.meeting_id;
    let old = ctx.prepared((meeting_id, note.first_sequence, before), find)?;
    let now = ctx.now();
    let db = ctx.db_mut();
    match &*old {
        Old::None { text_since } => {
            // A write may have occurred since the search.
            let latest = if note.sequence < note.first_sequence { Millis::MAX } else { now };
            db.patch_doc(note, |note| note.text_since = latest.min(*text_since))?;
        }
        Old::Entries { through, version, content } => {
            let at = || db.query(NoteCheckpoint::by_meeting_sequence).eq(meeting_id).eq(*through);
            let there = at().count()? > 0;
            let row = |content| NoteCheckpoint { meeting_id, sequence: *through, version: *version, content };
            match content {
                // The checkpoint was deleted in favour of later ones; the next step searches again.
                None if !there => return Ok(()),
                Some(content) if !there => {
                    db.insert(row(content.clone()))?;
                }
                _ => {}
            }
            db.patch_doc(note, |note| note.first_sequence = through + 1)?;
        }
    }
    Ok(())
}

/// Returns the entry at which a log that begins at `first` can begin: behind the entries made before `before`, within
/// one replay of a checkpoint.
fn find(ctx: &QueryCtx, (meeting, first, before): &(Id<Meeting>, i64, Millis)) -> Result<Old> {
    let (db, meeting, first) = (ctx.db(), *meeting, *first);
    let end = db.query(Note::by_meeting).eq(meeting).unique()?.map_or(0, |note| note.sequence);
    let entry = |sequence: i64| {
        let entry = db.query(NoteOperation::by_meeting_sequence).eq(meeting).eq(sequence).unique()?;
        entry.ok_or_else(|| Error::internal(format!("entry {sequence} of the notes of {meeting} is gone")))
    };
    // Entries are in the order of time, so a binary search finds the first young one.
    let (mut young, mut behind) = (first, end + 1);
    while young < behind {
        let middle = young + (behind - young) / 2;
        if entry(middle)?.creation_time() < *before {
            young = middle + 1;
        } else {
            behind = middle;
        }
    }
    if young == first {
        let text_since = if young > end { Millis::MAX } else { entry(young)?.creation_time() };
        return Ok(Old::None { text_since });
    }
    let nearest = history::checkpoint_before(db, meeting, young - 1)?.map(Doc::into_inner);
    let (from, content) = nearest.map_or_else(Default::default, |nearest| (nearest.sequence, nearest.content));
    let through = (young - 1).min(from + ENTRIES_REPLAYED_MAX);
    let content = match through > from {
        true => match history::replay(db, meeting, from, &content, through) {
            Ok(content) => Some(content),
            Err(error) => {
                // Other notes must not wait for broken ones.
                error!("The log of the notes of {meeting} cannot be thinned: {}", error.message());
                return Ok(Old::None { text_since: ctx.now() });
            }
        },
        false => None,
    };
    Ok(Old::Entries { through, version: entry(through)?.version, content })
}

/// Removes the text of the next entries before the beginning of the log.
fn clear(ctx: &mut MutationCtx, note: Doc<Note>) -> Result<()> {
    let db = ctx.db_mut();
    let entries = db.query(NoteOperation::by_meeting_passed).eq(note.meeting_id);
    let entries = entries.range(note.cleared_sequence + 1..note.first_sequence).keys(ENTRIES_MAX)?;
    let (mut units, mut cleared) = (0, note.cleared_sequence);
    for (id, keys) in entries {
        let (_, (sequence, (_, (_, (_, (kind, (_, (length, ())))))))) = keys;
        // Entries of earlier releases have their kind only in the row.
        if kind.is_none_or(|kind| kind == OperationType::Insert) {
            let more = length.map_or(UNITS_MAX, size);
            if units > 0 && units + more > UNITS_MAX {
                break;
            }
            units += more;
            db.patch(id, |entry| entry.operation.content.clear())?;
        }
        cleared = sequence;
    }
    db.patch_doc(note, |note| note.cleared_sequence = cleared)?;
    Ok(())
}

/// Returns a checkpoint that no replay needs any more.
fn former_checkpoint(ctx: &impl Read, note: &Note) -> Result<Option<Doc<NoteCheckpoint>>> {
    let former = ctx.db().query(NoteCheckpoint::by_meeting_sequence).eq(note.meeting_id);
    Ok(former.range(..note.first_sequence - 1).first()?)
}
