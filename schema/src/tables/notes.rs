//! The notes of a meeting: their text in pieces, and the log of everything that was done to it.
//!
//! Lengths and positions are UTF-16 code units. Sequences and versions begin at 1; 0 is the empty document.

use convoke::{Id, Millis, table, value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{Fingerprint, NoteEdit, OperationId, OperationType};

/// The notes of a meeting as they are now.
#[table(name = "notes", prefix = "note")]
#[index(by_meeting(meeting_id), unique)]
#[index(by_text_since(text_since))]
pub struct Note {
    /// Of which meeting.
    pub meeting_id: Id<Meeting>,
    /// The length of the text.
    pub units: i64,
    /// The pieces of the text, in order.
    pub pieces: Vec<PieceOfNote>,
    /// How often the notes were changed by a call.
    pub version: i64,
    /// How many entries the log has.
    pub sequence: i64,
    /// When they changed last.
    pub updated_at: Millis,
    /// The first entry of the log that counts as having its text. A checkpoint holds the text before it, unless it is the
    /// very first one.
    #[default(1)]
    pub first_sequence: i64,
    /// Up to which entry the log's text is gone: on its way to the one before `first_sequence`.
    #[default(0)]
    pub cleared_sequence: i64,
    /// When the first entry was made whose text is still stored; [`Millis::MAX`] if there is none. 0 in notes of earlier
    /// releases, until the log is looked at.
    #[default(0)]
    pub text_since: Millis,
}

/// A piece of the text: about 4,096 units, at most 8,192, so that a keystroke rewrites one row of that size.
#[table(name = "notePieces", prefix = "notepiece")]
#[index(by_meeting(meeting_id))]
pub struct NotePiece {
    /// Of which meeting's notes.
    pub meeting_id: Id<Meeting>,
    /// Its text.
    pub text: String,
}

/// A piece of a note's text and how long it is, at its place in the list.
#[value(name = "PieceOfNote")]
#[derive(Eq)]
pub struct PieceOfNote {
    /// The row that holds its text.
    pub id: Id<NotePiece>,
    /// UTF-16 code units; at least one.
    pub units: i64,
}

/// An entry of the log. The log only grows; entries that are old lose their text, and nothing else.
#[table(name = "noteOperations", prefix = "noteop")]
#[index(by_meeting_sequence(meeting_id, sequence), unique)]
#[index(by_meeting_version(meeting_id, version))]
#[index(by_meeting_passed(meeting_id, sequence, author_id, operation_id, pieces, kind, position, length))]
#[index(by_meeting_author_operation(meeting_id, author_id, operation_id), unique)]
pub struct NoteOperation {
    /// Of which meeting's notes.
    pub meeting_id: Id<Meeting>,
    /// Its place in the log.
    pub sequence: i64,
    /// The version that the call made to which it belongs.
    pub version: i64,
    /// Who did it.
    pub author_id: Id<User>,
    /// What was done, as it was applied; without its text once that is folded into a checkpoint.
    pub operation: NoteEdit,
    /// The kind of `operation` again, so that an index holds all that another operation needs to pass this one and a
    /// pasted chapter is not read for it. Absent in old entries, as are the two after it.
    pub kind: Option<OperationType>,
    /// The position of `operation`.
    pub position: Option<i64>,
    /// The length of `operation`.
    pub length: Option<i64>,
    /// The entries that changed it on its way; of an operation that is several entries, the first names them.
    pub conflicts_with: Vec<ChangedBy>,
    /// By what a repetition is known. Entries without never collide.
    pub operation_id: Option<OperationId>,
    /// Of the operation as it was sent: a repetition with other content is refused.
    pub fingerprint: Option<Fingerprint>,
    /// Of how many entries the operation consists; the first carries the id, and those after it follow in sequence.
    pub pieces: i64,
}

/// Entries of the log that changed an operation on its way. An operation far behind the log may be changed by thousands,
/// mostly one after the other: as a range they take some bytes instead of hundreds of kilobytes.
///
/// ```json
/// [102, 9801]
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ChangedBy {
    /// All entries from one sequence to another, both included.
    Entries(i64, i64),
    /// One entry, as earlier releases named it.
    Entry(Id<NoteOperation>),
}

/// The text at an earlier place of the log: from there it is replayed.
#[table(name = "noteCheckpoints", prefix = "checkpoint")]
#[index(by_meeting_sequence(meeting_id, sequence), unique)]
pub struct NoteCheckpoint {
    /// Of which meeting's notes.
    pub meeting_id: Id<Meeting>,
    /// After which entry of the log.
    pub sequence: i64,
    /// The version there.
    pub version: i64,
    /// The whole text there.
    pub content: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn range_of_entries_is_short_and_one_that_was_written_long_is_still_read() {
        let id = "noteop_01kdvws5r2a4n8w7k0q3d6m9vt";
        let changed: Vec<ChangedBy> = from_value(json!([[102, 9801], id])).unwrap();
        assert_eq!(changed, [ChangedBy::Entries(102, 9_801), ChangedBy::Entry(id.parse().unwrap())]);
        assert_eq!(serde_json::to_string(&changed[..1]).unwrap(), "[[102,9801]]");
    }
}
